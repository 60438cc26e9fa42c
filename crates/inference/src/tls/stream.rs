//! The encrypted stream of either side, and the time that it may take.

use core::{fmt, time::Duration};
use std::{
    io::{self, Error, ErrorKind, Read, Write},
    net::TcpStream,
    time::Instant,
};

use super::Fingerprint;
use crate::{Limit, Limits};

/// A connection as the error of a stalled peer names it.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    peer: Fingerprint,
    limits: Limits,
    since: Instant,
}

impl Connection {
    /// A connection to the holder of the certificate `peer` that begins now.
    pub(super) fn begin(peer: Fingerprint, limits: Limits) -> Self {
        Self { peer, limits, since: Instant::now() }
    }

    /// The certificate of the peer.
    #[must_use]
    pub fn peer(&self) -> Fingerprint {
        self.peer
    }

    /// The limit that a wait has reached if it ends now.
    pub(crate) fn limit(&self) -> Limit {
        let Limits { idle, session } = self.limits;
        if self.since.elapsed() < session { Limit::Idle(idle) } else { Limit::Session(session) }
    }
}

/// An encrypted stream to the peer whose certificate was expected.
pub struct TlsStream(Box<dyn Duplex>);

pub(super) trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

impl TlsStream {
    pub(super) fn new(stream: impl Duplex + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for TlsStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsStream(..)")
    }
}

/// A TCP stream on which neither silence nor a trickle of bytes lasts beyond the limits.
#[derive(Debug)]
pub(super) struct Bounded {
    stream: TcpStream,
    limits: Limits,
    end: Instant,
}

impl Bounded {
    /// A stream whose peer has until `end` to prove itself.
    pub(super) fn until(end: Instant, stream: TcpStream, limits: &Limits) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, limits: *limits, end })
    }

    /// A stream to a peer that has proven itself: the limit of the session holds.
    pub(super) fn in_session(stream: TcpStream, limits: &Limits) -> io::Result<Self> {
        Self::until(Instant::now() + limits.session, stream, limits)
    }

    /// The peer has proven itself: from now on the limit of the session holds.
    pub(super) fn begin_session(&mut self) {
        self.end = Instant::now() + self.limits.session;
    }

    /// The longest wait from now on.
    fn patience(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::TimedOut, "the time limit of the connection has passed"));
        }
        Ok(self.limits.idle.min(left))
    }

    /// Ends the stream with the first wait that reaches a limit.
    ///
    /// TLS does not report the failure of one write, and repeats it: without this a peer that reads
    /// nothing would have twice the time.
    fn expire<T>(&mut self, moved: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &moved
            && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        {
            self.end = Instant::now();
        }
        moved
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.patience()?))?;
        let read = self.stream.read(buffer);
        self.expire(read)
    }
}

impl Write for Bounded {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let (start, patience) = (Instant::now(), self.patience()?);
        self.stream.set_write_timeout(Some(patience))?;
        let written = self.stream.write(buffer);
        // After a whole wait some bytes may have gone into the system's buffers, and the next write would wait again.
        if start.elapsed() >= patience {
            self.end = Instant::now();
        }
        self.expire(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
