//! Operands, tasks and keys that are refused, before anything is sent or spent.

use crate::{
    common::{descriptor, queues::cpu, suf_gate, two_bits, words},
    device_shares::{expect_unspent, session},
};
use backend_api::BackendError;
use pfss::{
    AutoTrunc, Dealer, DeviceShares, Gate, KeyBundle, Party, PfssError, Predicate, RangeClaim, Ring, SignedRange, Task,
    Traffic,
    functions::{Accuracy, FixedBundles, gelu},
    suf::{CoeffMode, Piece, Pred, PredProgram, SufDesc, SufModes, SufSpec},
};

#[test]
fn operands_of_different_parties_rings_devices_or_lengths_are_refused() {
    let (q, other) = (cpu(None), cpu(None));
    let (ring, narrow) = (Ring::new(64).unwrap(), Ring::new(8).unwrap());
    let shares = |q, party, ring, len| DeviceShares::upload(q, party, ring, &words(len, 1)).unwrap();
    let x = shares(&q, Party::Zero, ring, 3);
    let [product, _] = Dealer::from_os().unwrap().deal(&q, &Gate::product(64).unwrap(), 3).unwrap();
    let again = || KeyBundle::from_bytes(&product.to_bytes()).unwrap();
    let (mut session, _peer) = session();
    for (y, expected) in [
        (shares(&q, Party::One, ring, 3), PfssError::WrongParty { expected: Party::Zero, got: Party::One }),
        (shares(&q, Party::Zero, narrow, 3), PfssError::ShareRing { expected: 64, got: 8 }),
        (shares(&other, Party::Zero, ring, 3), PfssError::OtherDevice),
        (shares(&q, Party::Zero, ring, 4), PfssError::Length { what: "shares", expected: 3, got: 4 }),
    ] {
        assert_eq!(x.add(&y).unwrap_err(), expected);
        assert_eq!(x.sub(&y).unwrap_err(), expected);
        let expected = match expected {
            PfssError::Length { .. } => PfssError::Length { what: "elements", expected: 3, got: 4 },
            // factors may be in different rings, but not in one of fewer bits than the keys'
            PfssError::ShareRing { .. } => PfssError::WiderRing { most: 8, got: 64 },
            expected => expected,
        };
        assert_eq!(session.product_on_device(again(), [&x, &y]).unwrap_err(), expected);
    }
    let length = PfssError::Length { what: "public words", expected: 3, got: 2 };
    assert_eq!(x.add_public(&[1, 2]).unwrap_err(), length);
    assert_eq!(session.traffic(), Traffic::default());
    expect_unspent(product.nonce(), |session| session.product_on_device(again(), [&x, &x]));
}

/// Refused inputs are neither sent nor spent: the same keys serve afterwards, and once only.
#[test]
fn refused_inputs_spend_no_keys_and_keys_are_spent_once() {
    let q = cpu(None);
    let gate = Gate::relu(64).unwrap();
    let [bundle, _] = Dealer::from_os().unwrap().deal(&q, &gate, 3).unwrap();
    let (bytes, nonce) = (bundle.to_bytes(), bundle.nonce());
    let again = || KeyBundle::from_bytes(&bytes).unwrap();
    let shares = |party, bits, len| DeviceShares::upload(&q, party, Ring::new(bits).unwrap(), &words(len, 1)).unwrap();
    let (mut session, peer) = session();
    for (x, task, expected) in [
        (shares(Party::Zero, 63, 3), Task::Relu, PfssError::WiderRing { most: 63, got: 64 }),
        (shares(Party::Zero, 64, 4), Task::Relu, PfssError::Length { what: "elements", expected: 3, got: 4 }),
        (shares(Party::One, 64, 3), Task::Relu, PfssError::WrongParty { expected: Party::Zero, got: Party::One }),
    ] {
        assert_eq!(session.run_on_device(task, again(), &x).unwrap_err(), expected);
    }
    let x = shares(Party::Zero, 64, 3);
    assert!(matches!(session.run_on_device(Task::Lrs, again(), &x), Err(PfssError::Kind { .. })));
    assert_eq!(session.traffic(), Traffic::default());

    // The peer is lost after the keys were spent: the session is closed, and the keys are refused elsewhere.
    drop(peer);
    assert!(matches!(session.run_on_device(Task::Relu, again(), &x), Err(PfssError::Channel(_))));
    assert_eq!(session.run_on_device(Task::Relu, again(), &x).unwrap_err(), PfssError::Closed);
    let (mut other, _peer) = super::session();
    assert_eq!(other.run_on_device(Task::Relu, again(), &x).unwrap_err(), PfssError::ReusedBundle { nonce });
    assert_eq!(other.traffic(), Traffic::default());
}

#[test]
fn shifts_and_functions_take_keys_of_their_own_gates_alone() {
    let (q, ring) = (cpu(None), Ring::new(64).unwrap());
    let (mut session, _peer) = session();
    let [x, theirs] = Party::BOTH.map(|party| DeviceShares::upload(&q, party, ring, &[1, 2, 3]).unwrap());
    let claim = RangeClaim::Proof(SignedRange::of_bits(40));
    let [shift, smaller, identity] = [12, 11, 0].map(|shift| AutoTrunc::choose(64, shift, claim).unwrap());
    let mut dealer = Dealer::from_os().unwrap();
    let [keys, smaller_keys] = [&shift, &smaller].map(|shift| {
        let [bundle, _] = dealer.deal(&q, shift.gate().unwrap(), 3).unwrap();
        bundle
    });
    let again = |keys: &KeyBundle| KeyBundle::from_bytes(&keys.to_bytes()).unwrap();
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    let bundles = |expected, got| PfssError::Length { what: "bundles", expected, got };
    for (shift, keys, x, expected) in [
        (&shift, Some(&smaller_keys), &x, PfssError::Program),
        (&shift, None, &x, bundles(1, 0)),
        (&shift, Some(&keys), &theirs, wrong_party.clone()),
        (&identity, Some(&keys), &x, bundles(0, 1)),
        (&identity, None, &theirs, wrong_party.clone()),
    ] {
        assert_eq!(session.shift_on_device(shift, keys.map(again), x).unwrap_err(), expected);
    }
    expect_unspent(keys.nonce(), |session| session.shift_on_device(&shift, Some(again(&keys)), &x));
    expect_unspent(smaller_keys.nonce(), |session| session.shift_on_device(&smaller, Some(again(&smaller_keys)), &x));

    let [gates, others] = [Accuracy::CUBIC_16, Accuracy::QUADRATIC_32]
        .map(|accuracy| gelu(accuracy).unwrap().gates(SufModes::default()).unwrap());
    let [keys, _] = dealer.deal_function(&q, &others, 3).unwrap();
    let read = || FixedBundles { suf: again(&keys.suf), shift: keys.shift.as_ref().map(again) };
    assert_eq!(session.function_on_device(&gates, read(), &x).unwrap_err(), PfssError::Program);
    assert_eq!(session.function_on_device(&others, read(), &theirs).unwrap_err(), wrong_party);
    assert_eq!(session.traffic(), Traffic::default());
    expect_unspent(keys.suf.nonce(), |session| session.function_on_device(&others, read(), &x));
}

#[test]
fn tasks_with_other_results_are_refused_before_keys_are_spent() {
    let q = cpu(None);
    let suf = |coeffs, preds, bools| {
        let of = [Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }];
        let (predicates, bools) = if bools { (&of[..], &two_bits()[..]) } else { (&[][..], &[][..]) };
        let desc = descriptor(20, predicates, bools, &[(0, &[&[1, 2, 3]]), (70_000, &[&[4, 5]])]);
        suf_gate(desc, SufModes { coeffs, preds, ..SufModes::default() })
    };
    let piece = Piece { start: 0, polys: vec![], bools: vec![] };
    let nothing = SufSpec { n: 8, degree: 0, words: vec![], bools: vec![], preds: vec![], pieces: vec![piece] };
    let nothing = suf_gate(SufDesc::new(nothing).unwrap(), SufModes::default());
    let (mut session, _peer) = session();
    for (gate, task, got) in [
        (
            Gate::full_predicates(20).unwrap(),
            Task::PredicateBits(&[Predicate::Lt { beta: 3 }]),
            "XOR shares of predicates",
        ),
        (suf(CoeffMode::MaskedSelect, PredProgram::SharedAlpha, true), Task::Suf, "a descriptor with output bits"),
        (suf(CoeffMode::StepDcf, PredProgram::SharedAlpha, false), Task::Suf, "a descriptor with hidden pieces"),
        (suf(CoeffMode::MaskedSelect, PredProgram::StepDcf, false), Task::Suf, "a descriptor with hidden thresholds"),
        (nothing, Task::Suf, "a descriptor without output words"),
    ] {
        let [bundle, _] = Dealer::from_os().unwrap().deal(&q, &gate, 3).unwrap();
        let again = || KeyBundle::from_bytes(&bundle.to_bytes()).unwrap();
        let x = DeviceShares::upload(&q, Party::Zero, gate.ring(), &[1, 2, 3]).unwrap();
        let expected = PfssError::NotOnDevice { got };
        assert_eq!(session.run_on_device(task, again(), &x).unwrap_err(), expected);
        assert_eq!(session.traffic(), Traffic::default());
        // not spent
        let keys = again().with_open_inputs().unwrap();
        assert_eq!(session.eval_on_device(&q, task, keys, &[1, 2, 3]).unwrap_err(), expected);
    }
}

#[test]
fn debug_shows_no_share() {
    let q = cpu(None);
    let x = DeviceShares::upload(&q, Party::One, Ring::new(40).unwrap(), &[123_456_789; 2]).unwrap();
    let shown = format!("{x:?}");
    assert!(shown.starts_with("DeviceShares { party: One, ring: ") && shown.ends_with("len: 2, .. }"), "{shown}");
    assert!(!shown.contains("123"), "{shown}");
}

/// The keys are spent before inputs are masked, since the device may fail halfway.
///
/// The factors of a product are gathered on the device, so that they take one copy to the host.
#[test]
fn a_device_without_memory_closes_the_session() {
    // room for the three shares, in whole cache lines, and for nothing else
    let q = cpu(Some(128));
    let gate = Gate::product(64).unwrap();
    let [bundle, _] = Dealer::from_os().unwrap().deal(&cpu(None), &gate, 3).unwrap();
    let (bytes, nonce) = (bundle.to_bytes(), bundle.nonce());
    let again = || KeyBundle::from_bytes(&bytes).unwrap();
    let x = DeviceShares::upload(&q, Party::Zero, gate.ring(), &[1, 2, 3]).unwrap();
    assert!(matches!(x.scale(2), Err(PfssError::Backend(BackendError::BudgetExceeded { .. }))));
    let (mut session, _peer) = session();
    let failed = session.product_on_device(again(), [&x, &x]);
    assert!(matches!(failed, Err(PfssError::Backend(BackendError::BudgetExceeded { .. }))));
    assert_eq!(session.traffic(), Traffic::default());
    assert_eq!(session.product_on_device(again(), [&x, &x]).unwrap_err(), PfssError::Closed);
    assert_eq!(again().mask_factors(&[1, 2, 3], &[4, 5, 6]).unwrap_err(), PfssError::ReusedBundle { nonce });
}
