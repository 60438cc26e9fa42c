//! Two parties over channels: results, counters, and every way a peer can fail to keep in step.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use crate::common::{add, both, open, share};
use backend_api::ops::fss::FssOps;
use pfss::{
    AutoTrunc, BoolShares, Channel, ChannelError, Dealer, Gate, Interval, KeyBundle, Party, PfssError, Predicate,
    RangeClaim, RangeError, Ring, Session, SignedRange, Task, TcpChannel, TcpOptions, Traffic, memory_pair,
    run_lockstep,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn options() -> TcpOptions {
    TcpOptions { read_timeout: PATIENCE, write_timeout: PATIENCE, ..TcpOptions::new([7; 32]) }
}

fn deal<Q: FssOps>(q: &Q, gate: &Gate, count: usize) -> [KeyBundle; 2] {
    Dealer::insecure_from_seed(11).deal(q, gate, count).unwrap()
}

/// A second, equal bundle, as somebody who copied the file would have it.
fn copy(bundle: &KeyBundle) -> KeyBundle {
    KeyBundle::from_bytes(&bundle.to_bytes()).unwrap().insecure_reusable()
}

/// Runs both closures on their own threads over a pair of TCP channels.
fn over_tcp<T: Send>(
    zero: impl FnOnce(Session<TcpChannel>) -> T + Send,
    one: impl FnOnce(Session<TcpChannel>) -> T + Send,
) -> [T; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let first = || zero(Session::new(TcpChannel::accept(Party::Zero, &listener, &options()).unwrap()));
    let second = || one(Session::new(TcpChannel::connect(Party::One, address, &options()).unwrap()));
    test_process::pair(first, second).into()
}

#[test]
fn a_linear_layer_epilogue_over_tcp_equals_lockstep_and_plain_arithmetic() {
    let q = runtime::cpu().unwrap();
    for n in [64u32, 37] {
        let ring = Ring::new(n).unwrap();
        let values: Vec<i64> = (0..333).map(|i: i64| (i - 166) * 12_345).collect();
        let cert = SignedRange::new(-(1 << 30), 1 << 30).unwrap().gap_cert(n).unwrap();
        let mut dealer = Dealer::insecure_from_seed(5);
        let shift = dealer.deal(&q, &Gate::gap_ars(n, 12).unwrap(), values.len()).unwrap();
        let relu = dealer.deal(&q, &Gate::relu(n).unwrap(), values.len()).unwrap();
        let x = share(ring, &values);

        let [a, b] = [0, 1].map(|i| copy(&shift[i]));
        let shifted = run_lockstep(&q, Task::GapArs(cert), [a, b], [&x[0], &x[1]]).unwrap();
        let [a, b] = [0, 1].map(|i| copy(&relu[i]));
        let expected = run_lockstep(&q, Task::Relu, [a, b], [&shifted[0].words, &shifted[1].words]).unwrap();
        let expected = expected.map(|shares| shares.words);
        let plain: Vec<i64> = values.iter().map(|v| (v >> 12).max(0)).collect();
        assert_eq!(open(ring, [&expected[0], &expected[1]]), plain);

        let ([shift_0, shift_1], [relu_0, relu_1]) = (shift, relu);
        let party = |shift, relu, x| {
            let q = &q;
            move |mut session: Session<TcpChannel>| {
                let shifted = session.run(q, Task::GapArs(cert), shift, x).unwrap().words;
                (session.relu(q, relu, &shifted).unwrap(), session.traffic())
            }
        };
        let results = over_tcp(party(shift_0, relu_0, &x[0]), party(shift_1, relu_1, &x[1]));
        let bytes = 4 * 16 + 2 * (333 * u64::from(n)).div_ceil(8) + 2 * 333u64.div_ceil(8);
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(result.0, *expected);
            assert_eq!(result.1, Traffic { sent_bytes: bytes, received_bytes: bytes, rounds: 4 });
        }
    }
}

#[test]
fn every_other_gate_of_a_session_is_exact() {
    let q = runtime::cpu().unwrap();
    let ring = Ring::new(16).unwrap();
    let values: Vec<i64> = (-40..40).map(|i| i * 400).collect();
    let x = share(ring, &values);
    let mut dealer = Dealer::insecure_from_seed(9);
    let truncate = dealer.deal(&q, &Gate::truncate_reduce(16, 5).unwrap(), 80).unwrap();
    let bits = dealer.deal(&q, &Gate::sign_predicates(16).unwrap(), 80).unwrap();
    let words = dealer.deal(&q, &Gate::full_predicates(16).unwrap().with_masks(2).unwrap(), 80).unwrap();
    let powers = dealer.deal(&q, &Gate::interval_powers(16, 1).unwrap(), 80).unwrap();
    let below = [Predicate::Lt { beta: 400 }, Predicate::Lt { beta: 40_000 }];
    let interval = [Interval { start: 400, end: Some(8_000) }];

    let ([t0, t1], [b0, b1], [w0, w1], [p0, p1]) = (truncate, bits, words, powers);
    let [a, b] = both([[t0, b0, w0, p0], [t1, b1, w1, p1]], |mut session, party, [truncate, bits, words, powers]| {
        let x = &x[party];
        let truncated = session.run(&q, Task::TruncateReduce, truncate, x).unwrap().words;
        let bits = session.run(&q, Task::PredicateBits(&[Predicate::NonNegative]), bits, x).unwrap().bools;
        let BoolShares::Xor(bits) = bits else { panic!("XOR shares were asked for") };
        let words = session.run(&q, Task::Predicates(&below), words, x).unwrap().words;
        let (powers, x_hat) = session.interval_powers(&q, &interval, powers, x).unwrap();
        (truncated, bits, words, powers, x_hat)
    });

    let narrow = Ring::new(11).unwrap();
    let unsigned: Vec<u64> = values.iter().map(|&v| ring.reduce(v as u64)).collect();
    assert_eq!(add(narrow, [&a.0, &b.0]), unsigned.iter().map(|x| x >> 5).collect::<Vec<_>>());
    assert_eq!(a.1.reveal(&b.1).unwrap(), values.iter().map(|&v| v >= 0).collect::<Vec<_>>());
    let expected = [400, 40_000].map(|beta| unsigned.iter().map(move |&x| u64::from(x < beta)).collect::<Vec<_>>());
    assert_eq!(add(ring, [&a.2, &b.2]), expected.concat());
    assert_eq!(a.4, b.4);
    // x = x_hat - r on the interval: x_hat [I] + [I (-r)]
    let powers = add(ring, [&a.3, &b.3]);
    for (e, &x) in unsigned.iter().enumerate() {
        let selected = ring.add(ring.mul(a.4[e], powers[e]), powers[80 + e]);
        assert_eq!(selected, if (400..8_000).contains(&x) { x } else { 0 });
    }
}

#[test]
fn a_bundle_is_refused_a_second_time_even_when_read_again_from_its_bytes() {
    let q = runtime::cpu().unwrap();
    let bundles = Dealer::from_os().unwrap().deal(&q, &Gate::relu(8).unwrap(), 1).unwrap();
    let (bytes, nonce) = (bundles.each_ref().map(KeyBundle::to_bytes), bundles[0].nonce());
    let again = |party: usize| KeyBundle::from_bytes(&bytes[party]).unwrap();
    let reused = PfssError::ReusedBundle { nonce };
    both(bundles, |mut session, party, bundle| {
        session.relu(&q, bundle, &[3]).unwrap();
        let before = session.traffic();
        assert_eq!(session.relu(&q, again(party), &[3]), Err(reused.clone()));
        assert_eq!(session.open_masked(&q, vec![(again(party), &[3])]).unwrap_err(), reused);
        assert_eq!(session.traffic(), before, "something was sent");
    });
    // another session of the same process, and no session at all
    let (zero, _one) = memory_pair(PATIENCE);
    assert_eq!(Session::new(zero).relu(&q, again(0), &[3]), Err(reused.clone()));
    for party in [0, 1] {
        assert_eq!(again(party).mask(&[5]).unwrap_err(), reused);
        assert_eq!(again(party).with_open_inputs().unwrap_err(), reused);
    }
    assert_eq!(run_lockstep(&q, Task::Relu, [again(0), again(1)], [&[3], &[4]]).unwrap_err(), reused);
}

/// Inputs rejected before masking do not spend the bundle.
#[test]
fn a_bundle_that_was_refused_for_its_inputs_still_serves() {
    let q = runtime::cpu().unwrap();
    let [bundle, _] = Dealer::from_os().unwrap().deal(&q, &Gate::relu(8).unwrap(), 2).unwrap();
    let bytes = bundle.to_bytes();
    let again = || KeyBundle::from_bytes(&bytes).unwrap();
    let length = |got| PfssError::Length { what: "elements", expected: 2, got };
    assert_eq!(again().mask(&[1]).unwrap_err(), length(1));
    let (zero, _one) = memory_pair(PATIENCE);
    let mut session = Session::new(zero);
    assert_eq!(session.relu(&q, again(), &[1, 2, 3]), Err(length(3)));
    assert_eq!(session.open_masked(&q, vec![(again(), &[1, 2]), (again(), &[1])]).unwrap_err(), length(1));
    let (masked, keys) = again().mask(&[250, 7]).unwrap();
    assert_eq!((masked.len(), keys.count(), keys.nonce()), (2, 2, bundle.nonce()));
    assert_eq!(bundle.mask(&[0, 0]).unwrap_err(), PfssError::ReusedBundle { nonce: keys.nonce() });
}

#[test]
fn the_bundle_of_the_other_party_and_bundles_of_two_deals_are_refused() {
    let q = runtime::cpu().unwrap();
    let [b0, b1] = deal(&q, &Gate::relu(8).unwrap(), 1);
    let (zero, _one) = memory_pair(PATIENCE);
    let mut session = Session::new(zero);
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    assert_eq!(session.relu(&q, copy(&b1), &[3]).unwrap_err(), wrong_party);
    let keys = copy(&b1).with_open_inputs().unwrap();
    assert_eq!(session.eval(&q, Task::Relu, keys, &[3]).unwrap_err(), wrong_party);
    let refused = run_lockstep(&q, Task::Relu, [copy(&b1), copy(&b0)], [&[3], &[4]]).unwrap_err();
    assert_eq!(refused, wrong_party);
    let [_, other] = Dealer::insecure_from_seed(99).deal(&q, &Gate::relu(8).unwrap(), 1).unwrap();
    let expected = PfssError::NonceMismatch { expected: b0.nonce(), got: other.nonce() };
    assert_eq!(run_lockstep(&q, Task::Relu, [b0, other], [&[3], &[4]]).unwrap_err(), expected);
}

#[test]
fn parties_at_different_steps_are_told_and_the_session_closes() {
    let q = runtime::cpu().unwrap();
    let [b0, _] = deal(&q, &Gate::relu(8).unwrap(), 1);
    let [_, other] = Dealer::insecure_from_seed(99).deal(&q, &Gate::relu(8).unwrap(), 1).unwrap();
    let [next_0, next_1] = Dealer::insecure_from_seed(100).deal(&q, &Gate::relu(8).unwrap(), 1).unwrap();
    let errors = both([(b0, next_0), (other, next_1)], |mut session, _, (bundle, next)| {
        let error = session.relu(&q, bundle, &[3]).unwrap_err();
        assert_eq!(session.relu(&q, next, &[3]).unwrap_err(), PfssError::Closed);
        let masked = Gate::relu(8).unwrap().with_masked_outputs().unwrap();
        assert_eq!(session.open_outputs(&q, &masked, &[1]), Err(PfssError::Closed));
        error
    });
    for error in errors {
        assert!(matches!(error, PfssError::Channel(ChannelError::Step { round: 0, .. })), "{error}");
    }
}

/// Accepts one connection as party 0 while `peer` plays the other side by hand.
fn against(peer: impl FnOnce(TcpStream) + Send, timeout: Duration) -> Result<TcpChannel, ChannelError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let options = TcpOptions { read_timeout: timeout, ..options() };
    test_process::scope(|scope| {
        scope.spawn(move || peer(TcpStream::connect(address).unwrap()));
        TcpChannel::accept(Party::Zero, &listener, &options)
    })
}

fn hello(magic: &[u8; 8], version: u16, party: u8, protocol: u8) -> Vec<u8> {
    let mut hello = magic.to_vec();
    hello.extend_from_slice(&version.to_le_bytes());
    hello.extend_from_slice(&[party, 0]);
    hello.extend_from_slice(&[protocol; 32]);
    hello
}

#[test]
fn every_wrong_handshake_is_refused_by_name() {
    let say = |hello: Vec<u8>| {
        let peer = move |mut stream: TcpStream| {
            stream.write_all(&hello).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        };
        against(peer, PATIENCE).map(|_| ()).unwrap_err()
    };
    assert!(matches!(say(hello(b"GET / HT", 1, 1, 7)), ChannelError::Magic { got, .. } if got == *b"GET / HT"));
    assert_eq!(say(hello(b"pfss-tcp", 2, 1, 7)), ChannelError::Version { expected: 1, got: 2 });
    for number in [0, 2, 255] {
        let expected = ChannelError::PeerParty { expected: Party::One, got: number };
        assert_eq!(say(hello(b"pfss-tcp", 1, number, 7)), expected);
    }
    let expected = ChannelError::Protocol { expected: [7; 32], got: [8; 32] };
    assert_eq!(say(hello(b"pfss-tcp", 1, 1, 8)), expected);
}

#[test]
fn a_lost_or_silent_peer_is_told_apart_at_every_point() {
    let doing = "shaking hands";
    let gone = against(|mut stream| stream.write_all(b"pfss").unwrap(), PATIENCE).map(|_| ()).unwrap_err();
    assert_eq!(gone, ChannelError::Lost { doing });
    let silent = |mut stream: TcpStream| {
        let _ = stream.read_to_end(&mut Vec::new());
    };
    let waited = against(silent, Duration::from_millis(50)).map(|_| ()).unwrap_err();
    assert_eq!(waited, ChannelError::Timeout { doing });

    let greet = |mut stream: TcpStream| {
        stream.write_all(&hello(b"pfss-tcp", 1, 1, 7)).unwrap();
        let mut theirs = [0; 44];
        stream.read_exact(&mut theirs).unwrap();
        stream.write_all(&[3, 0, 0, 0, 1]).unwrap();
    };
    let mut channel = against(greet, PATIENCE).unwrap();
    assert_eq!(channel.recv(3), Err(ChannelError::Lost { doing: "receiving" }));
}

#[test]
fn a_peer_that_lies_about_lengths_is_refused_before_anything_is_allocated() {
    let lie = |announced: u32| {
        let peer = move |mut stream: TcpStream| {
            stream.write_all(&hello(b"pfss-tcp", 1, 1, 7)).unwrap();
            stream.write_all(&announced.to_le_bytes()).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        test_process::scope(|scope| {
            scope.spawn(move || peer(TcpStream::connect(address).unwrap()));
            TcpChannel::accept(Party::Zero, &listener, &options()).unwrap().recv(5)
        })
    };
    for announced in [0, 4, 6, u32::MAX] {
        assert_eq!(lie(announced), Err(ChannelError::Length { expected: 5, got: announced.into() }));
    }
}

#[test]
fn messages_above_the_limit_are_refused_and_long_exchanges_do_not_block() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let tight = TcpOptions { max_message_bytes: 8 << 20, ..options() };
    let talk = |mut channel: TcpChannel| {
        let message = vec![channel.party().number(); 8 << 20];
        let theirs = channel.exchange(&message).unwrap();
        assert!(theirs.len() == message.len() && theirs.iter().all(|&b| b == channel.party().peer().number()));
        let (max, got) = (8 << 20, (8 << 20) + 1);
        assert_eq!(channel.send(&vec![0; got]), Err(ChannelError::TooLong { max, got }));
        assert_eq!(channel.recv(got), Err(ChannelError::TooLong { max, got }));
    };
    test_process::scope(|scope| {
        scope.spawn(|| talk(TcpChannel::accept(Party::Zero, &listener, &tight).unwrap()));
        talk(TcpChannel::connect(Party::One, address, &tight).unwrap());
    });
}

#[test]
fn two_processes_of_the_same_party_refuse_each_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    test_process::scope(|scope| {
        let other = scope.spawn(|| TcpChannel::accept(Party::One, &listener, &options()).map(|_| ()).unwrap_err());
        let refused = TcpChannel::connect(Party::One, address, &options()).map(|_| ()).unwrap_err();
        for error in [refused, other.join().unwrap()] {
            assert_eq!(error, ChannelError::PeerParty { expected: Party::Zero, got: 1 });
        }
    });
}

#[test]
fn a_peer_that_flips_bits_past_the_last_element_is_refused() {
    /// Sets the top bit of the last byte of every message.
    struct Meddler<C>(C);
    impl<C: Channel> Channel for Meddler<C> {
        fn party(&self) -> Party {
            self.0.party()
        }
        fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
            let mut changed = message.to_vec();
            *changed.last_mut().unwrap() |= 0x80;
            self.0.send(&changed)
        }
        fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
            self.0.recv(len)
        }
    }
    let q = runtime::cpu().unwrap();
    let [b0, b1] = deal(&q, &Gate::relu(9).unwrap(), 3);
    let (zero, one) = memory_pair(PATIENCE);
    test_process::scope(|scope| {
        scope.spawn(|| Session::new(Meddler(zero)).relu(&q, b0, &[1, 2, 3]));
        let refused = Session::new(one).relu(&q, b1, &[1, 2, 3]).unwrap_err();
        assert_eq!(refused, PfssError::Channel(ChannelError::Padding));
    });
}

/// Runs one gate for both parties over memory channels: the opened result and the traffic of party 0.
fn opened<Q: FssOps + Sync>(
    q: &Q,
    gate: &Gate,
    x: &[Vec<u64>; 2],
    run: impl Fn(&mut Session<pfss::MemoryChannel>, &Q, KeyBundle, &[u64]) -> Result<Vec<u64>, PfssError> + Sync,
) -> (Vec<i64>, Traffic) {
    let [a, b] = both(deal(q, gate, x[0].len()), |mut session, party, bundle| {
        (run(&mut session, q, bundle, &x[party]).unwrap(), session.traffic())
    });
    assert_eq!(a.1, b.1, "both parties send alike");
    (open(gate.ring(), [&a.0, &b.0]), a.1)
}

#[test]
fn every_gate_sends_what_its_cost_says() {
    let q = runtime::cpu().unwrap();
    for n in [13, 64] {
        let ring = Ring::new(n).unwrap();
        let values: Vec<i64> = (-37..40).map(|i| i * 25).collect();
        let x = share(ring, &values);
        let cert = SignedRange::new(-1000, 1000).unwrap().gap_cert(n).unwrap();
        let gates = [
            (Gate::relu(n), Task::Relu),
            (Gate::relu(n), Task::Abs),
            (Gate::gap_ars(n, 5), Task::GapArs(cert)),
            (Gate::gap_ars(n, 5).and_then(Gate::in_one_round), Task::GapArs(cert)),
            (Gate::truncate_reduce(n, 5), Task::TruncateReduce),
            (Gate::lrs(n, 5), Task::Lrs),
            (Gate::ars(n, 5), Task::Ars),
            (Gate::relu_ars(n, 5), Task::ReluArs),
        ];
        for (gate, task) in gates {
            let gate = gate.unwrap();
            let (_, traffic) = opened(&q, &gate, &x, |session, q, bundle, x| {
                session.run(q, task, bundle, x).map(|shares| shares.words)
            });
            let (cost, count) = (gate.cost(), values.len() as u64);
            let bytes = (count * cost.input_bits).div_ceil(8) + cost.masked_bits * count.div_ceil(8) + 16 * cost.rounds;
            assert_eq!(traffic, Traffic { sent_bytes: bytes, received_bytes: bytes, rounds: cost.rounds }, "{task:?}");
        }
    }
}

#[test]
fn a_table_is_read_over_channels_and_sends_what_its_cost_says() {
    let q = runtime::cpu().unwrap();
    let table: Vec<u64> = (0..256).map(|i| i * 3).collect();
    let values: Vec<i64> = (-60..60).collect();
    let x = share(Ring::new(8).unwrap(), &values);
    let gate = Gate::lut(8, 10).unwrap();
    let [a, b] = both(deal(&q, &gate, 120), |mut session, party, bundle| {
        (session.run(&q, Task::Lut(&table), bundle, &x[party]).unwrap().words, session.traffic())
    });
    let read = add(gate.out_ring(), [&a.0, &b.0]);
    assert!(values.iter().map(|x| table[(x & 255) as usize]).eq(read));
    let cost = gate.cost();
    assert_eq!(cost.masked_bits, 11);
    let bytes = 120 + 120 * cost.masked_bits / 8 + 16 * cost.rounds;
    assert_eq!(a.1, Traffic { sent_bytes: bytes, received_bytes: bytes, rounds: 2 });
}

#[test]
fn shifts_are_chosen_by_proof_and_a_maximum_needs_one() {
    let q = runtime::cpu().unwrap();
    let ring = Ring::new(16).unwrap();
    let values: Vec<i64> = (-60..60).map(|i| i * 200).collect();
    let x = share(ring, &values);
    let range = SignedRange::new(-12_000, 12_000).unwrap();
    let plain: Vec<i64> = values.iter().map(|v| v >> 3).collect();
    for claim in [RangeClaim::Proof(range), RangeClaim::Hint(range), RangeClaim::Unknown] {
        let shift = AutoTrunc::choose(16, 3, claim).unwrap();
        let run = |session: &mut Session<_>, q: &_, bundle, x: &[u64]| session.shift(q, &shift, Some(bundle), x);
        assert_eq!(opened(&q, shift.gate().unwrap(), &x, run).0, plain);
    }

    let relu = Gate::relu(16).unwrap();
    let other: Vec<i64> = values.iter().rev().map(|v| v / 3 + 7).collect();
    let y = share(ring, &other);
    let zipped: Vec<i64> = values.iter().zip(&other).map(|(a, b)| *a.max(b)).collect();
    let max = |session: &mut Session<_>, q: &_, bundle: KeyBundle, x: &[u64]| {
        let party = session.party().index();
        session.max(q, [range; 2], bundle, [x, &y[party]])
    };
    assert_eq!(opened(&q, &relu, &x, max).0, zipped);

    let (mut zero, mut one) = {
        let (zero, one) = memory_pair(PATIENCE);
        (Session::new(zero), Session::new(one))
    };
    let [first, second] = deal(&q, &relu, 120);
    let wide = SignedRange::new(-20_000, 20_000).unwrap();
    let refused = zero.max(&q, [wide; 2], first, [&x[0], &y[0]]).unwrap_err();
    assert_eq!(refused, PfssError::Range(RangeError::Overflow { bits: 16, end: -40_000 }));
    let refused = one.max(&q, [range; 2], second, [&x[1], &y[1][1..]]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 120, got: 119 });

    let identity = AutoTrunc::choose(16, 0, RangeClaim::Unknown).unwrap();
    assert_eq!(zero.shift(&q, &identity, None, &x[0]).unwrap(), x[0]);
    let [first, _] = deal(&q, &relu, 120);
    let refused = zero.shift(&q, &identity, Some(first), &x[0]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "bundles", expected: 0, got: 1 });
    // Keys of the same width and length for another shift, or with results in another ring.
    for shift in [AutoTrunc::choose(16, 4, RangeClaim::Proof(range)), AutoTrunc::widening(16, 3, 64, range)] {
        let [first, _] = deal(&q, &Gate::gap_ars(16, 3).unwrap(), 120);
        assert_eq!(zero.shift(&q, &shift.unwrap(), Some(first), &x[0]).unwrap_err(), PfssError::Program);
    }
    assert_eq!(zero.traffic().rounds, 0);
}
