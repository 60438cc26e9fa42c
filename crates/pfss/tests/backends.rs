//! Keys and shares are the same bit for bit on the processor and on the shipped kernels, which the simulated driver
//! runs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use pfss::{
    Dealer, Gate, GateKind, Interval, KeyBundle, Pending, Predicate, SignedRange, SufBools, SufStep,
    suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufModes, SufProgram, SufSpec},
};
use runtime::{AnyQueue, Choice, Domain, Settings};

fn open(choice: Choice) -> AnyQueue {
    runtime::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).unwrap().0
}

/// Two pieces, a bit over all bits of `x` and one over two classes of them.
fn suf(preds: PredProgram, coeffs: CoeffMode, bools: BoolMode) -> Gate {
    let piece = |start, poly: &[u64]| Piece {
        start,
        polys: vec![poly.to_vec()],
        bools: vec![BoolExpr::Var(0), BoolExpr::Var(0) & BoolExpr::Var(1)],
    };
    let desc = SufDesc::new(SufSpec {
        n: 20,
        degree: 2,
        words: vec!["y".into()],
        bools: vec!["a".into(), "b".into()],
        preds: vec![Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }],
        pieces: vec![piece(0, &[1, 2, 3]), piece(70_000, &[4, 5])],
    });
    Gate::suf(SufProgram::new(desc.unwrap(), SufModes { preds, coeffs, bools }).unwrap())
}

fn gates() -> Vec<Gate> {
    let mut gates = vec![
        Gate::full_predicates(33).unwrap().with_masks(2).unwrap(),
        Gate::sign_predicates(16).unwrap().with_masks(1).unwrap(),
        Gate::low_predicates(64, 12).unwrap().with_masks(1).unwrap(),
        Gate::relu(64).unwrap(),
        Gate::truncate_reduce(40, 9).unwrap(),
        Gate::gap_ars(64, 12).unwrap(),
        Gate::interval_powers(20, 2).unwrap(),
        Gate::lrs(24, 5).unwrap(),
        Gate::ars(64, 12).unwrap(),
        Gate::relu_ars(30, 11).unwrap(),
        Gate::lut(9, 40).unwrap(),
    ];
    gates.push(suf(PredProgram::SharedAlpha, CoeffMode::MaskedSelect, BoolMode::Additive));
    gates.push(suf(PredProgram::SharedAlpha, CoeffMode::IntervalLut, BoolMode::XorPacked));
    gates.push(suf(PredProgram::StepDcf, CoeffMode::StepDcf, BoolMode::Additive));
    gates
}

/// Everything that one party computes from public inputs; the peer's part of each opening is taken to be zero.
fn evaluate(q: &AnyQueue, bundle: KeyBundle, x_hat: &[u64]) -> Vec<u64> {
    let mut seen = Vec::new();
    let finish = |pending: Pending, seen: &mut Vec<u64>| {
        seen.extend(pending.masked_bits().iter().map(|&bits| u64::from(bits)));
        seen.extend_from_slice(pending.masked_words());
        let (bits, words) = (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
        seen.extend(pending.finish_with(&bits, &words).unwrap());
    };
    let predicates = |predicate: Predicate| vec![predicate; bundle.gate().masks() as usize];
    let pending = match bundle.gate().kind() {
        GateKind::FullPredicates => {
            let all = predicates(Predicate::Lt { beta: 12_345 });
            bundle.eval_predicates_additive(q, &all, x_hat)
        }
        GateKind::SignPredicates => {
            let all = predicates(Predicate::NonNegative);
            bundle.eval_predicates_additive(q, &all, x_hat)
        }
        GateKind::LowPredicates => {
            let all = predicates(Predicate::LowLt { gamma: 77 });
            bundle.eval_predicates_additive(q, &all, x_hat)
        }
        GateKind::Relu => bundle.eval_relu(q, x_hat),
        GateKind::TruncateReduce => bundle.eval_truncate_reduce(q, x_hat),
        GateKind::GapArs => {
            let cert = SignedRange::new(-5, 5).unwrap().gap_cert(bundle.gate().n()).unwrap();
            bundle.eval_gap_ars(q, &cert, x_hat)
        }
        GateKind::Lrs => bundle.eval_lrs(q, x_hat),
        GateKind::Ars => bundle.eval_ars(q, x_hat),
        GateKind::ReluArs => bundle.eval_relu_ars(q, x_hat),
        GateKind::Lut => {
            let table: Vec<u64> = (0..1 << bundle.gate().n()).collect();
            bundle.eval_lut(q, &table, x_hat)
        }
        GateKind::IntervalPowers => {
            let intervals = [Interval { start: 3, end: Some(900) }, Interval { start: 900, end: None }];
            return bundle.eval_interval_powers(q, &intervals, x_hat).unwrap();
        }
        GateKind::Suf => {
            let mut step = bundle.eval_suf(q, x_hat).unwrap();
            loop {
                match step {
                    SufStep::Open(pending) => {
                        seen.extend(pending.masked_bits().iter().map(|&bits| u64::from(bits)));
                        let zeros = vec![0; pending.masked_bits().len()];
                        step = pending.finish(&zeros).unwrap();
                    }
                    SufStep::Done(shares) => {
                        seen.extend(shares.words);
                        match shares.bools {
                            SufBools::Additive(words) => seen.extend(words),
                            SufBools::Xor(bits) => seen.extend(bits.words().iter().map(|&bits| u64::from(bits))),
                        }
                        return seen;
                    }
                }
            }
        }
        other => panic!("{other} walks no keys"),
    };
    finish(pending.unwrap(), &mut seen);
    seen
}

#[test]
fn keys_and_shares_are_the_same_on_the_processor_and_on_the_shipped_kernels() {
    let (cpu, sim) = (open(Choice::Cpu), open(Choice::Sim));
    for gate in gates() {
        for count in [1usize, 33] {
            let ring = gate.ring();
            let x_hat: Vec<u64> =
                (1..=count as u64).map(|i| ring.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
            let deal = |q: &AnyQueue| Dealer::insecure_from_seed(8).deal(q, &gate, count).unwrap();
            for (mine, theirs) in deal(&cpu).into_iter().zip(deal(&sim)) {
                assert_eq!(mine.to_bytes(), theirs.to_bytes(), "keys of {}", gate.kind());
                let (expected, got) = (evaluate(&cpu, mine, &x_hat), evaluate(&sim, theirs, &x_hat));
                assert_eq!(got, expected, "{count} shares of {}", gate.kind());
            }
        }
    }
}
