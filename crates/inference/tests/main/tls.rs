//! Parties that know each other by pinned certificates, among strangers.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use inference::{
    InferenceError, Limits, Outcome, plain,
    tls::{Endpoint, Identity, PeerListener, TlsChannel, TlsError},
};
use pfss::{Channel as _, ChannelError, Party};

use crate::{
    common::{PATIENCE, digits, images, keys, run_over, weights},
    strangers::{Strangers, allow_files},
    thief::Thief,
};

/// A wait that ends without a peer.
const SHORT: Duration = Duration::from_millis(300);
/// A wait for a peer that comes and is refused, long enough for a busy machine.
const LONG: Duration = Duration::from_secs(10);

fn limits() -> Limits {
    Limits { idle: PATIENCE, session: PATIENCE }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) fn identities() -> [Identity; 2] {
    [0, 1].map(|_| Identity::generate().unwrap())
}

pub(crate) fn endpoints(identities: &[Identity; 2]) -> [Endpoint<'_>; 2] {
    [0, 1].map(|b| Endpoint {
        party: Party::BOTH[b],
        identity: &identities[b],
        peer: identities[1 - b].fingerprint(),
        protocol: [9; 32],
        limits: limits(),
    })
}

/// Connects two endpoints, the client first.
pub(crate) fn connect(ends: [Endpoint<'_>; 2], patience: Duration) -> [Result<TlsChannel, TlsError>; 2] {
    let ((listener, address), [client, server]) = (listen(), ends);
    test_process::scope(|scope| {
        let serving = scope.spawn(move || server.accept(&listener, Some(patience), |_| ()));
        [client.connect(address), serving.join().unwrap()]
    })
}

/// Connects a client that the server refuses, and then its peer. Returns the outcome of the first, and the server's reason.
fn refused<V>(identities: &[Identity; 2], client: impl FnOnce(SocketAddr) -> V) -> (V, String) {
    let ((listener, address), (reports, reported)) = (listen(), mpsc::channel());
    let [peer, server] = endpoints(identities);
    test_process::scope(|scope| {
        let report = move |error: &TlsError| reports.send(error.to_string()).unwrap();
        let serving = scope.spawn(move || server.accept(&listener, Some(PATIENCE), report));
        let outcome = client(address);
        let reason = reported.recv_timeout(PATIENCE).unwrap();
        peer.connect(address).unwrap();
        serving.join().unwrap().unwrap();
        (outcome, reason)
    })
}

#[test]
fn a_model_runs_between_two_pinned_certificates() {
    let (identities, model) = (identities(), digits(5));
    let channels = connect(endpoints(&identities), PATIENCE).map(Result::unwrap);
    let weights = weights(&model);
    let [client, server] = run_over(&model, keys(&model), channels, &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(plain::logits(&model, &weights, &images(&model)).unwrap()));
    assert_eq!(client.traffic.sent_bytes, server.traffic.received_bytes);
}

#[test]
fn one_listener_accepts_the_peers_of_several_endpoints_and_no_stranger() {
    let (pairs, stranger) = ([identities(), identities()], Identity::generate().unwrap());
    let [[zero, to_zero], [one, to_one]] = pairs.each_ref().map(endpoints);
    // Each peer computes something else, and expects another certificate of the server.
    let [one, to_one] = [one, to_one].map(|end| Endpoint { protocol: [8; 32], ..end });
    let (socket, address) = listen();
    let mut listener = PeerListener::new(socket, &[to_zero, to_one]).unwrap();
    let mut reasons = Vec::new();
    test_process::scope(|scope| {
        let connecting = scope.spawn(|| {
            let other = Endpoint { identity: &stranger, protocol: [8; 32], ..endpoints(&pairs[1])[0] };
            assert!(other.connect(address).is_err());
            for (client, index) in [(&one, 1), (&zero, 0)] {
                let mut channel = client.connect(address).unwrap();
                assert_eq!(channel.exchange(b"?").unwrap(), [index]);
            }
        });
        for index in [1, 0] {
            let peer = listener.accept(Some(PATIENCE), |error| reasons.push(error.to_string()), || false);
            let peer = peer.unwrap().unwrap();
            assert_eq!((peer.index(), peer.fingerprint()), (index, pairs[index][0].fingerprint()));
            assert_eq!(peer.channel().unwrap().exchange(&[index as u8]).unwrap(), b"?");
        }
        connecting.join().unwrap();
    });
    let expected = format!("expected one of 2 fingerprints, got {}", stranger.fingerprint());
    assert!(reasons.iter().any(|reason| reason.contains(&expected)), "{reasons:?}");
    assert!(listener.accept(None, |_| (), || true).unwrap().is_none(), "the wait has ended");
}

#[test]
fn long_messages_cross_in_both_directions_at_once() {
    let identities = identities();
    let [mut client, mut server] = connect(endpoints(&identities), PATIENCE).map(Result::unwrap);
    let messages = [vec![1u8; 5 << 20], vec![2u8; 5 << 20]];
    test_process::scope(|scope| {
        let theirs = scope.spawn(|| server.exchange(&messages[1]).unwrap());
        assert_eq!(client.exchange(&messages[0]).unwrap(), messages[1]);
        assert_eq!(theirs.join().unwrap(), messages[0]);
    });
}

#[test]
fn any_other_certificate_is_refused_on_either_side() {
    let (identities, stranger) = (identities(), Identity::generate().unwrap());
    let [mut client, server] = endpoints(&identities);
    client.peer = stranger.fingerprint();
    let [client, server] = connect([client, server], LONG);
    let expected = (stranger.fingerprint(), identities[1].fingerprint());
    match client {
        Err(TlsError::WrongCertificate { expected: pinned, got }) => assert_eq!((pinned, got), expected),
        other => panic!("{other:?}"),
    }
    assert!(matches!(&server, Err(TlsError::NoPeer { last, .. }) if last.contains("AccessDenied")), "{server:?}");

    let [peer, _] = endpoints(&identities);
    let other = Endpoint { identity: &stranger, ..peer };
    let (client, reason) = refused(&identities, |address| other.connect(address));
    let error = InferenceError::from(client.unwrap_err());
    assert_eq!(error.outcome(), Outcome::PeerFailed);
    assert!(reason.contains(&format!("got {}", stranger.fingerprint())), "{reason}");
}

#[test]
fn a_copied_certificate_without_its_key_is_refused() {
    let (identities, stranger) = (identities(), Identity::generate().unwrap());
    let [mut client, mut server] = endpoints(&identities);
    let (listener, address) = listen();
    let error = test_process::scope(|scope| {
        scope.spawn(|| Thief::new(&identities[1], &stranger).serve(&listener));
        client.connect(address).unwrap_err().to_string()
    });
    assert!(error.contains("BadSignature"), "{error}");

    let ((), reason) = refused(&identities, |address| Thief::new(&identities[0], &stranger).connect(address));
    assert!(reason.contains("BadSignature"), "{reason}");

    // such an identity of one's own is noticed before anybody hears of it
    let mixed = Identity::from_der(identities[1].certificate().to_vec(), stranger.key().to_vec().into());
    assert!(matches!(mixed.check(), Err(TlsError::Identity { .. })));
    (server.identity, client.limits.idle) = (&mixed, SHORT);
    let [_, server] = connect([client, server], PATIENCE);
    assert!(matches!(server, Err(TlsError::Identity { .. })), "{server:?}");
}

#[test]
fn other_computations_and_two_equal_parties_are_refused() {
    let identities = identities();
    let [peer, _] = endpoints(&identities);
    let other = Endpoint { protocol: [8; 32], ..peer };
    let (client, _) = refused(&identities, |address| other.connect(address));
    assert!(matches!(client, Err(TlsError::Channel(ChannelError::Protocol { .. }))), "{client:?}");
    let other = Endpoint { party: Party::One, ..peer };
    let (client, _) = refused(&identities, |address| other.connect(address));
    assert!(matches!(client, Err(TlsError::Channel(ChannelError::PeerParty { .. }))), "{client:?}");
}

#[test]
fn a_thousand_silent_slow_and_half_done_strangers_do_not_keep_the_peer_out() {
    allow_files(3000);
    let identities = identities();
    let [client, server] = endpoints(&identities);
    let (listener, address) = listen();
    let (strangers, [all_there, stop]) = (Strangers::new(address, 1000), [false; 2].map(AtomicBool::new));
    let (served, refused) = test_process::scope(|scope| {
        scope.spawn(|| strangers.besiege(&all_there, &stop));
        let serving = scope.spawn(move || {
            let mut refused = 0;
            let channel = server.accept(&listener, Some(2 * PATIENCE), |_| refused += 1);
            (channel.and_then(|mut channel| Ok(channel.exchange(&[2])?)), refused)
        });
        while !all_there.load(Ordering::Relaxed) {
            thread::sleep(SHORT / 10);
        }
        let start = Instant::now();
        let answer = client.connect(address).and_then(|mut channel| Ok(channel.exchange(&[1])?));
        let served = start.elapsed();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(answer.unwrap(), [2]);
        let (question, refused) = serving.join().unwrap();
        assert_eq!(question.unwrap(), [1]);
        (served, refused)
    });
    assert!(served < PATIENCE / 2, "{served:?}");
    assert!(refused >= 1000 - 576, "{refused}"); // all beyond the number of concurrent handshakes
}

#[test]
fn strangers_are_refused_by_name_while_others_stand_still() {
    let (identities, stranger) = (identities(), Identity::generate().unwrap());
    let [client, server] = endpoints(&identities);
    let (listener, address) = listen();
    let (reports, reported) = mpsc::channel();
    test_process::scope(|scope| {
        let serving = scope.spawn(move || {
            let report = |error: &TlsError| reports.send(error.to_string()).unwrap();
            server.accept(&listener, Some(PATIENCE), report)
        });
        let idle: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
        let start = Instant::now();
        let mut talker = TcpStream::connect(address).unwrap();
        talker.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // the port's answer to a stranger is an alert or nothing, then the end
        let _ = talker.read_to_end(&mut Vec::new());
        let other = Endpoint { identity: &stranger, ..client };
        assert!(other.connect(address).is_err());
        Thief::new(&identities[0], &stranger).connect(address);
        for expected in ["InvalidContentType", &format!("got {}", stranger.fingerprint()), "BadSignature"] {
            let report = reported.recv_timeout(PATIENCE).unwrap();
            assert!(report.contains(expected), "expected {expected}, got {report}");
        }
        // those who stand still are dropped before others come
        for mut stream in idle {
            assert!(!stream.read(&mut [0]).is_ok_and(|read| read > 0));
        }
        let reports: Vec<_> = reported.try_iter().collect();
        assert!(reports.len() == 20 && reports.iter().all(|report| report.contains("no ClientHello within 2 s")));
        assert!(start.elapsed() < PATIENCE / 2);
        assert!(client.connect(address).is_ok());
        assert!(serving.join().unwrap().is_ok());
    });
}

/// Accepts `count` connections and drops them.
fn hang_up(listener: &TcpListener, count: usize) {
    listener.set_nonblocking(true).unwrap();
    let (mut dropped, start) = (0, Instant::now());
    while dropped < count && start.elapsed() < PATIENCE {
        match listener.accept() {
            Ok(_) => dropped += 1,
            Err(_) => thread::sleep(SHORT / 100),
        }
    }
    assert_eq!(dropped, count);
}

#[test]
fn a_listener_that_stalls_or_hangs_up_does_not_keep_a_client_from_its_server() {
    let identities = identities();
    let [mut client, server] = endpoints(&identities);
    let ((stalls, stalling), (listener, address)) = (listen(), listen());
    let serve = |hang_ups| {
        hang_up(&listener, hang_ups);
        server.accept(&listener, Some(PATIENCE), |_| ()).map(drop)
    };
    test_process::scope(|scope| {
        let serving = scope.spawn(|| serve(3));
        client.connect(address).unwrap();
        serving.join().unwrap().unwrap();
    });
    client.limits.idle = LONG;
    test_process::scope(|scope| {
        let serving = scope.spawn(|| serve(0));
        client.connect(&[stalling, address][..]).unwrap();
        serving.join().unwrap().unwrap();
    });
    // without any other server, the error comes in time
    let start = Instant::now();
    let refused = client.connect(stalling).unwrap_err();
    assert!(matches!(&refused, TlsError::NoPeer { last, .. } if last.contains("stopped responding")), "{refused}");
    assert!(start.elapsed() < PATIENCE / 2);
    drop(stalls);
}

#[test]
fn nobody_there_and_nobody_coming_end_in_time() {
    let identities = identities();
    let [mut client, server] = endpoints(&identities);
    client.limits.idle = SHORT;
    let (listener, address) = listen();
    let start = Instant::now();
    assert!(matches!(server.accept(&listener, Some(SHORT), |_| ()), Err(TlsError::NoPeer { .. })));
    drop(listener);
    assert!(matches!(client.connect(address), Err(TlsError::NoPeer { .. })));
    assert!(start.elapsed() < PATIENCE / 2);
}
