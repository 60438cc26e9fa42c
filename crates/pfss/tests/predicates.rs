//! Predicates and interval gates against plain comparisons.

use crate::common::Batch;
use pfss::{
    BitShares, BoolShares, Dealer, Gate, GateKind, Interval, Party, PfssError, Predicate, Ring, Shares, SignedRange,
    Task,
};

/// The meaning of a predicate for the secret `x` under the mask `r`.
fn plain(ring: Ring, f: u32, predicate: Predicate, x: u64, r: u64) -> bool {
    let low = |v: u64, bits: u32| if bits == 0 { 0 } else { v & (u64::MAX >> (64 - bits)) };
    let wraps =
        |bits: u32| low(x, bits).wrapping_add(low(r, bits)) != low(low(x, bits).wrapping_add(low(r, bits)), bits);
    match predicate {
        Predicate::Lt { beta } => x < beta,
        Predicate::Interval(Interval { start, end }) => start <= x && end.is_none_or(|end| x < end),
        Predicate::Wrap => u128::from(x) + u128::from(r) > u128::from(ring.mask()),
        Predicate::Msb { c } => ring.msb(ring.add(x, c)) == 1,
        Predicate::NonNegative => ring.signed(x) >= 0,
        Predicate::Borrow => wraps(ring.bits() - 1),
        Predicate::LowLt { gamma } => low(x, f) < gamma,
        Predicate::Carry => wraps(f),
        other => panic!("no plain meaning for {other:?}"),
    }
}

/// XOR shares of predicates.
fn bits(shares: Shares) -> BitShares {
    match shares.bools {
        BoolShares::Xor(bits) => bits,
        BoolShares::Additive(_) => panic!("XOR shares were asked for"),
    }
}

/// Runs all predicates on one key per element, as XOR bits and as additive shares.
fn check(batch: &Batch, gate: &Gate, predicates: &[Predicate]) {
    let q = runtime::cpu().unwrap();
    let (ring, count) = (batch.ring, batch.x.len());
    let [zero, one] = batch.shares(&q, gate, Task::PredicateBits(predicates)).map(bits);
    let held = zero.reveal(&one).unwrap();
    let masked = gate.clone().with_masks(predicates.len() as u32).unwrap();
    let words = batch.run(&q, &masked, Task::Predicates(predicates));
    for (row, &predicate) in predicates.iter().enumerate() {
        for e in 0..count {
            let (x, r) = (batch.x[e], batch.r[e]);
            let expected = plain(ring, gate.f(), predicate, x, r);
            assert_eq!(held[row * count + e], expected, "{predicate:?}: x = {x:#x}, r = {r:#x}");
            assert_eq!(words[row * count + e], u64::from(expected), "{predicate:?}: x = {x:#x}, r = {r:#x}");
        }
    }
}

fn full(n: u32) -> Vec<Predicate> {
    let (last, half) = (Ring::new(n).unwrap().mask(), 1 << (n - 1));
    let mut all = vec![Predicate::Wrap];
    all.extend([0, 1, 5 % half, half, last].map(|beta| Predicate::Lt { beta }));
    for (start, end) in
        [(0, None), (0, Some(1)), (1, Some(half + 1)), (half, None), (half - 1, Some(last)), (last, None)]
    {
        all.push(Predicate::Interval(Interval { start, end }));
    }
    all
}

fn sign(n: u32) -> Vec<Predicate> {
    let (last, half) = (Ring::new(n).unwrap().mask(), 1 << (n - 1));
    let mut all = vec![Predicate::NonNegative, Predicate::Borrow];
    all.extend([0, 1, half - 1, half, last].map(|c| Predicate::Msb { c }));
    all
}

fn low(f: u32) -> Vec<Predicate> {
    let mut all = vec![Predicate::Carry];
    let half = 1 << (f - 1);
    all.extend([0, 1, half, (half << 1) - 1].map(|gamma| Predicate::LowLt { gamma }));
    all
}

#[test]
fn every_predicate_holds_for_every_input_and_mask_of_8_bits() {
    let batch = Batch::exhaustive(8);
    check(&batch, &Gate::full_predicates(8).unwrap(), &full(8));
    check(&batch, &Gate::sign_predicates(8).unwrap(), &sign(8));
    for f in 1..8 {
        check(&batch, &Gate::low_predicates(8, f).unwrap(), &low(f));
    }
}

#[test]
fn the_narrowest_rings_and_the_first_tree_level_are_exact() {
    check(
        &Batch::exhaustive(1),
        &Gate::full_predicates(1).unwrap(),
        &[Predicate::Lt { beta: 0 }, Predicate::Lt { beta: 1 }],
    );
    check(&Batch::exhaustive(2), &Gate::sign_predicates(2).unwrap(), &sign(2));
    check(&Batch::exhaustive(9), &Gate::sign_predicates(9).unwrap(), &sign(9));
    check(&Batch::exhaustive(9), &Gate::low_predicates(9, 8).unwrap(), &low(8));
}

#[test]
fn results_that_are_formed_in_parts_are_whole() {
    // the words of this many masks for 992 elements are what goes to the device at once
    let predicates: Vec<Predicate> = (0..u64::from(Gate::MAX_MASKS)).map(|i| Predicate::Lt { beta: i % 64 }).collect();
    let masks: Vec<u64> = (0..27).map(|i| 5 * i).collect();
    check(&Batch::product(6, 0..41, &masks), &Gate::full_predicates(6).unwrap(), &predicates);
}

#[test]
fn predicates_are_exact_at_the_corners_of_64_bits() {
    check(&Batch::boundary(64, &[5, 1 << 40]), &Gate::full_predicates(64).unwrap(), &full(64));
    check(&Batch::boundary(64, &[]), &Gate::sign_predicates(64).unwrap(), &sign(64));
    for f in [1, 6, 7, 8, 12, 31, 32, 63] {
        check(&Batch::boundary(64, &[1 << f]), &Gate::low_predicates(64, f).unwrap(), &low(f));
    }
}

#[test]
fn bits_of_an_input_above_the_ring_change_no_predicate() {
    let mut batch = Batch::exhaustive(7);
    batch.x_hat.iter_mut().for_each(|x_hat| *x_hat |= 0x5a80);
    check(&batch, &Gate::full_predicates(7).unwrap(), &full(7));
    check(&batch, &Gate::sign_predicates(7).unwrap(), &sign(7));
    check(&batch, &Gate::low_predicates(7, 3).unwrap(), &low(3));
}

#[test]
fn shares_of_one_party_or_of_other_shapes_are_not_added_up() {
    let q = runtime::cpu().unwrap();
    let shares = |count: u64, predicates: &[Predicate]| {
        let batch = Batch::product(8, 0..count, &[3]);
        batch.shares(&q, &Gate::sign_predicates(8).unwrap(), Task::PredicateBits(predicates)).map(bits)
    };
    let one_row = [Predicate::NonNegative];
    let ([zero, one], [again, _]) = (shares(5, &one_row), shares(5, &one_row));
    assert_eq!(zero.reveal(&one).unwrap(), [true; 5]);
    for (mine, theirs, party) in [(&zero, &again, Party::Zero), (&one, &one, Party::One)] {
        let refused = mine.reveal(theirs).unwrap_err();
        assert_eq!(refused, PfssError::WrongParty { expected: party.peer(), got: party });
    }
    let [_, six] = shares(6, &one_row);
    assert_eq!(zero.reveal(&six).unwrap_err(), PfssError::Length { what: "elements", expected: 5, got: 6 });
    let [_, rows] = shares(5, &[Predicate::NonNegative, Predicate::Borrow]);
    assert_eq!(zero.reveal(&rows).unwrap_err(), PfssError::Length { what: "words of bits", expected: 1, got: 2 });
}

#[test]
fn a_signed_comparison_is_exact_on_its_range_and_refused_beyond() {
    let q = runtime::cpu().unwrap();
    let ring = Ring::new(8).unwrap();
    let range = SignedRange::new(-64, 63).unwrap();
    let masks: Vec<u64> = (0..256).collect();
    let batch = Batch::product(8, (-64..64i64).map(|x| x as u64), &masks);
    for beta in [-64, -63, -1, 0, 1, 63, 64] {
        let predicate = Predicate::signed_lt(ring, range, beta).unwrap();
        let predicates = [predicate];
        let task = Task::PredicateBits(&predicates);
        let [a, b] = batch.shares(&q, &Gate::sign_predicates(8).unwrap(), task).map(bits);
        let held = a.reveal(&b).unwrap();
        assert!(batch.x.iter().zip(held).all(|(&x, bit)| bit == (ring.signed(x) < beta)));
    }
    for beta in [-65, 65, i64::MAX, i64::MIN] {
        assert!(Predicate::signed_lt(ring, range, beta).is_err(), "{beta}");
    }
}

#[test]
fn constants_outside_the_ring_and_foreign_predicates_are_refused() {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(3);
    let mut refused = |gate: &Gate, predicate: Predicate| {
        let [bundle, _] = dealer.deal(&q, gate, 1).unwrap();
        bundle.with_open_inputs().unwrap().eval(&q, Task::PredicateBits(&[predicate]), &[0]).unwrap_err()
    };
    let full = Gate::full_predicates(8).unwrap();
    let constant = |bits, got| PfssError::Constant { index: 0, bits, got };
    assert_eq!(refused(&full, Predicate::Lt { beta: 256 }), constant(8, 256));
    assert_eq!(refused(&Gate::sign_predicates(8).unwrap(), Predicate::Msb { c: 256 }), constant(8, 256));
    assert_eq!(refused(&Gate::low_predicates(8, 3).unwrap(), Predicate::LowLt { gamma: 8 }), constant(3, 8));
    let interval = |start, end| Predicate::Interval(Interval { start, end });
    assert_eq!(refused(&full, interval(3, Some(3))), PfssError::EmptyInterval { index: 0, start: 3, end: 3 });
    assert_eq!(refused(&full, interval(3, Some(256))), constant(8, 256));
    let (expected, got) = (GateKind::SignPredicates, GateKind::FullPredicates);
    assert_eq!(refused(&full, Predicate::NonNegative), PfssError::PredicateKind { index: 0, expected, got });
    let (expected, got) = (GateKind::FullPredicates, GateKind::Relu);
    assert_eq!(refused(&Gate::relu(8).unwrap(), Predicate::Wrap), PfssError::PredicateKind { index: 0, expected, got });

    // a masked bit for each predicate, and an input for each element
    let mut refused = |gate: &Gate, task: Task<'_>, x_hat: &[u64]| {
        let [bundle, _] = dealer.deal(&q, gate, 1).unwrap();
        bundle.with_open_inputs().unwrap().eval(&q, task, x_hat).unwrap_err()
    };
    let length = |what, expected, got| PfssError::Length { what, expected, got };
    let (two, all) = (full.clone().with_masks(2).unwrap(), [Predicate::Wrap; 3]);
    for got in [0, 1, 3] {
        assert_eq!(refused(&two, Task::Predicates(&all[..got]), &[0]), length("predicates", 2, got));
    }
    assert_eq!(refused(&Gate::relu(8).unwrap(), Task::Predicates(&all), &[0]), length("predicates", 0, 3));
    for task in [Task::Predicates(&all), Task::PredicateBits(&all)] {
        assert_eq!(refused(&full, task, &[0, 0]), length("elements", 1, 2));
    }
    let (powers, intervals) = (Gate::interval_powers(8, 1).unwrap(), [(0, 5), (3, 3)]);
    let intervals = intervals.map(|(start, end)| Interval { start, end: Some(end) });
    let empty = PfssError::EmptyInterval { index: 1, start: 3, end: 3 };
    assert_eq!(refused(&powers, Task::IntervalPowers(&intervals), &[0]), empty);
}

#[test]
fn interval_powers_are_exact_for_every_input_and_mask() {
    let q = runtime::cpu().unwrap();
    let interval = |start, end| Interval { start, end };
    let check = |batch: &Batch, degree: u32, intervals: &[Interval]| {
        let gate = Gate::interval_powers(batch.ring.bits(), degree).unwrap();
        let mut shares = batch.run(&q, &gate, Task::IntervalPowers(intervals)).into_iter();
        for &Interval { start, end } in intervals {
            for j in 0..=degree {
                for (&x, &r) in batch.x.iter().zip(&batch.r) {
                    let inside = start <= x && end.is_none_or(|end| x < end);
                    let power = (0..j).fold(1, |power, _| batch.ring.mul(power, batch.ring.neg(r)));
                    assert_eq!(shares.next(), Some(if inside { power } else { 0 }), "x = {x:#x}, r = {r:#x}, j = {j}");
                }
            }
        }
        assert_eq!(shares.next(), None);
    };
    let batch = Batch::exhaustive(6);
    let intervals =
        [interval(0, None), interval(0, Some(1)), interval(1, Some(32)), interval(32, None), interval(63, None)];
    for degree in [0, 1, 2, 3] {
        check(&batch, degree, &intervals);
    }
    let intervals = [interval(0, None), interval(0, Some(128)), interval(129, Some(255)), interval(255, None)];
    check(&Batch::exhaustive(8), 2, &intervals);
    check(&Batch::exhaustive(1), 7, &[interval(0, Some(1)), interval(1, None)]);
    let wide = [interval(0, None), interval(1 << 63, None), interval(5, Some(u64::MAX)), interval(u64::MAX, None)];
    check(&Batch::boundary(64, &[5]), 2, &wide);
}
