//! Elementary functions on shares: bit for bit the public fixed-point function, in every mode and over channels.

use crate::common::{WORDS, both, open, share};
use pfss::{
    Dealer, Gate, KeyBundle, Party, PfssError, RangeError, SignedRange,
    functions::{
        Accuracy, FixedFn, FixedGates, TableBundles, TableFn, TableGates, gelu, neg_exp, reciprocal, rsqrt,
        run_function_lockstep, run_table_lockstep, silu,
    },
    suf::{CoeffMode, SufModes},
};

/// Inputs all over the admissible range, every start of a piece and its neighbours among them.
fn inputs(f: &FixedFn) -> Vec<i64> {
    let range = f.inputs();
    let starts = f.desc().pieces().iter().flat_map(|piece| [-1, 0, 1].map(|d| (piece.start as i64).wrapping_add(d)));
    let ends = [range.min(), range.max(), 0, 1, -1, 4096, 5000, -5000, 12345, 65_536, 100_000];
    starts.chain(ends).filter(|x| (range.min()..=range.max()).contains(x)).collect()
}

fn all() -> Vec<(&'static str, FixedFn)> {
    vec![
        ("gelu", gelu(Accuracy::CUBIC_16).unwrap()),
        ("gelu", gelu(Accuracy::QUADRATIC_32).unwrap()),
        ("silu", silu(Accuracy::CUBIC_16).unwrap()),
        ("neg exp", neg_exp(Accuracy::CUBIC_16).unwrap()),
        ("gelu of 20 bits", gelu(Accuracy::new(2, 16).with_fraction_bits(20)).unwrap()),
        ("neg exp of 8 bits", neg_exp(Accuracy::new(3, 8).with_fraction_bits(8)).unwrap()),
        ("rsqrt of 16 bits", rsqrt(Accuracy::new(3, 2).with_fraction_bits(16), 20).unwrap()),
        ("reciprocal", reciprocal(Accuracy::LINEAR_HALF_OCTAVE, 20).unwrap()),
        ("reciprocal", reciprocal(Accuracy::CUBIC_QUARTER_OCTAVE, 12).unwrap()),
        ("rsqrt", rsqrt(Accuracy::LINEAR_HALF_OCTAVE, 12).unwrap()),
    ]
}

#[test]
fn shares_are_those_of_the_public_function_in_every_mode() {
    for (name, f) in all() {
        let values = inputs(&f);
        let plain: Vec<i64> = values.iter().map(|&x| f.eval(x)).collect();
        for coeffs in [CoeffMode::MaskedSelect, CoeffMode::IntervalLut, CoeffMode::StepDcf] {
            let gates = f.gates(SufModes { coeffs, ..SufModes::default() }).unwrap();
            assert_eq!(by_spline(&gates, &values), plain, "{name}, {coeffs:?}");
            // the shift in one round
            let fewer = gates.clone().in_one_round().unwrap();
            assert_eq!(fewer.cost().rounds, gates.cost().rounds - 1, "{name}, {coeffs:?}");
            assert_eq!(by_spline(&fewer, &values), plain, "{name}, {coeffs:?}, in one round");
        }
    }
}

#[test]
fn a_result_has_as_many_fraction_bits_as_asked_for_or_none() {
    // 26 bits are what two linear factors of 12 bits leave, 62 are one more than any function has
    for bits in [0, 12, 25, 26, 27, 40, 58] {
        let accuracy = Accuracy::LINEAR_HALF_OCTAVE;
        for (f, root) in [(reciprocal(accuracy, bits).unwrap(), 1), (rsqrt(accuracy, bits).unwrap(), 2)] {
            let values: Vec<i64> = (0..60).map(|i| 4096 + i * 17_000).collect();
            for &x in &values {
                let real = (x as f64 / 4096.0).powf(-1.0 / f64::from(root));
                let got = f.eval(x) as f64 / 2f64.powi(bits as i32);
                assert!((got - real).abs() < 0.021 + 2f64.powi(-(bits as i32)), "{bits} bits, {x}: {got} for {real}");
            }
            let gates = f.gates(SufModes::default()).unwrap();
            assert_eq!(by_spline(&gates, &values), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>());
        }
    }
    for bits in [62, 63, 64, 1 << 31, u32::MAX] {
        let refused = reciprocal(Accuracy::LINEAR_HALF_OCTAVE, bits).unwrap_err();
        let end = 1 << bits.min(126);
        assert_eq!(refused, PfssError::Range(RangeError::Overflow { bits: 64, end }), "{bits}");
    }
}

#[test]
fn a_function_over_channels_sends_what_its_cost_says() {
    let q = runtime::cpu().unwrap();
    let f = gelu(Accuracy::CUBIC_16).unwrap();
    let values: Vec<i64> = (-50..50).map(|i| i * 400).collect();
    let (x, gates) = (share(WORDS, &values), f.gates(SufModes::default()).unwrap());
    let bundles = Dealer::insecure_from_seed(3).deal_function(&q, &gates, 100).unwrap();
    let [a, b] = both(bundles, |mut session, party, bundles| {
        (session.function(&q, &gates, bundles, &x[party]).unwrap(), session.traffic())
    });
    assert_eq!(open(WORDS, [&a.0, &b.0]), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>());
    let cost = gates.cost();
    // 16 fitted pieces, the first of them without an opening, two tails, and the carry of the shift
    assert_eq!((cost.masked_bits, cost.rounds), (17 + 1, 4));
    let bytes = 100 * cost.input_bits / 8 + 13 * cost.masked_bits + 16 * cost.rounds;
    assert_eq!((a.1.sent_bytes, a.1.rounds), (bytes, cost.rounds));
}

#[test]
fn a_proven_range_shrinks_the_keys_and_changes_no_value() {
    let f = neg_exp(Accuracy::CUBIC_16).unwrap();
    let values: Vec<i64> = (0..100).map(|i| i * 700).collect();
    let range = SignedRange::new(0, 100 * 700).unwrap();
    let (wide, narrow) = (f.gates(SufModes::default()).unwrap(), f.gates_within(SufModes::default(), range).unwrap());
    // 17 points in one window of 2^16, or in two of 2^15, and a far one
    let blocks = (2 * 48 + 17 * 9 + 57, 2 * 2 * 3 + 17 * 8 + 11);
    assert_eq!((wide.suf.cost().aes, narrow.suf.cost().aes), blocks);
    assert!(3 * narrow.suf.cost().key_bits < 2 * wide.suf.cost().key_bits);
    assert_eq!(by_spline(&narrow, &values), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>());
    let outside = SignedRange::new(-1, 5).unwrap();
    let refused = f.gates_within(SufModes::default(), outside).unwrap_err();
    assert!(matches!(refused, PfssError::Range(RangeError::Outside { inner: (-1, 5), .. })));
}

/// Inputs next to both ends of a range, and around zero.
fn ends(range: SignedRange) -> Vec<i64> {
    let near = [range.min(), range.min() + 1, range.max() - 1, range.max(), -5000, -1, 0, 1, 5000];
    near.into_iter().filter(|x| (range.min()..=range.max()).contains(x)).collect()
}

#[test]
fn shifts_open_the_fewest_bits_that_a_proven_range_leaves_a_gap_in() {
    let f = gelu(Accuracy::QUADRATIC_32).unwrap();
    // Scaled by 2^26: the identity up to 2^24, 2^20 and 2^16, and values of at most 4 on the pieces alone.
    for (max, bits) in [((1 << 24) - 1, 52), (1 << 20, 49), (1 << 16, 45), (0, 42)] {
        let range = SignedRange::new(-(1 << 24), max).unwrap();
        let (gates, values) = (f.gates_within(SufModes::default(), range).unwrap(), ends(range));
        let shift = gates.shift.gate().unwrap();
        assert_eq!((shift.n(), shift.out_ring().bits()), (bits, 64), "{max}");
        assert_eq!(by_spline(&gates, &values), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>(), "{max}");
    }
}

#[test]
fn tables_open_the_fewest_bits_that_a_proven_range_leaves_a_gap_in() {
    let f = TableFn::gelu(12).unwrap();
    // Scaled by 2^7: the identity up to 2^24, 2^20 and 2^16, and values below 4 on the cells alone.
    for (max, bits) in [((1 << 24) - 1, 33), (1 << 20, 30), (1 << 16, 26), (0, 23)] {
        let range = SignedRange::new(-(1 << 24), max).unwrap();
        let gates = f.gates_within(range).unwrap();
        let [_, _, constants, slopes, product, shift] = gates.gates();
        assert_eq!([constants, slopes].map(|gate| gate.out_ring().bits()), [bits; 2], "{max}");
        assert_eq!([product.n(), shift.n(), shift.out_ring().bits()], [bits, bits, 64], "{max}");
        let values = ends(range);
        assert_eq!(by_table(&gates, &values), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>(), "{max}");
    }
}

#[test]
fn keys_of_another_function_are_refused() {
    let q = runtime::cpu().unwrap();
    let gates = |f: FixedFn| f.gates(SufModes::default()).unwrap();
    let (first, second) = (gates(gelu(Accuracy::CUBIC_16).unwrap()), gates(silu(Accuracy::CUBIC_16).unwrap()));
    let bundles = Dealer::insecure_from_seed(3).deal_function(&q, &first, 1).unwrap();
    assert_eq!(run_function_lockstep(&q, &second, bundles, [&[1], &[2]]).unwrap_err(), PfssError::Program);
    let [mut zero, one] = Dealer::insecure_from_seed(3).deal_function(&q, &first, 1).unwrap();
    zero.shift = None;
    assert_eq!(run_function_lockstep(&q, &first, [zero, one], [&[1], &[2]]).unwrap_err(), PfssError::Program);
}

#[test]
fn keys_from_a_source_are_read_when_their_gate_runs_and_refused_out_of_order() {
    let q = runtime::cpu().unwrap();
    let gates = gelu(Accuracy::CUBIC_16).unwrap().gates(SufModes::default()).unwrap();
    let (table, x) = (TableFn::gelu(12).unwrap().gates().unwrap(), [1, 2]);
    let deal = || {
        let mut dealer = Dealer::insecure_from_seed(3);
        let spline = dealer.deal_function(&q, &gates, 2).unwrap();
        let [zero, one] = spline.map(|bundles| vec![bundles.suf, bundles.shift.unwrap()]);
        let [table_zero, table_one] = dealer.deal_table_function(&q, &table, 2).unwrap().map(Vec::<KeyBundle>::from);
        [(zero, table_zero), (one, table_one)]
    };
    // keys of the last gate in place of the first gate's: nothing is sent
    let refused = both(deal(), |mut session, _, (mut spline, mut keys)| {
        let by_spline = session.function_from(&q, &gates, || spline.pop().ok_or(PfssError::OpenInputs), &x);
        let by_table = session.table_function_from(&q, &table, || keys.pop().ok_or(PfssError::OpenInputs), &x);
        (by_spline.unwrap_err(), by_table.unwrap_err(), session.traffic().rounds)
    });
    assert_eq!(refused, [(); 2].map(|()| (PfssError::Program, PfssError::Program, 0)));
    // keys of the first gate alone: it runs, and then the error of the source is returned
    let stopped = both(deal(), |mut session, _, (spline, keys)| {
        let (mut spline, mut keys) = (spline.into_iter().take(1), keys.into_iter().take(1));
        let by_spline = session.function_from(&q, &gates, || spline.next().ok_or(PfssError::OpenInputs), &x);
        let rounds = session.traffic().rounds;
        let by_table = session.table_function_from(&q, &table, || keys.next().ok_or(PfssError::OpenInputs), &x);
        (by_spline.unwrap_err(), rounds, by_table.unwrap_err(), session.traffic().rounds - rounds)
    });
    let [first, ..] = table.gates();
    let rounds = [gates.suf.cost().rounds, first.cost().rounds];
    assert_eq!(stopped, [(); 2].map(|()| (PfssError::OpenInputs, rounds[0], PfssError::OpenInputs, rounds[1])));
}

/// What shares compute by spline.
fn by_spline(gates: &FixedGates, values: &[i64]) -> Vec<i64> {
    let (q, x) = (runtime::cpu().unwrap(), share(WORDS, values));
    let bundles = Dealer::insecure_from_seed(3).deal_function(&q, gates, values.len()).unwrap();
    let [zero, one] = run_function_lockstep(&q, gates, bundles, [&x[0], &x[1]]).unwrap();
    open(WORDS, [&zero, &one])
}

/// What shares compute by table.
fn by_table(gates: &TableGates, values: &[i64]) -> Vec<i64> {
    let (q, x) = (runtime::cpu().unwrap(), share(WORDS, values));
    let bundles = Dealer::insecure_from_seed(3).deal_table_function(&q, gates, values.len()).unwrap();
    let [zero, one] = run_table_lockstep(&q, gates, bundles, [&x[0], &x[1]]).unwrap();
    open(WORDS, [&zero, &one])
}

#[test]
fn shares_by_table_equal_the_public_function_for_every_small_input() {
    for f in [TableFn::gelu(8).unwrap(), TableFn::silu(8).unwrap()] {
        let values: Vec<i64> = (-2600..2600).collect();
        let gates = f.gates_within(SignedRange::new(-2600, 2599).unwrap()).unwrap();
        assert_eq!(by_table(&gates, &values), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>());
    }
    let f = TableFn::neg_exp(8).unwrap();
    let values: Vec<i64> = (0..2000).collect();
    let plain: Vec<i64> = values.iter().map(|&x| f.eval(x)).collect();
    for range in [SignedRange::new(0, 1999), SignedRange::new(0, i64::MAX)] {
        assert_eq!(by_table(&f.gates_within(range.unwrap()).unwrap(), &values), plain);
    }
}

#[test]
fn shares_by_table_equal_the_public_function_at_every_border() {
    for f in [TableFn::gelu(12).unwrap(), TableFn::silu(12).unwrap(), TableFn::neg_exp(12).unwrap()] {
        // the ends of cells, of the cells with lines and of the inputs, and some inputs of each cell
        let inputs = f.inputs();
        let borders = (-500..500).flat_map(|cell| [-1, 0, 1].map(|d| (cell << f.shift()) + d));
        let tails = (15..25).flat_map(|bits| [-1, 0, 1].map(|d| (1 << bits) + d));
        let tails = tails.flat_map(|x: i64| [x, -x]);
        let inside = (-60_000..60_000).step_by(37);
        let all = borders.chain(tails).chain(inside).chain([inputs.min(), inputs.max()]);
        let values: Vec<i64> = all.filter(|&x| inputs.min() <= x && x <= inputs.max()).collect();
        let plain: Vec<i64> = values.iter().map(|&x| f.eval(x)).collect();
        assert_eq!(by_table(&f.gates().unwrap(), &values), plain);
    }
}

#[test]
fn a_range_within_the_cells_needs_no_comparison() {
    let f = TableFn::gelu(12).unwrap();
    let values: Vec<i64> = (-16_000..16_000).step_by(7).collect();
    let [narrow, wide] =
        [SignedRange::new(-16_000, 15_999).unwrap(), f.inputs()].map(|range| f.gates_within(range).unwrap());
    // the descriptor has a mask for each input in place of a tree of 18 bits, two selectors and two rounds
    assert_eq!((narrow.cost().key_bits, narrow.cost().aes, narrow.cost().rounds), (8 * 280 + 4, 4, 8));
    assert!(narrow.cost().key_bits < wide.cost().key_bits);
    assert_eq!(by_table(&narrow, &values), by_table(&wide, &values));
}

#[test]
fn a_table_over_channels_sends_what_its_cost_says() {
    let q = runtime::cpu().unwrap();
    let f = TableFn::gelu(12).unwrap();
    let values: Vec<i64> = (-50..50).map(|i| i * 400).collect();
    let (x, gates) = (share(WORDS, &values), f.gates().unwrap());
    let bundles = Dealer::insecure_from_seed(3).deal_table_function(&q, &gates, 100).unwrap();
    let [a, b] = both(bundles, |mut session, party, bundles| {
        (session.table_function(&q, &gates, bundles, &x[party]).unwrap(), session.traffic())
    });
    assert_eq!(open(WORDS, [&a.0, &b.0]), values.iter().map(|&x| f.eval(x)).collect::<Vec<_>>());
    let by_gates = gates.gates().map(|gate| gate.traffic(100));
    // both look-ups travel in the same two messages, whose digests have 16 bytes
    let (bytes, rounds) = by_gates.iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    assert_eq!((a.1.sent_bytes, a.1.rounds), (bytes - 2 * 16, rounds - 2));
    assert_eq!((a.1.sent_bytes, a.1.rounds), gates.traffic(100));
    assert_eq!(a.1.rounds, gates.cost().rounds);
}

#[test]
fn keys_of_another_table_or_number_of_inputs_are_refused_before_they_are_spent() {
    let q = runtime::cpu().unwrap();
    let gates = |f: TableFn| f.gates().unwrap();
    let (first, second) = (gates(TableFn::gelu(12).unwrap()), gates(TableFn::silu(12).unwrap()));
    let deal = || Dealer::insecure_from_seed(3).deal_table_function(&q, &first, 2).unwrap();
    assert_eq!(run_table_lockstep(&q, &second, deal(), [&[1, 2], &[2, 3]]).unwrap_err(), PfssError::Program);
    let refused = run_table_lockstep(&q, &first, deal(), [&[1], &[2]]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 2, got: 1 });
    // in a session nothing is sent, so that the peer is not needed
    let sent = both(deal(), |mut session, party, bundles| {
        let refused = match party {
            0 => session.table_function(&q, &second, bundles, &[1, 2]).unwrap_err(),
            _ => session.table_function(&q, &first, bundles, &[1, 2, 3]).unwrap_err(),
        };
        (refused, session.traffic().rounds)
    });
    let length = PfssError::Length { what: "elements", expected: 2, got: 3 };
    assert_eq!(sent, [(PfssError::Program, 0), (length, 0)]);
    // a bundle for each gate, in their order
    let [zero, one] = deal().map(Vec::<KeyBundle>::from);
    for (bundles, party) in [(&zero, Party::Zero), (&one, Party::One)] {
        assert!(bundles.iter().all(|bundle| bundle.party() == party));
        let of: Vec<&Gate> = bundles.iter().map(KeyBundle::gate).collect();
        assert_eq!(of, first.gates());
    }
    let mut few = zero;
    few.pop();
    let refused = TableBundles::try_from(few).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "bundles", expected: 6, got: 5 });
    let mut turned = one;
    turned.reverse();
    let [zero, _] = deal();
    let bundles = [zero, TableBundles::try_from(turned).unwrap()];
    assert_eq!(run_table_lockstep(&q, &first, bundles, [&[1, 2], &[2, 3]]).unwrap_err(), PfssError::Program);
}
