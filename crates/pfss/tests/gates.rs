//! Gates against plain arithmetic: every input under every mask of a small ring, and corners of the widest ring.

use std::time::Duration;

use crate::common::{Batch, WORDS, add, both, pending, words};
use backend_api::ops::fss::FssOps;
use pfss::{
    BundleError, Dealer, Gate, GateKind, Interval, KeyBundle, PfssError, RangeError, Ring, Session, SignedRange, Task,
    batch::{Class, GateChain},
    eval_lockstep, memory_pair, run_lockstep,
};

/// Compares each result with the plain function of its input.
fn check<Q: FssOps>(q: &Q, batch: &Batch, gate: &Gate, task: Task<'_>, plain: impl Fn(u64) -> u64) {
    let (got, what, n) = (batch.run(q, gate, task), gate.kind(), gate.n());
    assert_eq!(got.len(), batch.x.len(), "{what}");
    for ((&x, &r), &got) in batch.x.iter().zip(&batch.r).zip(&got) {
        assert_eq!(got, plain(x), "{what} of {n} bits: x = {x:#x}, r = {r:#x}");
    }
}

#[test]
fn relu_is_exact_for_every_input_and_mask() {
    let q = runtime::cpu().unwrap();
    for n in [2, 5, 8, 9] {
        let batch = Batch::exhaustive(n);
        let plain = |x| if batch.ring.msb(x) == 1 { 0 } else { x };
        check(&q, &batch, &Gate::relu(n).unwrap(), Task::Relu, plain);
    }
    let batch = Batch::boundary(64, &[12345]);
    check(&q, &batch, &Gate::relu(64).unwrap(), Task::Relu, |x| (x as i64).max(0) as u64);
}

#[test]
fn relu_of_a_proven_range_is_exact_with_keys_of_its_own_width() {
    let q = runtime::cpu().unwrap();
    let all: Vec<u64> = (0..256).collect();
    for k in 2..=8u32 {
        let range = SignedRange::of_bits(k);
        let batch = Batch::product(8, (range.min()..=range.max()).map(|x| x as u64), &all);
        let gate = Gate::relu_within(8, k).unwrap();
        check(&q, &batch, &gate, Task::ReluWithin(range), |x| batch.ring.signed(x).max(0) as u64);
    }
    for k in [2u32, 9, 22, 63] {
        let range = SignedRange::of_bits(k);
        let inputs = [range.min(), range.min() + 1, -1, 0, 1, range.max()].map(|x| x as u64);
        let masks = [0, 1, 1 << 63, u64::MAX, 1 << (k - 1), (1u64 << (k - 1)).wrapping_neg(), 0x0123_4567_89ab_cdef];
        let batch = Batch::product(64, inputs, &masks);
        let gate = Gate::relu_within(64, k).unwrap();
        check(&q, &batch, &gate, Task::ReluWithin(range), |x| (x as i64).max(0) as u64);
    }
    let deal = || Dealer::insecure_from_seed(2).deal(&q, &Gate::relu_within(64, 22).unwrap(), 1).unwrap();
    let overflow = |end| PfssError::Range(RangeError::Overflow { bits: 22, end });
    let [zero, one] = deal();
    assert_eq!(zero.with_open_inputs().unwrap().eval(&q, Task::Relu, &[0]).unwrap_err(), overflow(i64::MIN.into()));
    assert_eq!(one.with_open_inputs().unwrap().eval(&q, Task::Abs, &[0]).unwrap_err(), overflow(i64::MIN.into()));
    let wide = SignedRange::new(0, 1 << 21).unwrap();
    let [zero, _] = deal();
    assert_eq!(zero.with_open_inputs().unwrap().eval(&q, Task::ReluWithin(wide), &[0]).unwrap_err(), overflow(1 << 21));
    assert_eq!(Gate::relu_within(64, 22).unwrap().cost().aes, 14);
}

#[test]
fn truncation_is_faithful_for_every_input_and_mask() {
    let q = runtime::cpu().unwrap();
    let check_by = |batch: &Batch, f: u32| {
        let gate = Gate::truncate_reduce(batch.ring.bits(), f).unwrap();
        check(&q, batch, &gate, Task::TruncateReduce, |x| x >> f);
    };
    for f in 1..8 {
        check_by(&Batch::exhaustive(8), f);
    }
    check_by(&Batch::exhaustive(9), 8);
    for f in [1, 6, 7, 8, 12, 31, 32, 63] {
        check_by(&Batch::boundary(64, &[1 << f]), f);
    }
}

/// Every shift that is exact for all inputs.
fn check_shifts<Q: FssOps>(q: &Q, batch: &Batch, f: u32) {
    let (ring, n) = (batch.ring, batch.ring.bits());
    check(q, batch, &Gate::lrs(n, f).unwrap(), Task::Lrs, |x| x >> f);
    check(q, batch, &Gate::ars(n, f).unwrap(), Task::Ars, |x| ring.reduce((ring.signed(x) >> f) as u64));
    check(q, batch, &Gate::relu_ars(n, f).unwrap(), Task::ReluArs, |x| (ring.signed(x).max(0) >> f) as u64);
}

#[test]
fn exact_shifts_hold_for_every_input_and_mask() {
    let q = runtime::cpu().unwrap();
    for f in 1..8 {
        check_shifts(&q, &Batch::exhaustive(8), f);
    }
    check_shifts(&q, &Batch::exhaustive(2), 1);
    check_shifts(&q, &Batch::exhaustive(9), 8);
    for f in [1, 6, 7, 8, 12, 31, 32, 63] {
        check_shifts(&q, &Batch::boundary(64, &[1 << f, (1 << 63) | (1 << f), 3 << 62]), f);
    }
}

#[test]
fn tables_are_read_at_every_input_under_every_mask() {
    let q = runtime::cpu().unwrap();
    for (n, out) in [(1, 1), (3, 64), (7, 5), (8, 64), (8, 13)] {
        let ring = Ring::new(out).unwrap();
        let table: Vec<u64> = words(1 << n, 7).into_iter().map(|word| ring.reduce(word)).collect();
        check(&q, &Batch::exhaustive(n), &Gate::lut(n, out).unwrap(), Task::Lut(&table), |x| table[x as usize]);
    }
    let table: Vec<u64> = (0..1u64 << 13).map(|i| i * i).collect();
    // more elements than are gone through at once
    let batch = Batch::product(13, (0..8192).step_by(9), &[0, 1, 4095, 4096, 8191]);
    check(&q, &batch, &Gate::lut(13, 64).unwrap(), Task::Lut(&table), |x| x * x);
}

#[test]
fn bits_of_an_input_above_the_ring_change_no_result() {
    let q = runtime::cpu().unwrap();
    for n in [9, 63] {
        let mut batch = Batch::boundary(n, &[300]);
        let ring = batch.ring;
        let above = words(batch.x_hat.len(), n.into());
        batch.x_hat.iter_mut().zip(above).for_each(|(x_hat, word)| *x_hat |= word << n);
        let relu = Gate::relu(n).unwrap();
        check(&q, &batch, &relu, Task::Relu, |x| ring.signed(x).max(0) as u64);
        check(&q, &batch, &relu, Task::Abs, |x| ring.reduce(ring.signed(x).unsigned_abs()));
        check(&q, &batch, &Gate::truncate_reduce(n, 4).unwrap(), Task::TruncateReduce, |x| x >> 4);
        check_shifts(&q, &batch, 4);
    }
    let mut batch = Batch::exhaustive(5);
    batch.x_hat.iter_mut().for_each(|x_hat| *x_hat |= 0xa5a0);
    let table: Vec<u64> = (0..32).map(|i| i * i + 7).collect();
    check(&q, &batch, &Gate::lut(5, 11).unwrap(), Task::Lut(&table), |x| table[x as usize]);
    let (powers, interval) = (Gate::interval_powers(5, 0).unwrap(), [Interval { start: 5, end: Some(20) }]);
    check(&q, &batch, &powers, Task::IntervalPowers(&interval), |x| u64::from((5..20).contains(&x)));
    let range = SignedRange::new(-128, 127).unwrap();
    let cert = range.gap_cert(9).unwrap();
    let mut batch = Batch::product(9, (-128i64..128).map(|x| x as u64), &[0, 1, 200, 256, 511]);
    batch.x_hat.iter_mut().for_each(|x_hat| *x_hat |= 0xa5a0_0000);
    let plain = |x| batch.ring.reduce((batch.ring.signed(x) >> 3) as u64);
    check(&q, &batch, &Gate::gap_ars(9, 3).unwrap(), Task::GapArs(cert), plain);
}

#[test]
fn tables_of_another_size_or_ring_are_refused() {
    let q = runtime::cpu().unwrap();
    for (n, out, got) in [(0, 8, 0), (14, 8, 14), (8, 0, 0), (8, 65, 65)] {
        assert!(matches!(Gate::lut(n, out), Err(PfssError::RingWidth { got: g, .. }) if g == got));
    }
    let mut dealer = Dealer::insecure_from_seed(1);
    let mut refused = |table: &[u64]| {
        let [bundle, _] = dealer.deal(&q, &Gate::lut(3, 8).unwrap(), 1).unwrap();
        bundle.with_open_inputs().unwrap().eval(&q, Task::Lut(table), &[1]).unwrap_err()
    };
    assert_eq!(refused(&[0; 7]), PfssError::Length { what: "words of the table", expected: 8, got: 7 });
    assert_eq!(refused(&[0, 0, 256, 0, 0, 0, 0, 0]), PfssError::Constant { index: 2, bits: 8, got: 256 });
    let [bundle, _] = dealer.deal(&q, &Gate::lut(3, 8).unwrap(), 1).unwrap();
    let step = bundle.with_open_inputs().unwrap().eval(&q, Task::Lut(&[7; 8]), &[1]).unwrap();
    let refused = pending(step).finish(&q, &[0]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "masked words", expected: 1, got: 0 });
}

#[test]
fn the_absolute_value_is_exact_for_every_input_and_mask() {
    let q = runtime::cpu().unwrap();
    for batch in [Batch::exhaustive(2), Batch::exhaustive(8), Batch::boundary(64, &[12345])] {
        let (ring, relu) = (batch.ring, Gate::relu(batch.ring.bits()).unwrap());
        check(&q, &batch, &relu, Task::Abs, |x| ring.signed(x).unsigned_abs());
    }
}

#[test]
fn the_gap_shift_is_exact_on_the_whole_admissible_range() {
    let q = runtime::cpu().unwrap();
    for (n, f) in [(3, 1), (10, 8)].into_iter().chain((1..=6).map(|f| (8, f))) {
        let quarter = 1i64 << (n - 2);
        let cert = SignedRange::new(-quarter, quarter - 1).unwrap().gap_cert(n).unwrap();
        let masks: Vec<u64> = (0..1 << n).collect();
        let batch = Batch::product(n, (-quarter..quarter).map(|x| x as u64), &masks);
        let ring = batch.ring;
        for gate in in_two_rounds_and_in_one(Gate::gap_ars(n, f).unwrap()) {
            check(&q, &batch, &gate, Task::GapArs(cert), |x| ring.reduce((ring.signed(x) >> f) as u64));
        }
    }
    for f in [1, 6, 7, 8, 12, 31, 32, 62] {
        let quarter = 1i64 << 62;
        let cert = SignedRange::new(-quarter, quarter - 1).unwrap().gap_cert(64).unwrap();
        let inside = [-quarter, -quarter + 1, -1, 0, 1, quarter - 1, 1 << (f - 1), -(1 << (f - 1)), 1 << 61];
        let masks =
            [0, 1, 1 << 62, 1 << 63, 3 << 62, u64::MAX, u64::MAX >> 1, (1 << 62) - 1, 1 << f, 0x0123_4567_89ab_cdef];
        let batch = Batch::product(64, inside.map(|x| x as u64), &masks);
        for gate in in_two_rounds_and_in_one(Gate::gap_ars(64, f).unwrap()) {
            check(&q, &batch, &gate, Task::GapArs(cert), |x| ((x as i64) >> f) as u64);
        }
    }
}

/// Both forms of a gap shift: with an opened carry, and with a carry from a payload.
fn in_two_rounds_and_in_one(gate: Gate) -> [Gate; 2] {
    let one = gate.clone().in_one_round().unwrap();
    assert_eq!([gate.cost().rounds, one.cost().rounds], [2, 1]);
    [gate, one]
}

#[test]
fn the_gap_shift_into_a_wider_ring_is_exact_on_the_whole_admissible_range() {
    let q = runtime::cpu().unwrap();
    let check_to = |n: u32, f: u32, out: u32, xs: Vec<i64>, masks: &[u64]| {
        let (quarter, wide) = (1i64 << (n - 2), Ring::new(out).unwrap());
        let cert = SignedRange::new(-quarter, quarter - 1).unwrap().gap_cert(n).unwrap();
        let batch = Batch::product(n, xs.into_iter().map(|x| x as u64), masks);
        for gate in in_two_rounds_and_in_one(Gate::gap_ars_to(n, f, out).unwrap()) {
            check(&q, &batch, &gate, Task::GapArs(cert), |x| wide.reduce((batch.ring.signed(x) >> f) as u64));
        }
    };
    let masks: Vec<u64> = (0..256).collect();
    for f in 1..=6 {
        for out in (8..=16).chain([64]) {
            check_to(8, f, out, (-64..64).collect(), &masks);
        }
    }
    check_to(3, 1, 64, (-2..2).collect(), &masks[..8]);
    for f in [1, 6, 7, 8, 12, 31, 41] {
        let quarter = 1i64 << 41;
        let inside = [-quarter, 1 - quarter, -1, 0, 1, quarter - 1, 1 << (f - 1), -(1 << (f - 1)), 1 << 40];
        let masks =
            [0, 1, 1 << 41, 1 << 42, 3 << 41, (1 << 43) - 1, (1 << 42) - 1, (1 << 41) - 1, 1 << f, 0x2_3456_789a];
        for out in [43, 44, 63, 64] {
            check_to(43, f, out, inside.to_vec(), &masks);
        }
    }
}

#[test]
fn a_widening_shift_opens_the_bits_of_its_input_and_gives_words_of_its_output() {
    let (gate, range) = (Gate::gap_ars_to(43, 12, 64).unwrap(), SignedRange::of_bits(42));
    assert_eq!((gate.n(), gate.out_ring().bits(), gate.f()), (43, 64, 12));
    let x = [range.min(), -4097, -1, 4096, range.max()].map(|x| x as u64);
    let zeros = [0; 5];
    let bundles = Dealer::from_os().unwrap().deal(&runtime::cpu().unwrap(), &gate, x.len()).unwrap();
    // The header names the wider ring.
    let bytes = bundles[1].to_bytes();
    assert_eq!(bytes[18..20], [0, 64]);
    assert_eq!(KeyBundle::from_bytes(&bytes).unwrap().gate(), &gate);
    let with = |width: u8| {
        let mut changed = bytes.to_vec();
        changed[19] = width;
        KeyBundle::from_bytes(&changed).unwrap_err()
    };
    assert_eq!(with(43), BundleError::Field { field: "output width", expected: 0, got: 43 });
    assert!(matches!(with(0), BundleError::Digest { what: "gate", .. }));
    assert!(matches!(with(63), BundleError::Digest { what: "gate", .. }));
    assert!(matches!((with(42), with(65)), (BundleError::Gate { .. }, BundleError::Gate { .. })));
    // Shares of 43 bits are opened, and shares of 64 bits are left.
    let [zero, one] = both(bundles, |mut session, party, bundle| {
        let (q, cert) = (runtime::cpu().unwrap(), range.gap_cert(43).unwrap());
        let mine = if party == 0 { &x } else { &zeros };
        let words = session.run(&q, Task::GapArs(cert), bundle, mine).unwrap().words;
        assert_eq!((session.traffic().sent_bytes, session.traffic().rounds), gate.traffic(x.len()));
        words
    });
    assert_eq!(add(WORDS, [&zero, &one]), x.map(|x| ((x as i64) >> 12) as u64));
}

#[test]
fn products_are_exact_for_every_pair_of_factors() {
    let q = runtime::cpu().unwrap();
    let check_under = |n: u32, x: &[u64], y: &[u64], masks: &[u64]| {
        let ring = Ring::new(n).unwrap();
        let gate = Gate::product(n).unwrap();
        let [zero, one] = Dealer::insecure_from_seed(5).insecure_deal_for_masks(&q, &gate, masks).unwrap();
        let (mine, zero) = zero.mask_factors(x, y).unwrap();
        let zeros = vec![0; x.len()]; // party 1's shares of the factors
        let (theirs, one) = one.mask_factors(&zeros, &zeros).unwrap();
        let opened = add(WORDS, [&mine, &theirs]); // unreduced sums
        let [a, b] = eval_lockstep(&q, Task::Product, [zero, one], &opened).unwrap().map(|shares| shares.words);
        for (e, (&x, &y)) in x.iter().zip(y).enumerate() {
            assert_eq!(ring.add(a[e], b[e]), ring.mul(x, y), "{n} bits: {x:#x} * {y:#x}");
        }
    };
    let check = |n: u32, x: &[u64], y: &[u64]| check_under(n, x, y, &words(x.len(), n.into()));
    let (x, y): (Vec<u64>, Vec<u64>) = (0..1u64 << 16).map(|at| (at & 255, at >> 8)).unzip();
    check(8, &x, &y);
    // every factor under every mask, times some other factor
    let other: Vec<u64> = x.iter().zip(&y).map(|(x, y)| (x * 7 + y * 13 + 5) & 255).collect();
    check_under(8, &x, &other, &y);
    check(1, &[0, 0, 1, 1], &[0, 1, 0, 1]);
    let corners = [0, 1, 3, (1 << 63) - 1, 1 << 63, u64::MAX];
    let (x, y): (Vec<u64>, Vec<u64>) = corners.iter().flat_map(|&x| corners.map(|y| (x, y))).unzip();
    check(64, &x, &y);

    let [bundle, other] = Dealer::insecure_from_seed(5).deal(&q, &Gate::product(8).unwrap(), 3).unwrap();
    let refused = bundle.mask_factors(&[1, 2, 3], &[1]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 3, got: 1 });
    let refused = other.with_open_inputs().unwrap().eval(&q, Task::Product, &[1, 2, 3]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "factors", expected: 6, got: 3 });
}

#[test]
fn the_gap_shift_is_wrong_outside_its_range() {
    // The reason why the certificate is demanded: there are masks for which the result is off by 2^(n-f).
    let q = runtime::cpu().unwrap();
    let cert = SignedRange::new(-64, 63).unwrap().gap_cert(8).unwrap();
    let masks: Vec<u64> = (0..256).collect();
    for outside in [65, -65i64 as u64] {
        let batch = Batch::product(8, [outside], &masks);
        let gate = Gate::gap_ars(8, 3).unwrap();
        let got = batch.run(&q, &gate, Task::GapArs(cert));
        let right = batch.ring.reduce((batch.ring.signed(batch.x[0]) >> 3) as u64);
        let wrong: Vec<u64> = got.into_iter().filter(|&y| y != right).collect();
        assert!(!wrong.is_empty());
        assert!(wrong.iter().all(|&y| batch.ring.sub(y, right) == 32 || batch.ring.sub(right, y) == 32));
    }
}

#[test]
fn batches_of_every_ragged_size_are_exact() {
    let q = runtime::cpu().unwrap();
    for count in [0, 1, 31, 32, 33, 255, 256, 257] {
        let batch = Batch::product(64, words(count, 1), &words(1, 2));
        check(&q, &batch, &Gate::relu(64).unwrap(), Task::Relu, |x| (x as i64).max(0) as u64);
    }
}

#[test]
fn keys_of_another_gate_ring_or_size_are_refused() {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(1);
    let mut one = |gate: &Gate| dealer.deal(&q, gate, 2).unwrap().into_iter().next().unwrap();
    let relu = Gate::relu(16).unwrap();
    let shift = Gate::gap_ars(16, 4).unwrap();
    let cert = SignedRange::new(-4, 4).unwrap().gap_cert(16).unwrap();
    let foreign = SignedRange::new(-4, 4).unwrap().gap_cert(17).unwrap();

    // a certificate for the ring of the result says nothing about the input
    let (widened, wide) = (Gate::gap_ars_to(16, 4, 64).unwrap(), SignedRange::of_bits(63).gap_cert(64).unwrap());
    let kind = |expected, got| PfssError::Kind { expected, got };
    let width = |got| PfssError::CertWidth { expected: 16, got };
    let length = |got| PfssError::Length { what: "elements", expected: 2, got };
    for (gate, task, x_hat, refused) in [
        (&relu, Task::GapArs(cert), &[1, 2][..], kind(GateKind::GapArs, GateKind::Relu)),
        (&shift, Task::GapArs(foreign), &[1, 2], width(17)),
        (&widened, Task::GapArs(wide), &[1, 2], width(64)),
        (&widened, Task::Ars, &[1, 2], kind(GateKind::Ars, GateKind::GapArs)),
        (&relu, Task::Product, &[1, 2], kind(GateKind::Product, GateKind::Relu)),
        (&relu, Task::Relu, &[], length(0)),
        (&relu, Task::Relu, &[1], length(1)),
        (&relu, Task::Relu, &[1, 2, 3], length(3)),
    ] {
        assert_eq!(one(gate).with_open_inputs().unwrap().eval(&q, task, x_hat).unwrap_err(), refused);
    }
    let step = one(&relu).with_open_inputs().unwrap().eval(&q, Task::Relu, &[1, 2]).unwrap();
    let refused = pending(step).finish(&q, &[0, 0]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "words of masked bits", expected: 1, got: 2 });

    // the ring of a certificate counts in every way to run a task
    let mut session = Session::new(memory_pair(Duration::from_secs(1)).0);
    let task = Task::GapArs(foreign);
    assert_eq!(session.run(&q, task, one(&shift), &[1, 2]).unwrap_err(), width(17));
    let keys = one(&shift).with_open_inputs().unwrap();
    assert_eq!(session.eval(&q, task, keys, &[1, 2]).unwrap_err(), width(17));
    let chain = GateChain::on(vec![1, 2]).then(Class::Trunc, task, one(&shift));
    assert_eq!(chain.unwrap_err(), width(17));
    let bundles = dealer.deal(&q, &shift, 2).unwrap();
    assert_eq!(run_lockstep(&q, task, bundles, [&[1, 2], &[3, 4]]).unwrap_err(), width(17));
    assert_eq!(session.traffic().rounds, 0);
}

#[test]
fn the_two_parties_hold_equal_corrections_and_one_of_them_a_seed() {
    let q = runtime::cpu().unwrap();
    let bundles = Dealer::from_os().unwrap().deal(&q, &Gate::relu(64).unwrap(), 40).unwrap();
    assert_eq!(bundles[0].nonce(), bundles[1].nonce());
    let names =
        bundles.each_ref().map(|bundle| bundle.sections().iter().map(|section| section.name).collect::<Vec<_>>());
    assert_eq!(names[0], ["seed", "correction words", "leaves"]);
    assert_eq!(names[1], ["roots", "correction words", "leaves", "additive shares", "xor shares"]);
    let [zero, one] = bundles.each_ref().map(|bundle| {
        let bytes = bundle.to_bytes();
        let section = |at: usize| {
            let section = &bundle.sections()[at];
            bytes[section.offset as usize..][..section.bytes as usize].to_vec()
        };
        [0, 1, 2].map(section)
    });
    assert_eq!(zero[1..], one[1..]);
    assert_eq!([zero[0].len(), zero[1].len(), zero[2].len(), one[0].len()], [32, 16 * 55 * 64, 16 * 2 * 64, 16 * 64]);
    // party 1's roots differ from each other and from the seed
    let roots: std::collections::HashSet<&[u8]> = one[0].chunks(16).chain(zero[0].chunks(16)).collect();
    assert_eq!(roots.len(), 64 + 2);
}

#[test]
fn masks_of_the_operating_system_are_fresh_for_each_element_and_each_deal() {
    let q = runtime::cpu().unwrap();
    let (gate, zeros) = (Gate::interval_powers(64, 1).unwrap(), [0u64; 32]);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..4 {
        let whole = [Interval { start: 0, end: None }];
        let bundles = Dealer::from_os().unwrap().deal(&q, &gate, 32).unwrap();
        let keys = bundles.map(|bundle| bundle.with_open_inputs().unwrap());
        let shares = eval_lockstep(&q, Task::IntervalPowers(&whole), keys, &zeros).unwrap();
        let powers = add(WORDS, shares.each_ref().map(|shares| &shares.words[..]));
        // the second power row is -r
        assert!(powers[32..64].iter().all(|&power| seen.insert(power)));
    }
}
