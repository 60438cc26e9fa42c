//! The server side: connections are accepted until one proves to be the pinned client.

use core::{slice, time::Duration};
use std::{
    io::{self, ErrorKind},
    net::{TcpListener, TcpStream},
    thread,
    time::Instant,
};

use super::{Endpoint, TlsChannel, TlsError, crowd::Crowd, pending::PendingConnection};

/// Time between two checks for a peer while no handshake is in progress.
const POLL: Duration = Duration::from_millis(20);
/// Time between two checks of the handshakes in progress.
const STEP: Duration = Duration::from_millis(2);
/// Most connections accepted between two checks of the handshakes in progress.
const BURST: usize = 64;

impl Endpoint<'_> {
    /// Waits for the peer; the first that proves to be it is taken, and all others are dropped.
    ///
    /// Whoever is not the peer is refused, reported to `refused`, and the wait goes on; it ends
    /// once `patience` is over, if there is one.
    ///
    /// A standing crowd does not keep the peer out: up to 512 handshakes go on at once, on the
    /// calling thread. Each has 2 seconds for its first message and 10 in all; where more come, the
    /// oldest gives way, of those that have sent a first message or of those that have not,
    /// whichever are more. A flood that goes on, of several hundred new handshakes in each round
    /// trip, may keep the peer out. That the system cannot accept a connection, as it has no more
    /// files or the other side is gone already, is reported and passes.
    ///
    /// # Errors
    /// [`TlsError::NoPeer`] if the peer does not come in time, [`TlsError::Identity`] or
    /// [`TlsError::Local`] if the fault is on this side.
    pub fn accept(
        &self,
        listener: &TcpListener,
        patience: Option<Duration>,
        refused: impl FnMut(&TlsError),
    ) -> Result<TlsChannel, TlsError> {
        listener.set_nonblocking(true).map_err(|e| local(&e))?;
        accept_from(self, || Ok(listener.accept()?.0), patience, refused)
    }
}

/// Waits for the peer among the connections that `next` returns; `next` itself does not wait.
fn accept_from(
    endpoint: &Endpoint<'_>,
    next: impl FnMut() -> io::Result<TcpStream>,
    patience: Option<Duration>,
    refused: impl FnMut(&TlsError),
) -> Result<TlsChannel, TlsError> {
    let mut crowd = Crowd::of(slice::from_ref(endpoint), endpoint.limits)?;
    let take = |peer: PendingConnection| peer.into_stream(&endpoint.limits).and_then(|stream| endpoint.channel(stream));
    let accepted = accept_in(&mut crowd, next, patience, refused, take, || false)?;
    accepted.ok_or_else(|| TlsError::NoPeer { seconds: 0, last: String::new() }) // the wait has no other end
}

/// Waits for a proven peer of a crowd that `take` takes.
///
/// `None` if `ended` returns true first.
///
/// # Errors
/// As [`Endpoint::accept`].
pub(super) fn accept_in<T>(
    crowd: &mut Crowd,
    mut next: impl FnMut() -> io::Result<TcpStream>,
    patience: Option<Duration>,
    mut refused: impl FnMut(&TlsError),
    mut take: impl FnMut(PendingConnection) -> Result<T, TlsError>,
    mut ended: impl FnMut() -> bool,
) -> Result<Option<T>, TlsError> {
    let (start, mut last) = (Instant::now(), String::new());
    while !ended() {
        let mut refused = |error: TlsError| {
            refused(&error);
            last = format!("the last refusal: {error}");
        };
        let pause = take_in(crowd, &mut next, &mut refused)?;
        if let Some(peer) = crowd.step(&mut refused) {
            match take(peer) {
                Ok(taken) => return Ok(Some(taken)),
                Err(error) => refused(error),
            }
        }
        if let Some(patience) = patience.filter(|patience| start.elapsed() > *patience) {
            return Err(TlsError::NoPeer { seconds: patience.as_secs(), last });
        }
        thread::sleep(pause);
    }
    Ok(None)
}

/// Accepts whoever is there, up to a burst. Returns the time until the next look.
fn take_in(
    crowd: &mut Crowd,
    next: &mut impl FnMut() -> io::Result<TcpStream>,
    refused: &mut dyn FnMut(TlsError),
) -> Result<Duration, TlsError> {
    for accepted in 0..BURST {
        match next() {
            Ok(stream) => match crowd.admit(stream) {
                Err(error) if error.is_of_peer() => refused(error),
                admitted => admitted?,
            },
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Ok(match accepted {
                    0 if crowd.is_empty() => POLL,
                    0 => STEP,
                    _ => Duration::ZERO,
                });
            }
            Err(e) => match Trouble::of(&e) {
                Trouble::Listener => return Err(local(&e)),
                Trouble::Connection => refused(local(&e)),
                Trouble::System => {
                    refused(local(&e));
                    let relieved = is_out_of_files(&e) && crowd.thin_out(refused);
                    return Ok(if relieved { STEP } else { POLL });
                }
            },
        }
    }
    Ok(Duration::ZERO)
}

/// Where the fault for a failure to accept lies.
enum Trouble {
    /// The listener: it will not get better.
    Listener,
    /// One connection, which is gone: the next may be there already.
    Connection,
    /// The system or its network: it may get better, but not at once.
    System,
}

impl Trouble {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidInput => Self::Listener,
            ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted => Self::Connection,
            _ => Self::System,
        }
    }
}

/// Whether this process or the system has no more files to open.
fn is_out_of_files(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

pub(super) fn local(error: &io::Error) -> TlsError {
    TlsError::Local { doing: "accepting", reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use pfss::Party;
    use rustls::{ClientConnection, pki_types::ServerName};

    use super::*;
    use crate::{Limits, tls::Identity};

    const SHORT: Duration = Duration::from_millis(100);

    /// Two identities, and the server's side of a connection between them.
    fn with_server<T>(run: impl FnOnce(&Endpoint<'_>, &Endpoint<'_>) -> T) -> T {
        let identities = [0, 1].map(|_| Identity::generate().unwrap());
        let [client, server] = [0, 1].map(|b| Endpoint {
            party: Party::BOTH[b],
            identity: &identities[b],
            peer: identities[1 - b].fingerprint(),
            protocol: [9; 32],
            limits: Limits::default(),
        });
        run(&client, &server)
    }

    #[test]
    fn a_listener_that_fails_for_a_while_waits_on_for_the_peer() {
        // EPERM, EINTR, ENOMEM, ENFILE, EMFILE, EPROTO, ENONET, ENETDOWN, ENETUNREACH, ECONNABORTED, ECONNRESET,
        // ENOBUFS, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENOPROTOOPT, EOPNOTSUPP
        let numbers = [1, 4, 12, 23, 24, 71, 64, 100, 101, 103, 104, 105, 110, 112, 113, 92, 95];
        with_server(|client, server| {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let address = listener.local_addr().unwrap();
            listener.set_nonblocking(true).unwrap();
            let (mut failures, mut refused) = (numbers.into_iter(), Vec::new());
            let next = || match failures.next() {
                Some(number) => Err(io::Error::from_raw_os_error(number)),
                None => Ok(listener.accept()?.0),
            };
            test_process::scope(|scope| {
                let connecting = scope.spawn(|| client.connect(address).map(drop));
                accept_from(server, next, Some(Limits::default().idle), |error| refused.push(error.to_string()))
                    .unwrap();
                connecting.join().unwrap().unwrap();
            });
            let expected = numbers.map(|number| format!("accepting: {}", io::Error::from_raw_os_error(number)));
            assert_eq!(refused, expected);
        });
    }

    #[test]
    fn looks_are_rare_without_a_handshake_and_frequent_with_one() {
        with_server(|_, server| {
            let mut crowd = Crowd::of(slice::from_ref(server), server.limits).unwrap();
            let mut none = || Err(io::Error::from(ErrorKind::WouldBlock));
            assert_eq!(take_in(&mut crowd, &mut none, &mut |_| ()).unwrap(), POLL);
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let _peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            crowd.admit(listener.accept().unwrap().0).unwrap();
            assert_eq!(take_in(&mut crowd, &mut none, &mut |_| ()).unwrap(), STEP);
        });
    }

    #[test]
    fn a_listener_that_is_none_ends_the_wait() {
        with_server(|_, server| {
            let next = || Err(io::Error::from(ErrorKind::InvalidInput));
            let ended = accept_from(server, next, None, |_| ());
            assert!(matches!(ended, Err(TlsError::Local { doing: "accepting", .. })), "{ended:?}");
        });
    }

    /// Opens up to four connections and returns which are gone once there are no more files.
    ///
    /// They are opened in this order, with a ClientHello or without.
    fn gone_without_files<const N: usize>(greeting: [bool; N]) -> [bool; N] {
        with_server(|client, server| {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let mut events = Vec::new();
            let mut peers = greeting.map(|greets| {
                let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                if greets {
                    let name = ServerName::try_from("trefoil-party").unwrap();
                    let mut hello = ClientConnection::new(client.client().unwrap().0, name).unwrap();
                    hello.write_tls(&mut stream).unwrap();
                }
                stream.set_nonblocking(true).unwrap();
                events.push(Ok(listener.accept().unwrap().0));
                stream
            });
            events.extend([ErrorKind::WouldBlock.into(), io::Error::from_raw_os_error(24)].map(Err));
            let (mut events, mut gone) = (events.into_iter(), None);
            let next = || events.next().unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()));
            let refused = |error: &TlsError| {
                if error.to_string().contains("make room") {
                    let is_gone = |peer: &mut TcpStream| peer.read_to_end(&mut Vec::new()).is_ok();
                    assert!(gone.replace(peers.each_mut().map(is_gone)).is_none(), "a quarter of four is one");
                }
            };
            let ended = accept_from(server, next, Some(SHORT), refused);
            assert!(matches!(&ended, Err(TlsError::NoPeer { .. })), "{ended:?}");
            gone.unwrap()
        })
    }

    #[test]
    fn where_there_are_no_more_files_the_oldest_of_the_greater_crowd_gives_way() {
        assert_eq!(gone_without_files([true, false, false]), [false, true, false]);
        assert_eq!(gone_without_files([false, true, true]), [false, true, false]);
        assert_eq!(gone_without_files([true, true, true]), [true, false, false]);
        assert_eq!(gone_without_files([false, false, false]), [true, false, false]);
        assert_eq!(gone_without_files([true, false]), [false, true]);
        assert_eq!(gone_without_files([true, false, true, false]), [false, true, false, false]);
    }
}
