//! Every fault of a peer, at every message of a run.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use inference::{
    InferenceError, Key, Limits, Outcome, Parameters,
    party::{self, Role},
    tls::{Endpoint, TlsChannel},
};
use pfss::{Channel, ChannelError, Party, PfssError, memory_pair};

use crate::{
    common::{PATIENCE, digits, images, keys, run},
    tls::{connect, endpoints, identities},
};

/// A channel whose peer stops after some exchanges.
struct Faulty<C> {
    inner: C,
    left: usize,
    fault: ChannelFault,
    /// Disconnected when the other party has ended.
    stalled: Receiver<()>,
}

#[derive(Clone, Copy, Debug)]
enum ChannelFault {
    /// Closes the connection.
    Close,
    /// Stops sending, and keeps the connection open.
    Stall,
    /// Sends a message of another length.
    Longer,
    /// Sends a message of the right length and other content.
    Altered,
}

impl<C: Channel> Faulty<C> {
    /// Whether the fault is due.
    fn due(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
}

impl<C: Channel> Channel for Faulty<C> {
    fn party(&self) -> Party {
        self.inner.party()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        let lost = Err(ChannelError::Lost { doing: "sending" });
        if !self.due() {
            return self.inner.send(message);
        }
        match self.fault {
            ChannelFault::Close => lost,
            ChannelFault::Stall => {
                // Silent until the other party has given up.
                assert_eq!(self.stalled.recv_timeout(2 * PATIENCE), Err(RecvTimeoutError::Disconnected));
                lost
            }
            ChannelFault::Longer => self.inner.send(&[message, &[0]].concat()),
            ChannelFault::Altered => self.inner.send(&message.iter().map(|byte| !byte).collect::<Vec<_>>()),
        }
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.inner.recv(len)
    }
}

/// The client's error when the server has `fault` at its message number `at`.
fn client_of<C: Channel + Send>(channels: [C; 2], fault: ChannelFault, at: usize) -> InferenceError {
    let model = digits(2);
    let ([client, server], [to_server, to_client]) = (keys(&model), channels);
    let (weights, images) = (Parameters::zeros(&model), images(&model));
    test_process::scope(|scope| {
        let (running, stalled) = mpsc::channel();
        scope.spawn(|| {
            let channel = Faulty { inner: to_client, left: at, fault, stalled };
            let role = Role::Server(&weights);
            party::run(&runtime::cpu().unwrap(), &model, server, channel, role, |_| ()).unwrap_err()
        });
        let ended = party::run(&runtime::cpu().unwrap(), &model, client, to_server, Role::Client(&images), |_| ());
        drop(running);
        ended.unwrap_err()
    })
}

#[test]
fn every_fault_of_the_peer_at_every_message_is_named() {
    let pair = |patience| -> [_; 2] { memory_pair(patience).into() };
    let messages = digits(2).plan().unwrap().traffic(Party::One).rounds as usize;
    for at in 1..=messages {
        for fault in [ChannelFault::Close, ChannelFault::Longer, ChannelFault::Altered] {
            let error = client_of(pair(PATIENCE), fault, at);
            assert_eq!(error.outcome(), Outcome::PeerFailed, "{fault:?} at {at}: {error}");
            let InferenceError::Pfss(PfssError::Channel(error)) = error else { panic!("{error}") };
            match fault {
                ChannelFault::Close => assert!(matches!(error, ChannelError::Lost { .. }), "{error}"),
                ChannelFault::Longer => assert!(matches!(error, ChannelError::Length { .. }), "{error}"),
                ChannelFault::Altered => assert!(matches!(error, ChannelError::Step { .. }), "{error}"),
                ChannelFault::Stall => {}
            }
        }
    }
    // At the first message: a server that has to wait for the client would itself run out of patience on a busy machine.
    let error = client_of(pair(Duration::from_millis(300)), ChannelFault::Stall, 1);
    assert_eq!(error.to_string(), "party 1: timed out while receiving in step `hidden`");
}

/// Two ends over TLS; the client waits for no more than `limits`.
fn tls_pair(limits: Limits) -> [TlsChannel; 2] {
    let identities = identities();
    let [client, server] = endpoints(&identities);
    connect([Endpoint { limits, ..client }, server], PATIENCE).map(Result::unwrap)
}

#[test]
fn a_peer_over_tls_that_closes_lies_or_stalls_is_named_in_time() {
    let channel_error = |limits, fault| match client_of(tls_pair(limits), fault, 2) {
        InferenceError::Pfss(PfssError::Channel(error)) => error,
        error => panic!("{error}"),
    };
    let patient = Limits { idle: PATIENCE, session: PATIENCE };
    assert!(matches!(channel_error(patient, ChannelFault::Close), ChannelError::Lost { .. }));
    assert!(matches!(channel_error(patient, ChannelFault::Longer), ChannelError::Length { .. }));
    // The handshake is within these limits, too, so they are long enough for a busy machine. All wait side by side.
    let short = Duration::from_secs(10);
    let start = Instant::now();
    test_process::scope(|scope| {
        let limits = [Limits { idle: short, ..patient }, Limits { session: short, ..patient }];
        let waiting = limits.map(|limits| scope.spawn(move || client_of(tls_pair(limits), ChannelFault::Stall, 2)));
        // A peer that reads nothing: the message is longer than all buffers of the connection.
        let [mut client, _server] = tls_pair(Limits { idle: short, ..patient });
        let (sending, sent) = (Instant::now(), client.send(&vec![0; 32 << 20]));
        assert_eq!(sent, Err(ChannelError::Timeout { doing: "sending" }));
        assert!(sending.elapsed() < 2 * short, "{:?}", sending.elapsed());
        for stalled in waiting {
            let error = stalled.join().unwrap();
            assert_eq!(error.to_string(), "party 1: timed out while receiving in step `hidden.rescale`");
        }
    });
    assert!(start.elapsed() < PATIENCE);
}

#[test]
fn keys_of_others_missing_keys_and_repeated_keys_are_refused_before_anything_is_sent() {
    let model = digits(2);
    let weights = Parameters::zeros(&model);
    let outcomes = |keys: [Vec<Key>; 2]| run(&model, keys, &weights).map(|result| result.unwrap_err());
    let [client, server] = keys(&model);
    for error in outcomes([server, client]) {
        assert!(matches!(error, InferenceError::Pfss(PfssError::WrongParty { .. })), "{error}");
    }
    let [mut client, mut server] = keys(&model);
    client.pop();
    server.pop();
    for error in outcomes([client, server]) {
        assert!(error.to_string().contains("keys, got"), "{error}");
    }
    for error in outcomes(keys(&digits(3))) {
        assert!(error.to_string().contains("different gate or element count"), "{error}");
    }
}
