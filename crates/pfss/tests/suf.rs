//! Descriptors on shares against their plain meaning: every way of selecting and comparing, every input and mask.

use crate::common::{Batch, add, both};
use pfss::{
    BoolShares, Dealer, Gate, GateKind, KeyBundle, PfssError, Shares, SignedRange, Step, Task, run_lockstep,
    suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufError, SufModes, SufProgram, SufSpec},
};

fn var(index: usize) -> BoolExpr {
    BoolExpr::Var(index)
}

fn all_modes() -> Vec<SufModes> {
    let mut all = Vec::new();
    for preds in [PredProgram::SharedAlpha, PredProgram::StepDcf] {
        for coeffs in [CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect] {
            for bools in [BoolMode::XorPacked, BoolMode::Additive] {
                all.push(SufModes { preds, coeffs, bools });
            }
        }
    }
    all
}

/// Evaluates both parties step by step on public masked inputs.
fn evaluate(batch: &Batch, program: &SufProgram) -> [Shares; 2] {
    let q = runtime::cpu().unwrap();
    let keys = batch.keys(&q, &Gate::suf(program.clone()));
    let mut steps = keys.map(|keys| keys.eval(&q, Task::Suf, &batch.x_hat).unwrap());
    let per_row = batch.x.len().div_ceil(32);
    for bits in program.rounds() {
        let [Step::Open(zero), Step::Open(one)] = steps else { panic!("expected a round") };
        assert_eq!(zero.masked_bits().len(), bits * per_row);
        let (from_zero, from_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
        steps = [zero.finish(&q, &from_one).unwrap(), one.finish(&q, &from_zero).unwrap()];
    }
    steps.map(|step| match step {
        Step::Done(shares) => shares,
        Step::Open(_) => panic!("expected no more rounds"),
    })
}

/// Compares words and bits of every element with the plain meaning.
fn check(batch: &Batch, desc: &SufDesc, modes: SufModes) {
    check_program(batch, &SufProgram::new(desc.clone(), modes).unwrap());
}

fn check_program(batch: &Batch, program: &SufProgram) {
    let (desc, modes) = (program.desc(), program.modes());
    let [zero, one] = evaluate(batch, program);
    let (ring, words, bits) = (desc.ring(), desc.words().len(), desc.bools().len());
    let count = batch.x.len();
    let opened = |e: usize, bit: usize| match (&zero.bools, &one.bools) {
        (BoolShares::Additive(a), BoolShares::Additive(b)) => ring.add(a[e * bits + bit], b[e * bits + bit]),
        (BoolShares::Xor(a), BoolShares::Xor(b)) => {
            let at = bit * count.div_ceil(32) + e / 32;
            u64::from((a.words()[at] ^ b.words()[at]) >> (e % 32) & 1)
        }
        _ => panic!("the parties hold different forms"),
    };
    assert_eq!(zero.words.len(), words * count);
    if let (BoolShares::Additive(a), BoolShares::Additive(b)) = (&zero.bools, &one.bools) {
        assert_eq!([a.len(), b.len()], [bits * count; 2], "{modes:?}");
    }
    for (e, (&x, &r)) in batch.x.iter().zip(&batch.r).enumerate() {
        let plain = desc.eval(x);
        for word in 0..words {
            let got = ring.add(zero.words[e * words + word], one.words[e * words + word]);
            assert_eq!(got, plain.words[word], "{modes:?}: word {word}, x = {x:#x}, r = {r:#x}");
        }
        for bit in 0..bits {
            assert_eq!(opened(e, bit), u64::from(plain.bools[bit]), "{modes:?}: bit {bit}, x = {x:#x}, r = {r:#x}");
        }
    }
}

/// A random partition of a ring of `n < 64` bits with `pieces` pieces.
fn random(seed: u64, n: u32, pieces: usize, degree: u32, words: usize) -> SufDesc {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut starts = std::collections::BTreeSet::from([0]);
    while starts.len() < pieces {
        starts.insert(rng.u64(..1 << n));
    }
    let preds = vec![
        Pred::Lt { beta: rng.u64(..1 << n) },
        Pred::Lt { beta: 0 },
        Pred::Msb,
        Pred::MsbAdd { c: rng.u64(..1 << n) },
        Pred::Lt { beta: (1 << n) - 1 },
    ];
    let formula = (var(0) & !var(2)) | (var(3) ^ var(4)) | var(1);
    let piece = |start| Piece {
        start,
        polys: (0..words).map(|_| (0..=degree).map(|_| rng.u64(..1 << n)).collect()).collect(),
        bools: vec![formula.clone()],
    };
    let pieces = starts.into_iter().map(piece).collect();
    let words = (0..words).map(|word| format!("w{word}")).collect();
    SufDesc::new(SufSpec { n, degree, words, bools: vec!["b".into()], preds, pieces }).unwrap()
}

#[test]
fn every_mode_is_exact_for_every_input_and_mask() {
    let batch = Batch::exhaustive(8);
    for (seed, (pieces, degree, words)) in [(1, 0, 1), (3, 2, 2)].into_iter().enumerate() {
        let desc = random(seed as u64, 8, pieces, degree, words);
        all_modes().into_iter().for_each(|modes| check(&batch, &desc, modes));
    }
    for (seed, (pieces, degree, words)) in [(2, 1, 1), (9, 0, 3), (4, 7, 1), (5, 3, 2)].into_iter().enumerate() {
        let desc = random(10 + seed as u64, 8, pieces, degree, words);
        for coeffs in [CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect] {
            check(&batch, &desc, SufModes { coeffs, ..SufModes::default() });
        }
    }
    let few: Vec<u64> = (0..512).step_by(37).collect();
    for batch in [Batch::exhaustive(1), Batch::exhaustive(2), Batch::product(9, 0..512, &few)] {
        let desc = random(77, batch.ring.bits(), 2, 2, 1);
        all_modes().into_iter().for_each(|modes| check(&batch, &desc, modes));
    }
}

/// Formulas that join the whole of `x` with its low 3 and 5 bits, and differ between pieces.
fn mixed() -> SufDesc {
    let preds = vec![
        Pred::Lt { beta: 200 },
        Pred::LtLow { f: 3, gamma: 5 },
        Pred::LtLow { f: 5, gamma: 17 },
        Pred::Msb,
        Pred::LtLow { f: 3, gamma: 2 },
        Pred::LtLow { f: 8, gamma: 99 },
    ];
    let piece = |start, depends: BoolExpr, last: BoolExpr| Piece {
        start,
        polys: vec![vec![start, 3]],
        bools: vec![
            (var(0) & var(1)) & !var(2),
            depends,
            (var(1) ^ var(4)) & !(var(4) | var(1)),
            (var(0) ^ var(1)) | (var(2) ^ BoolExpr::Const(true)),
            BoolExpr::Const(true),
            last,
        ],
    };
    SufDesc::new(SufSpec {
        n: 8,
        degree: 1,
        words: vec!["y".into()],
        bools: ["chain", "per_piece", "one_class", "or", "constant", "whole"].map(String::from).to_vec(),
        preds,
        pieces: vec![
            piece(0, var(1), var(5)),
            piece(40, var(1), !var(5)),
            piece(90, var(4) & var(3), var(0)),
            piece(255, BoolExpr::Const(false), var(3)),
        ],
    })
    .unwrap()
}

#[test]
fn formulas_over_different_low_bits_are_exact_for_every_input_and_mask() {
    let batch = Batch::exhaustive(8);
    for modes in all_modes() {
        check(&batch, &mixed(), modes);
    }
    // three selectors; first chain, per_piece (inside a formula) and or; then chain, and per_piece at two changes; then
    // all six bits
    let program = SufProgram::new(mixed(), SufModes::default()).unwrap();
    assert_eq!(program.rounds(), [3 + 2 * 3, 2 * 3, 6]);
}

#[test]
fn bits_of_an_input_above_the_ring_change_no_output() {
    let mut batch = Batch::product(8, 0..256, &[0, 1, 97, 128, 255]);
    batch.x_hat.iter_mut().for_each(|x_hat| *x_hat |= 0xa500);
    for modes in all_modes() {
        check(&batch, &mixed(), modes);
    }
}

#[test]
fn narrow_inputs_are_exact_with_keys_of_their_own_width() {
    let all: Vec<u64> = (0..256).collect();
    for k in [1u32, 2, 5, 7] {
        let half = 1i64 << (k - 1);
        let range = SignedRange::new(-half, half - 1).unwrap();
        let batch = Batch::product(8, (-half..half).map(|x| x as u64), &all);
        for (desc, modes) in [(random(31, 8, 6, 2, 1), 0..12), (random(32, 8, 9, 1, 2), 1..6), (mixed(), 4..6)] {
            for modes in all_modes()[modes].iter().copied() {
                let program = SufProgram::within(desc.clone(), modes, range).unwrap();
                assert_eq!(program.domain().bits(), k);
                check_program(&batch, &program);
            }
        }
    }
    let wide = SignedRange::new(-129, 0).unwrap();
    let refused = SufProgram::within(mixed(), SufModes::default(), wide).unwrap_err();
    assert_eq!(refused, SufError::Bits { max: 8, got: 9 });
}

#[test]
fn a_conjunction_within_one_class_of_bits_costs_nothing() {
    let desc = random(3, 8, 4, 2, 1);
    let rounds = |coeffs, bools| {
        let modes = SufModes { coeffs, bools, ..SufModes::default() };
        SufProgram::new(desc.clone(), modes).unwrap().rounds()
    };
    assert!(rounds(CoeffMode::IntervalLut, BoolMode::XorPacked).is_empty());
    assert!(rounds(CoeffMode::IntervalLut, BoolMode::Additive).is_empty(), "bits come from the payload key");
    assert!(rounds(CoeffMode::StepDcf, BoolMode::XorPacked).is_empty());
    assert_eq!(rounds(CoeffMode::StepDcf, BoolMode::Additive), [1]);
    assert_eq!(rounds(CoeffMode::MaskedSelect, BoolMode::XorPacked), [3]);
    assert_eq!(rounds(CoeffMode::MaskedSelect, BoolMode::Additive), [3 + 1]);
}

#[test]
fn outputs_of_bits_alone_and_of_words_alone_are_exact() {
    let batch = Batch::exhaustive(6);
    let mut spec = random(5, 6, 3, 1, 1).into_spec();
    spec.words.clear();
    spec.pieces.iter_mut().for_each(|piece| piece.polys.clear());
    let bits = SufDesc::new(spec).unwrap();
    let mut spec = random(5, 6, 3, 1, 1).into_spec();
    spec.bools.clear();
    spec.pieces.iter_mut().for_each(|piece| piece.bools.clear());
    let words = SufDesc::new(spec).unwrap();
    for modes in all_modes() {
        check(&batch, &bits, modes);
        check(&batch, &words, modes);
    }
}

/// Bits that no input changes: written so, known after reduction, or only within the proven range.
#[test]
fn constant_bits_are_shared_in_every_mode() {
    let batch = Batch::exhaustive(6);
    let formulas = [BoolExpr::Const(true), !var(0), var(1) & !var(1), BoolExpr::Const(false), var(1) | !var(1)];
    let desc = |starts: &[u64], words: usize| {
        let piece = |&start: &u64| Piece { start, polys: vec![vec![start, 3]; words], bools: formulas.to_vec() };
        SufDesc::new(SufSpec {
            n: 6,
            degree: 1,
            words: (0..words).map(|word| format!("w{word}")).collect(),
            bools: (0..formulas.len()).map(|bit| format!("b{bit}")).collect(),
            preds: vec![Pred::Lt { beta: 0 }, Pred::LtLow { f: 3, gamma: 5 }],
            pieces: starts.iter().map(piece).collect(),
        })
        .unwrap()
    };
    for (starts, words) in [(&[0][..], 0), (&[0], 1), (&[0, 17, 40], 0), (&[0, 17, 40], 2)] {
        all_modes().into_iter().for_each(|modes| check(&batch, &desc(starts, words), modes));
    }
    // x < 2^4 for every input of the range
    let range = SignedRange::new(-4, 3).unwrap();
    let all: Vec<u64> = (0..64).collect();
    let small = Batch::product(6, (-4..4i64).map(i64::cast_unsigned), &all);
    let mut spec = desc(&[0], 1).into_spec();
    spec.preds[0] = Pred::MsbAdd { c: 32 };
    spec.preds[1] = Pred::LtLow { f: 6, gamma: 16 };
    spec.pieces[0].bools = vec![var(0) ^ var(0), var(1) ^ var(1), !(var(0) & var(1))];
    spec.bools.truncate(3);
    let narrow = SufDesc::new(spec).unwrap();
    for modes in all_modes() {
        check_program(&small, &SufProgram::within(narrow.clone(), modes, range).unwrap());
    }
}

#[test]
fn corners_of_64_bits_are_exact_in_every_mode() {
    let (third, last) = (0x5555_5555_5555_5555, u64::MAX);
    let piece = |start, poly: &[u64]| Piece {
        start,
        polys: vec![poly.to_vec()],
        bools: vec![var(0) ^ var(1), var(3) & (var(2) | var(0))],
    };
    let desc = SufDesc::new(SufSpec {
        n: 64,
        degree: 3,
        words: vec!["y".into()],
        bools: vec!["a".into(), "b".into()],
        preds: vec![
            Pred::Lt { beta: third },
            Pred::MsbAdd { c: 1 << 40 },
            Pred::LtLow { f: 12, gamma: 77 },
            Pred::LtLow { f: 63, gamma: 1 << 62 },
        ],
        pieces: vec![
            piece(0, &[1, 2, 3, 4]),
            piece(third, &[last, 0, 1 << 63]),
            piece(1 << 63, &[]),
            piece(last, &[5, last, third, 7]),
        ],
    })
    .unwrap();
    let batch = Batch::boundary(64, &[third, 77, 1 << 62, (1u64 << 40).wrapping_neg()]);
    all_modes().into_iter().for_each(|modes| check(&batch, &desc, modes));
}

#[test]
fn the_shape_of_keys_and_messages_is_the_same_for_every_mask() {
    let q = runtime::cpu().unwrap();
    // neighbours with equal coefficients, and a piece that starts where masks wrap
    let mut spec = random(9, 8, 4, 1, 1).into_spec();
    spec.pieces[2].polys = spec.pieces[1].polys.clone();
    for modes in all_modes() {
        let gate = Gate::suf(SufProgram::new(SufDesc::new(spec.clone()).unwrap(), modes).unwrap());
        let mut dealer = Dealer::insecure_from_seed(4);
        let mut lengths: Vec<[usize; 2]> = (0..256)
            .map(|r| dealer.insecure_deal_for_masks(&q, &gate, &[r, 255 - r]).unwrap())
            .map(|bundles| bundles.map(|bundle| bundle.to_bytes().len()))
            .collect();
        lengths.dedup();
        assert_eq!(lengths.len(), 1, "{modes:?}");
    }
}

#[test]
fn a_piece_split_in_two_and_permuted_elements_change_no_value() {
    let whole = random(21, 8, 4, 2, 1);
    let mut spec = whole.clone().into_spec();
    let middle = Piece { start: spec.pieces[1].start + 1, ..spec.pieces[1].clone() };
    spec.pieces.insert(2, middle);
    spec.pieces.dedup_by_key(|piece| piece.start);
    let split = SufDesc::new(spec).unwrap();
    let open = |batch: &Batch, desc: &SufDesc| {
        let program = SufProgram::new(desc.clone(), SufModes::default()).unwrap();
        let [a, b] = evaluate(batch, &program);
        add(batch.ring, [&a.words, &b.words])
    };
    let masks: Vec<u64> = (0..256).step_by(5).collect();
    let batch = Batch::product(8, 0..256, &masks);
    let expected = open(&batch, &whole);
    assert_eq!(open(&batch, &split), expected);
    let reversed = Batch {
        ring: batch.ring,
        x: batch.x.iter().rev().copied().collect(),
        r: batch.r.iter().rev().copied().collect(),
        x_hat: batch.x_hat.iter().rev().copied().collect(),
    };
    assert!(open(&reversed, &whole).iter().rev().eq(&expected));
}

/// `p(x)` from 40 on and `q(x) = p(x - 16)` from 56 on: constants of the descriptor move with a public summand.
#[test]
fn a_public_summand_moves_the_constants_of_a_descriptor() {
    let line = |start, c0: u64| Piece { start, polys: vec![vec![c0 & 255, 5]], bools: vec![var(0) ^ var(1)] };
    let desc = |preds, pieces| {
        let (words, bools) = (vec!["y".into()], vec!["b".into()]);
        SufDesc::new(SufSpec { n: 8, degree: 1, words, bools, preds, pieces }).unwrap()
    };
    let preds = |shift: u64| vec![Pred::MsbAdd { c: 30 - shift }, Pred::LtLow { f: 4, gamma: 9 }];
    let moved = |c0: u64| c0.wrapping_sub(5 * 16);
    let base = desc(preds(0), vec![line(0, 3), line(40, 7), line(240, 9)]);
    // the piece that starts at 240 starts anew at 0
    let shifted = desc(preds(16), vec![line(0, moved(9)), line(16, moved(3)), line(56, moved(7))]);
    let masks: Vec<u64> = (0..256).step_by(3).collect();
    let batch = Batch::product(8, 0..256, &masks);
    let ring = batch.ring;
    let add = |words: &[u64]| words.iter().map(|&word| ring.add(word, 16)).collect();
    let further = Batch { ring, x: add(&batch.x), r: batch.r.clone(), x_hat: add(&batch.x_hat) };
    let open = |[zero, one]: [Shares; 2]| {
        let (BoolShares::Additive(a), BoolShares::Additive(b)) = (&zero.bools, &one.bools) else {
            panic!("other forms")
        };
        let pairs = zero.words.iter().chain(a).zip(one.words.iter().chain(b));
        pairs.map(|(&a, &b)| ring.add(a, b)).collect::<Vec<u64>>()
    };
    for modes in all_modes().into_iter().filter(|modes| modes.bools == BoolMode::Additive) {
        let [base, shifted] = [&base, &shifted].map(|desc| SufProgram::new(desc.clone(), modes).unwrap());
        assert_eq!(open(evaluate(&batch, &base)), open(evaluate(&further, &shifted)), "{modes:?}");
        check_program(&batch, &base);
    }
}

#[test]
fn programs_beyond_the_caps_are_refused() {
    let modes = SufModes { coeffs: CoeffMode::StepDcf, ..SufModes::default() };
    let refused = SufProgram::new(random(1, 8, 2, 2, 3), modes).unwrap_err();
    assert_eq!(refused, SufError::Cap { what: "payload words", max: 8, got: 9 });
    assert!(SufProgram::new(random(1, 8, 2, 3, 2), modes).is_ok());
    let other = SufModes { coeffs: CoeffMode::IntervalLut, ..modes };
    assert!(SufProgram::new(random(1, 8, 2, 2, 3), other).is_ok(), "words share the key of powers");

    let mut spec = mixed().into_spec();
    let pieces = (0..200).map(|start| {
        let formula = if start % 2 == 0 { var(1) } else { var(2) };
        Piece { start, polys: vec![], bools: vec![formula; 6] }
    });
    (spec.words, spec.pieces) = (vec![], pieces.collect());
    let same = SufProgram::new(SufDesc::new(spec.clone()).unwrap(), SufModes::default()).unwrap();
    assert_eq!(same.rounds()[0], 2 * 199, "equal outputs share their conjunctions");
    spec.preds = (1..8).map(|gamma| Pred::LtLow { f: 3, gamma }).collect();
    for (start, piece) in spec.pieces.iter_mut().enumerate() {
        piece.bools = (1..7).map(|bit| if start % 2 == 0 { var(0) } else { var(bit) }).collect();
    }
    let refused = SufProgram::new(SufDesc::new(spec).unwrap(), SufModes::default()).unwrap_err();
    assert!(matches!(refused, SufError::Cap { what: "conjunctions of shares", max: 1024, .. }), "{refused}");
}

#[test]
fn the_largest_descriptor_is_compiled_or_refused_in_good_time() {
    let preds: Vec<Pred> = (0..64).map(|i| Pred::LtLow { f: 16 + i % 3, gamma: 7 * u64::from(i) + 1 }).collect();
    // five levels of formulas that differ in every piece and output
    let formula = |seed: usize| {
        let mut leaves = (0..32).map(|i| var((seed * 7 + i * (seed % 5 + 1)) % 64)).collect::<Vec<_>>();
        while leaves.len() > 1 {
            let pairs = leaves.chunks(2).map(|pair| pair[0].clone() & pair[pair.len() - 1].clone());
            leaves = pairs.collect();
        }
        leaves.remove(0)
    };
    let piece = |i: usize| Piece {
        start: i as u64 * 1000,
        polys: vec![],
        bools: (0..16).map(|bit| formula(i * 16 + bit)).collect(),
    };
    let desc = SufDesc::new(SufSpec {
        n: 64,
        degree: 0,
        words: vec![],
        bools: (0..16).map(|bit| format!("b{bit}")).collect(),
        preds,
        pieces: (0..256).map(piece).collect(),
    })
    .unwrap();
    let refused = SufProgram::new(desc, SufModes::default()).unwrap_err();
    assert!(matches!(refused, SufError::Cap { what: "conjunctions of shares", max: 1024, .. }), "{refused}");
}

#[test]
fn two_sessions_equal_lockstep_and_send_what_the_cost_says() {
    let q = runtime::cpu().unwrap();
    let x = [(0..70).map(|i| i * 3).collect::<Vec<u64>>(), (0..70).map(|i| 255 - i).collect()];
    for modes in all_modes() {
        let gate = Gate::suf(SufProgram::new(mixed(), modes).unwrap());
        let bundles = Dealer::insecure_from_seed(2).deal(&q, &gate, 70).unwrap();
        let copies =
            [0, 1].map(|party: usize| KeyBundle::from_bytes(&bundles[party].to_bytes()).unwrap().insecure_reusable());
        assert_eq!(copies[0].gate(), &gate, "a bundle carries its program");
        let expected = run_lockstep(&q, Task::Suf, copies, [&x[0], &x[1]]).unwrap();

        let results = both(bundles, |mut session, party, bundle| {
            (session.run(&q, Task::Suf, bundle, &x[party]).unwrap(), session.traffic())
        });
        let cost = gate.cost();
        let bytes = 70 + 70u64.div_ceil(8) * cost.masked_bits + 16 * cost.rounds;
        for ((shares, traffic), expected) in results.into_iter().zip(&expected) {
            assert_eq!(shares.words, expected.words);
            match (&shares.bools, &expected.bools) {
                (BoolShares::Additive(got), BoolShares::Additive(expected)) => assert_eq!(got, expected),
                (BoolShares::Xor(got), BoolShares::Xor(expected)) => assert_eq!(got.words(), expected.words()),
                _ => panic!("different forms"),
            }
            assert_eq!((traffic.sent_bytes, traffic.rounds), (bytes, cost.rounds), "{modes:?}");
        }
    }
}

#[test]
fn foreign_keys_and_wrong_counts_are_refused() {
    let q = runtime::cpu().unwrap();
    let gate = Gate::suf(SufProgram::new(mixed(), SufModes::default()).unwrap());
    let mut dealer = Dealer::insecure_from_seed(2);
    let [bundle, other] = dealer.deal(&q, &gate, 3).unwrap();
    let refused = bundle.with_open_inputs().unwrap().eval(&q, Task::Suf, &[1, 2]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 3, got: 2 });
    let refused = other.with_open_inputs().unwrap().eval(&q, Task::Relu, &[1, 2, 3]).unwrap_err();
    assert_eq!(refused, PfssError::Kind { expected: GateKind::Relu, got: GateKind::Suf });
    let [relu, _] = dealer.deal(&q, &Gate::relu(8).unwrap(), 3).unwrap();
    let refused = relu.with_open_inputs().unwrap().eval(&q, Task::Suf, &[1, 2, 3]).unwrap_err();
    assert_eq!(refused, PfssError::Kind { expected: GateKind::Suf, got: GateKind::Relu });
    assert!(matches!(gate.with_masks(1), Err(PfssError::Cap { max: 0, .. })));
}
