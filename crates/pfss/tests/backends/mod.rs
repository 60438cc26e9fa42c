//! Keys and shares are the same bit for bit on the processor, on the shipped kernels, which the simulated driver runs,
//! and in an implementation of their own in Python.

mod golden;
mod memory;
mod play;

use pfss::{
    Dealer, Gate, GateKind, Interval, KeyBundle, Predicate, SignedRange,
    suf::{BoolMode, CoeffMode, Pred, PredProgram, SufModes},
};
use play::Questions;
use runtime::AnyQueue;

use crate::common::{
    descriptor,
    queues::{Sim, cpu},
    suf_gate, two_bits, words,
};

/// Two pieces, a bit over all bits of `x` and one over two classes of them.
fn suf(preds: PredProgram, coeffs: CoeffMode, bools: BoolMode) -> Gate {
    let of = [Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }];
    let desc = descriptor(20, &of, &two_bits(), &[(0, &[&[1, 2, 3]]), (70_000, &[&[4, 5]])]);
    suf_gate(desc, SufModes { preds, coeffs, bools })
}

fn gates() -> Vec<Gate> {
    let mut gates = vec![
        Gate::full_predicates(33).unwrap().with_masks(2).unwrap(),
        Gate::sign_predicates(16).unwrap().with_masks(1).unwrap(),
        Gate::low_predicates(64, 12).unwrap().with_masks(1).unwrap(),
        Gate::relu(64).unwrap(),
        Gate::truncate_reduce(40, 9).unwrap(),
        Gate::gap_ars(64, 12).unwrap(),
        Gate::gap_ars_to(43, 12, 64).and_then(Gate::in_one_round).unwrap(),
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

/// Everything that one party opens and computes from public inputs; the peer's part of each opening is taken to be zero.
fn evaluate(q: &AnyQueue, bundle: KeyBundle, x_hat: &[u64]) -> Vec<u64> {
    let kind = bundle.gate().kind();
    let questions = Questions {
        predicates: match kind {
            GateKind::FullPredicates => vec![Predicate::Lt { beta: 12_345 }; bundle.gate().masks() as usize],
            GateKind::SignPredicates => vec![Predicate::NonNegative; bundle.gate().masks() as usize],
            GateKind::LowPredicates => vec![Predicate::LowLt { gamma: 77 }; bundle.gate().masks() as usize],
            _ => vec![],
        },
        intervals: vec![Interval { start: 3, end: Some(900) }, Interval { start: 900, end: None }],
        table: if kind == GateKind::Lut { (0..1 << bundle.gate().n()).collect() } else { vec![] },
        range: SignedRange::of_bits(bundle.gate().n()),
    };
    let mut turn = questions.start(q, bundle, x_hat);
    let mut seen = Vec::new();
    while let Some((bits, words)) = turn.opening() {
        let zeros = (vec![0; bits.len()], vec![0; words.len()]);
        seen.extend(bits.iter().map(|&bits| u64::from(bits)).chain(words));
        turn = turn.absorb(q, &zeros.0, &zeros.1);
    }
    seen.extend(turn.into_shares());
    seen
}

/// Deals and evaluates on both backends, and compares everything bit for bit.
fn assert_equal(gates: &[Gate], counts: &[usize]) {
    let (machine, cpu) = (Sim::new(""), cpu(None));
    let sim = machine.queue(None);
    for gate in gates {
        for &count in counts {
            let ring = gate.ring();
            let x_hat: Vec<u64> = words(count, 1).into_iter().map(|word| ring.reduce(word)).collect();
            let deal = |q: &AnyQueue| Dealer::insecure_from_seed(8).deal(q, gate, count).unwrap();
            for (mine, theirs) in deal(&cpu).into_iter().zip(deal(&sim)) {
                assert_eq!(mine.to_bytes(), theirs.to_bytes(), "keys of {}", gate.kind());
                // party 0's are expanded from their seed
                let theirs = KeyBundle::from_bytes(&theirs.to_bytes()).unwrap().insecure_reusable();
                let (expected, got) = (evaluate(&cpu, mine, &x_hat), evaluate(&sim, theirs, &x_hat));
                assert_eq!(got, expected, "{count} shares of {}", gate.kind());
            }
        }
    }
}

/// One element more than those whose words go to the device at once.
#[test]
fn sums_in_parts_are_the_same_on_both() {
    assert_equal(&[Gate::full_predicates(14).unwrap().with_masks(Gate::MAX_MASKS).unwrap()], &[993]);
}

#[test]
fn keys_and_shares_are_the_same_on_the_processor_and_on_the_shipped_kernels() {
    assert_equal(&gates(), &[1, 33]);
}

/// Around words of bits and blocks of threads, with a truth table, a tree and a tree with payload.
#[test]
fn keys_and_shares_of_every_batch_size_are_the_same_on_both() {
    let table = Gate::low_predicates(64, 7).unwrap().with_masks(1).unwrap();
    let gates = [table, Gate::truncate_reduce(40, 9).unwrap(), Gate::interval_powers(10, 1).unwrap()];
    assert_equal(&gates, &[31, 32, 255, 256, 257]);
    assert_equal(&gates[1..2], &[(1 << 12) + 1]);
}
