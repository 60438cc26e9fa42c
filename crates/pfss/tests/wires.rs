//! Gates with masked outputs: opening them is safe, and the opened word is the next gate's input.

use std::time::Duration;

use crate::common::{add, both, descriptor, share, suf_gate, two_bits, words};
use pfss::{
    BoolShares, BundleError, ChannelError, Dealer, Gate, GateKind, Inputs, KeyBundle, MemoryChannel, Party, PfssError,
    RangeError, Ring, Session, SignedRange, Task, Wire, eval_lockstep,
    functions::{WiredBundles, WiredFn, WiredGates},
    memory_pair, run_lockstep,
    suf::{BoolMode, CoeffMode, Pred, PredProgram, SufDesc, SufModes},
};

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = (at * at * 99) as u64 % (1 << 20);
        at += 1;
    }
    table
};

/// A gate, its task, and the function it computes.
type Named = (Gate, Task<'static>, fn(u64) -> u64);

/// Gates of 8 bits that are exact for every input.
fn named() -> Vec<Named> {
    vec![
        (Gate::relu(8).unwrap(), Task::Relu, |x| (x as i8).max(0) as u64),
        (Gate::relu(8).unwrap(), Task::Abs, |x| (x as i8).unsigned_abs().into()),
        (Gate::truncate_reduce(8, 3).unwrap(), Task::TruncateReduce, |x| x >> 3),
        (Gate::lrs(8, 3).unwrap(), Task::Lrs, |x| x >> 3),
        (Gate::ars(8, 3).unwrap(), Task::Ars, |x| ((x as i8) >> 3) as u64),
        (Gate::relu_ars(8, 3).unwrap(), Task::ReluArs, |x| ((x as i8).max(0) >> 3) as u64),
        (Gate::lut(8, 20).unwrap(), Task::Lut(&TABLE), |x| TABLE[x as usize]),
    ]
}

/// Two words, a bit over all of `x` and a conjunction of two classes of bits.
fn suf() -> SufDesc {
    let preds = [Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 3, gamma: 5 }];
    descriptor(8, &preds, &two_bits(), &[(0, &[&[1, 2, 3], &[7]]), (70, &[&[4, 5], &[0, 1]])])
}

/// The masks of a wire, from shares of them in keys that are dealt for it: only the dealer can do that.
fn masks(wire: &Wire) -> Vec<u64> {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(1);
    let gate = Gate::interval_powers(wire.ring().bits(), 1).unwrap();
    let (bundles, _) = dealer.deal_wired(&q, &gate, Inputs::Open(&[wire])).unwrap();
    let (whole, zeros) = ([pfss::Interval { start: 0, end: None }], vec![0; wire.count()]);
    let keys = bundles.map(|bundle| bundle.with_open_inputs().unwrap());
    let [a, b] = eval_lockstep(&q, Task::IntervalPowers(&whole), keys, &zeros).unwrap().map(|shares| shares.words);
    // the powers (-r)^0 come first, then the powers (-r)^1
    (wire.count()..2 * wire.count()).map(|at| wire.ring().neg(wire.ring().add(a[at], b[at]))).collect()
}

fn deal(gate: &Gate, count: usize) -> ([KeyBundle; 2], Vec<Wire>) {
    let q = runtime::cpu().unwrap();
    Dealer::insecure_from_seed(3).deal_wired(&q, gate, Inputs::Fresh(count)).unwrap()
}

#[test]
fn more_inputs_than_a_bundle_holds_are_refused() {
    let q = runtime::cpu().unwrap();
    let refused = Dealer::insecure_from_seed(3).deal_wired(&q, &Gate::relu(64).unwrap(), Inputs::Fresh(1 << 62));
    assert!(matches!(refused, Err(PfssError::Bundle(_))), "{:?}", refused.err());
}

/// Shares of every element of the ring of 8 bits.
fn split() -> [Vec<u64>; 2] {
    share(Ring::new(8).unwrap(), &(0..256).collect::<Vec<_>>())
}

/// Compares opened outputs, less their masks, with the plain function.
fn expect(gate: &Gate, opened: &[u64], wire: &Wire, plain: impl Fn(u64) -> u64) {
    let (ring, masks) = (gate.out_ring(), masks(wire));
    assert!(masks.iter().filter(|&&mask| mask == masks[0]).count() < 64, "each element has a mask");
    for (x, (&opened, &mask)) in opened.iter().zip(&masks).enumerate() {
        assert_eq!(ring.sub(opened, mask), ring.reduce(plain(x as u64)), "{}: x = {x}", gate.kind());
    }
}

#[test]
fn every_gate_gives_its_output_under_the_mask_of_its_wire() {
    let q = runtime::cpu().unwrap();
    let [zero, one] = split();
    for (bare, task, plain) in named() {
        let gate = bare.clone().with_masked_outputs().unwrap();
        assert_eq!(gate.key_bits_per_element(), bare.key_bits_per_element() + 64);
        assert_ne!(gate.digest(), bare.digest());
        let (bundles, wires) = deal(&gate, 256);
        let [a, b] = run_lockstep(&q, task, bundles, [&zero, &one]).unwrap();
        expect(&gate, &add(gate.out_ring(), [&a.words, &b.words]), &wires[0], plain);
    }
}

#[test]
fn gap_shifts_give_their_outputs_under_the_masks_of_their_wires_in_two_rounds_and_in_one() {
    let q = runtime::cpu().unwrap();
    let cert = SignedRange::new(-64, 63).unwrap().gap_cert(8).unwrap();
    // every input that leaves a gap in 8 bits
    let [zero, one] = share(Ring::new(8).unwrap(), &(-64..64).collect::<Vec<_>>());
    for out in [8, 20, 64] {
        let two_rounds = Gate::gap_ars_to(8, 3, out).unwrap();
        for bare in [two_rounds.clone(), two_rounds.in_one_round().unwrap()] {
            let gate = bare.clone().with_masked_outputs().unwrap();
            assert_eq!(gate.key_bits_per_element(), bare.key_bits_per_element() + 64);
            let (bundles, wires) = deal(&gate, 128);
            let [a, b] = run_lockstep(&q, Task::GapArs(cert), bundles, [&zero, &one]).unwrap();
            let opened = add(gate.out_ring(), [&a.words, &b.words]);
            expect(&gate, &opened, &wires[0], |at| ((at.cast_signed() - 64) >> 3).cast_unsigned());
        }
    }
}

#[test]
fn every_word_of_a_descriptor_has_a_wire_in_every_mode() {
    let q = runtime::cpu().unwrap();
    let [zero, one] = split();
    for preds in [PredProgram::SharedAlpha, PredProgram::StepDcf] {
        for coeffs in [CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect] {
            for pieces in [1, 2] {
                let mut spec = suf().into_spec();
                spec.pieces.truncate(pieces);
                let desc = SufDesc::new(spec).unwrap();
                let modes = SufModes { preds, coeffs, bools: BoolMode::Additive };
                let gate = suf_gate(desc.clone(), modes).with_masked_outputs().unwrap();
                let (bundles, wires) = deal(&gate, 256);
                let shares = run_lockstep(&q, Task::Suf, bundles, [&zero, &one]).unwrap();
                let opened = add(gate.ring(), shares.each_ref().map(|shares| &shares.words[..]));
                assert_eq!(wires.len(), 2);
                for (word, wire) in wires.iter().enumerate() {
                    let opened: Vec<u64> = opened.iter().skip(word).step_by(2).copied().collect();
                    expect(&gate, &opened, wire, |x| desc.eval(x).words[word]);
                }
                // bits are shares of themselves, never masked
                let bits = shares.map(|shares| match shares.bools {
                    BoolShares::Additive(bits) => bits,
                    BoolShares::Xor(_) => panic!("additive bits were asked for"),
                });
                let bits = add(gate.ring(), [&bits[0], &bits[1]]);
                let plain = (0..256).flat_map(|x| desc.eval(x).bools).map(u64::from);
                assert!(plain.eq(bits));
            }
        }
    }
}

#[test]
fn products_mask_their_output_and_take_two_wires() {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(5);
    let [zero, one] = split();
    let (square, shift) = (Gate::product(8).unwrap().with_masked_outputs().unwrap(), Gate::lrs(8, 1).unwrap());
    let (bundles, halves) = dealer.deal_wired(&q, &shift.with_masked_outputs().unwrap(), Inputs::Fresh(256)).unwrap();
    let [a, b] = run_lockstep(&q, Task::Lrs, bundles, [&zero, &one]).unwrap();
    let half = add(Ring::new(8).unwrap(), [&a.words, &b.words]);
    let (bundles, wires) = dealer.deal_wired(&q, &square, Inputs::Open(&[&halves[0], &halves[0]])).unwrap();
    let factors = half.repeat(2);
    let keys = bundles.map(|bundle| bundle.with_open_inputs().unwrap());
    let [a, b] = eval_lockstep(&q, Task::Product, keys, &factors).unwrap();
    expect(&square, &add(square.ring(), [&a.words, &b.words]), &wires[0], |x| (x >> 1) * (x >> 1));
}

/// Evaluates ReLU once, and a shift and a table on its opened output.
///
/// Three gates, and one opening between them.
fn circuit(
    mut session: Session<MemoryChannel>,
    [relu, shift, table]: [KeyBundle; 3],
    x: &[u64],
) -> Result<[Vec<u64>; 2], PfssError> {
    let q = runtime::cpu().unwrap();
    let gate = relu.gate().clone();
    let shares = session.run(&q, Task::Relu, relu, x)?.words;
    let y_hat = session.open_outputs(&q, &gate, &shares)?;
    let shifted = session.eval(&q, Task::Ars, shift.with_open_inputs()?, &y_hat)?;
    let read = session.eval(&q, Task::Lut(&TABLE), table.with_open_inputs()?, &y_hat)?;
    assert_eq!(session.traffic().rounds, 2 + 1 + 1 + 1);
    Ok([shifted.words, read.words])
}

#[test]
fn one_wire_feeds_two_gates_of_a_circuit() {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::from_os().unwrap();
    let relu = Gate::relu(8).unwrap().with_masked_outputs().unwrap();
    let (relu, wires) = dealer.deal_wired(&q, &relu, Inputs::Fresh(256)).unwrap();
    let mut next = |gate: Gate| dealer.deal_wired(&q, &gate, Inputs::Open(&[&wires[0]])).unwrap().0;
    let (shift, table) = (next(Gate::ars(8, 2).unwrap()), next(Gate::lut(8, 20).unwrap()));
    let ([relu_0, relu_1], [shift_0, shift_1], [table_0, table_1]) = (relu, shift, table);
    let x = split();
    let keys = [[relu_0, shift_0, table_0], [relu_1, shift_1, table_1]];
    let [a, b] = both(keys, |session, party, keys| circuit(session, keys, &x[party]).unwrap());
    let relu = |x: u64| (x as i8).max(0) as u64;
    let shifted = add(Ring::new(8).unwrap(), [&a[0], &b[0]]);
    assert!(shifted.into_iter().eq((0..256).map(|x| relu(x) >> 2)));
    let read = add(Ring::new(20).unwrap(), [&a[1], &b[1]]);
    assert!(read.into_iter().eq((0..256).map(|x| TABLE[relu(x) as usize])));
}

#[test]
fn what_is_not_to_be_opened_or_masked_again_is_refused() {
    let q = runtime::cpu().unwrap();
    for gate in [Gate::full_predicates(8), Gate::sign_predicates(8), Gate::interval_powers(8, 1)] {
        let gate = gate.unwrap();
        let got = gate.kind();
        assert_eq!(gate.with_masked_outputs(), Err(PfssError::NoOutputWords { got }));
    }
    let (relu, wires) = deal(&Gate::relu(8).unwrap(), 1);
    assert!(wires.is_empty());
    let bare = relu[0].gate().clone();
    let (channel, _other) = memory_pair(Duration::from_millis(10));
    let mut session = Session::new(channel);
    assert_eq!(session.open_outputs(&q, &bare, &[1]), Err(PfssError::BareOutputs));

    // keys of an opened input mask nothing: that would be a second value under the mask of the wire
    let (_, wires) = deal(&bare.with_masked_outputs().unwrap(), 2);
    let mut dealer = Dealer::insecure_from_seed(4);
    let mut on = |gate: Gate, wires: &[&Wire]| dealer.deal_wired(&q, &gate, Inputs::Open(wires)).map(|(keys, _)| keys);
    let shift = || Gate::ars(8, 2).unwrap();
    let [zero, one] = on(shift(), &[&wires[0]]).unwrap();
    let read = KeyBundle::from_bytes(&zero.to_bytes()).unwrap();
    assert_eq!(read.mask(&[1, 2]).unwrap_err(), PfssError::OpenInputs);
    assert_eq!(session.run(&q, Task::Ars, zero, &[1, 2]).unwrap_err(), PfssError::OpenInputs);
    assert_eq!(
        session.open_masked(&q, vec![(one, &[1, 2])]).unwrap_err(),
        PfssError::WrongParty { expected: Party::Zero, got: Party::One }
    );
    // wires that do not fit the gate
    let length = |what, expected, got| PfssError::Length { what, expected, got };
    assert_eq!(on(shift(), &[]).unwrap_err(), length("wires", 1, 0));
    assert_eq!(on(Gate::product(8).unwrap(), &[&wires[0]]).unwrap_err(), length("wires", 2, 1));
    let (_, longer) = deal(&Gate::relu(8).unwrap().with_masked_outputs().unwrap(), 3);
    let both = [&wires[0], &longer[0]];
    assert_eq!(on(Gate::product(8).unwrap(), &both).unwrap_err(), length("elements of a wire", 2, 3));
    let ring = PfssError::WireRing { expected: 9, got: 8 };
    assert_eq!(on(Gate::ars(9, 2).unwrap(), &[&wires[0]]).unwrap_err(), ring);
}

#[test]
fn flags_of_a_bundle_round_trip_and_others_are_refused() {
    let q = runtime::cpu().unwrap();
    let gate = Gate::relu(8).unwrap().with_masked_outputs().unwrap();
    let (_, wires) = deal(&gate, 3);
    let (bundles, _) = Dealer::insecure_from_seed(4).deal_wired(&q, &gate, Inputs::Open(&[&wires[0]])).unwrap();
    let bytes = bundles[1].to_bytes();
    let read = KeyBundle::from_bytes(&bytes).unwrap();
    assert_eq!((read.gate(), &read.to_bytes()[..]), (&gate, &bytes[..]));
    let mut changed = bytes.to_vec();
    changed[18] |= 4;
    let refused = BundleError::Field { field: "flags", expected: 3, got: 7 };
    assert_eq!(KeyBundle::from_bytes(&changed).unwrap_err(), refused);
    // masked outputs of predicates
    let [predicates, _] = Dealer::insecure_from_seed(4).deal(&q, &Gate::full_predicates(8).unwrap(), 1).unwrap();
    let mut changed = predicates.to_bytes().to_vec();
    changed[18] = 1;
    assert!(matches!(KeyBundle::from_bytes(&changed), Err(BundleError::Gate { .. })));
    assert_eq!(predicates.gate().kind(), GateKind::FullPredicates);
}

/// Functions between wires of `n` bits.
fn wired(n: u32) -> Vec<(&'static str, WiredFn)> {
    vec![
        ("gelu", WiredFn::gelu(n, 12).unwrap()),
        ("silu of 8 bits", WiredFn::silu(n, 8).unwrap()),
        ("neg exp", WiredFn::neg_exp(n, 12).unwrap()),
        ("reciprocal", WiredFn::reciprocal(n, 12, 100).unwrap()),
        ("rsqrt", WiredFn::rsqrt(n, 12, 1).unwrap()),
        ("rsqrt of a sum of 768", WiredFn::rsqrt(n, 12, 768).unwrap()),
    ]
}

/// Inputs at both ends of the range, around zero, and at every power of two.
fn wired_inputs(function: &WiredFn) -> Vec<i64> {
    let range = function.inputs();
    let powers = (0..63).flat_map(|k| [-(1i64 << k), (1 << k) - 1, 1 << k, (1 << k) + (1 << k) / 3]);
    let all = powers.chain([range.min(), range.max(), 0, 6144, -6144, 50_000]);
    all.filter(|x| (range.min()..=range.max()).contains(x)).collect()
}

#[test]
fn functions_between_wires_are_the_public_functions_under_masks() {
    let q = runtime::cpu().unwrap();
    for n in [64, 63, 37] {
        for (name, function) in wired(n) {
            let (gates, values) = (function.gates(SufModes::default()).unwrap(), wired_inputs(&function));
            let ring = gates.ring();
            let input = Wire::from_masks(ring, &words(values.len(), n.into()));
            let x_hat: Vec<u64> =
                values.iter().zip(input.masks()).map(|(&x, &r)| ring.add(ring.reduce(x as u64), r)).collect();
            let (keys, output) = Dealer::from_os().unwrap().deal_wired_function(&q, &gates, &input).unwrap();
            let [a, b] = both(keys, |mut session, _, keys| {
                let y_hat = session.wired_function(&q, &gates, keys, &x_hat).unwrap();
                let traffic = session.traffic();
                assert_eq!((traffic.sent_bytes, traffic.rounds), gates.traffic(x_hat.len()), "{name}");
                y_hat
            });
            assert_eq!(a, b);
            assert_eq!(output.ring(), ring);
            for ((&x, &y_hat), &mask) in values.iter().zip(&a).zip(output.masks()) {
                assert_eq!(ring.signed(ring.sub(y_hat, mask)), function.eval(x), "{name} of {x} in {n} bits");
            }
        }
    }
}

#[test]
fn parties_compare_the_ring_of_a_function_whose_gates_are_those_of_another_ring() {
    let q = runtime::cpu().unwrap();
    // One output has five bytes in both rings.
    let [narrow, wide] = [38, 40].map(|n| WiredFn::gelu(n, 12).unwrap().gates(SufModes::default()).unwrap());
    assert!(narrow.gates().eq(wide.gates()));
    let input = Wire::from_masks(wide.ring(), &[77]);
    let (keys, _) = Dealer::from_os().unwrap().deal_wired_function(&q, &wide, &input).unwrap();
    let errors = both(keys, |mut session, party, keys| {
        let gates = if party == 0 { &narrow } else { &wide };
        session.wired_function(&q, gates, keys, &[6144 + 77]).unwrap_err()
    });
    for error in errors {
        assert!(matches!(error, PfssError::Channel(ChannelError::Step { .. })), "{error:?}");
    }
}

#[test]
fn quotients_under_roots_hold_their_bounds() {
    // Fraction bits, and the bounds for divisors below 32 and for others.
    let bounds = [(8, 1.2, 1.6), (12, 1.2, 1.6), (16, 1.2, 1.6), (17, 2.6, 2.6), (20, 17.0, 17.0)];
    for (bits, of_small, of_others) in bounds {
        for divisor in [1, 3, 31, 32, 33, 768, 1024, 4095, 1 << 20] {
            let function = WiredFn::rsqrt(64, bits, divisor).unwrap();
            let (bound, one) = (if divisor < 32 { of_small } else { of_others }, f64::from(1u32 << bits));
            let (low, high) = (f64::from(divisor) / 16.0, f64::from(divisor) * 256.0);
            for k in 0..=2000 {
                let x = (low * (high / low).powf(f64::from(k) / 2000.0) * one).ceil().min(high * one) as i64;
                let exact = (f64::from(divisor) / (x as f64 / one)).sqrt() * one;
                let got = function.eval(x) as f64;
                assert!((got - exact).abs() <= bound, "{x} of {divisor} with {bits} bits: {got} for {exact}");
            }
        }
    }
}

#[test]
fn a_function_between_wires_is_refused_where_it_does_not_fit() {
    let gap = |refused: Result<WiredFn, PfssError>| {
        assert!(matches!(refused, Err(PfssError::Range(RangeError::NoGap { .. }))), "{refused:?}");
    };
    assert!(WiredFn::gelu(26, 12).is_ok() && WiredFn::neg_exp(19, 12).is_ok());
    assert!(WiredFn::reciprocal(22, 12, 100).is_ok() && WiredFn::rsqrt(33, 12, 768).is_ok());
    gap(WiredFn::gelu(25, 12));
    gap(WiredFn::reciprocal(21, 12, 100));
    gap(WiredFn::rsqrt(32, 12, 1024));
    let outside = WiredFn::neg_exp(18, 12);
    assert!(matches!(outside, Err(PfssError::Range(RangeError::Outside { .. }))), "{outside:?}");
    for refused in [
        WiredFn::gelu(65, 12),
        WiredFn::silu(64, 7),
        WiredFn::neg_exp(64, 21),
        WiredFn::reciprocal(64, 12, 0),
        WiredFn::reciprocal(64, 12, 4097),
        WiredFn::reciprocal(64, 7, 4),
        WiredFn::rsqrt(64, 12, 0),
        WiredFn::rsqrt(64, 12, 1 << 31),
        WiredFn::rsqrt(64, 21, 4),
    ] {
        assert!(matches!(refused, Err(PfssError::Suf(_))), "{refused:?}");
    }

    // keys of another function, of the other party, of another number of elements, and another wire
    let q = runtime::cpu().unwrap();
    let gates = WiredFn::gelu(40, 12).unwrap().gates(SufModes::default()).unwrap();
    let other = WiredFn::silu(40, 12).unwrap().gates(SufModes::default()).unwrap();
    let input = Wire::from_masks(gates.ring(), &[1, 2]);
    let mut dealer = Dealer::insecure_from_seed(4);
    let narrow = Wire::from_masks(Ring::new(39).unwrap(), &[1, 2]);
    let refused = dealer.deal_wired_function(&q, &gates, &narrow).map(drop);
    assert_eq!(refused, Err(PfssError::WireRing { expected: 40, got: 39 }));
    let mut run = |dealt: &WiredGates, swap: bool, change: fn(&mut Vec<KeyBundle>), x_hat: &[u64]| {
        let ([zero, one], _) = dealer.deal_wired_function(&q, dealt, &input).unwrap();
        let mut bundles = Vec::<KeyBundle>::from(if swap { one } else { zero });
        change(&mut bundles);
        let (channel, _other) = memory_pair(Duration::from_millis(10));
        Session::new(channel).wired_function(&q, &gates, WiredBundles::from(bundles), x_hat).unwrap_err()
    };
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    assert_eq!(run(&gates, true, |_| (), &[1, 2]), wrong_party);
    assert_eq!(run(&gates, false, |_| (), &[1]), PfssError::Length { what: "elements", expected: 2, got: 1 });
    assert_eq!(run(&other, false, |_| (), &[1, 2]), PfssError::Program);
    assert_eq!(run(&gates, false, |bundles| drop(bundles.pop()), &[1, 2]), PfssError::Program);
    assert_eq!(run(&gates, false, |bundles| bundles.swap(0, 1), &[1, 2]), PfssError::Program);
}
