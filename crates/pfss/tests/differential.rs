//! Random descriptors on shares against a model of their own: it reads the parts of a descriptor and shares no code with the
//! crate.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, Hasher, RandomState},
};

use fastrand::Rng;
use pfss::{
    BoolShares, Dealer, Gate, MaskedKeys, Shares, SignedRange, Task,
    batch::{BatchConfig, Fit, Job, SuperBatch, finalize_lockstep},
    eval_lockstep,
    suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufError, SufModes, SufProgram, SufSpec},
};

/// Programs of a run.
const PROGRAMS: usize = 2_000;
/// The seed of a run that failed, to repeat it; `None` draws one.
const REPEAT: Option<u64> = None;

/// A number of `bits` bits, often one near a corner.
fn word(rng: &mut Rng, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let half = 1u64 << (bits - 1);
    let corner = rng.choice([0, 1, half.wrapping_sub(1), half, half + 1, mask, mask.wrapping_sub(1)]).unwrap();
    let free = rng.u64(..);
    rng.choice([corner, free, free]).unwrap() & mask
}

fn formula(rng: &mut Rng, preds: usize, depth: u32) -> BoolExpr {
    let leaf = depth == 0 || rng.u32(..3) == 0;
    if leaf {
        let constant = preds == 0 || rng.u32(..4) == 0;
        return if constant { BoolExpr::Const(rng.bool()) } else { BoolExpr::Var(rng.usize(..preds)) };
    }
    let mut operand = || formula(rng, preds, depth - 1);
    let (a, b) = (operand(), operand());
    match rng.u32(..4) {
        0 => !a,
        1 => a ^ b,
        2 => a & b,
        _ => a | b,
    }
}

/// A random descriptor of `n` bits.
fn spec(rng: &mut Rng, n: u32) -> SufSpec {
    let degree = rng.choice([0, 0, 1, 1, 2, 3, 7]).unwrap();
    let (words, bools) = (rng.usize(..4), rng.usize(..4));
    let preds: Vec<Pred> = (0..rng.u32(..5))
        .map(|_| match rng.u32(..4) {
            0 => Pred::Lt { beta: word(rng, n) },
            1 => {
                let f = rng.u32(1..=n);
                Pred::LtLow { f, gamma: word(rng, f) }
            }
            2 => Pred::Msb,
            _ => Pred::MsbAdd { c: word(rng, n) },
        })
        .collect();
    let starts: BTreeSet<u64> = (0..rng.u32(..6)).map(|_| word(rng, n)).chain([0]).collect();
    let same = rng.bool().then(|| (0..bools).map(|_| formula(rng, preds.len(), 3)).collect::<Vec<_>>());
    let pieces = starts.into_iter().map(|start| Piece {
        start,
        polys: (0..words).map(|_| (0..rng.u32(..degree + 2)).map(|_| word(rng, n)).collect()).collect(),
        bools: same.clone().unwrap_or_else(|| (0..bools).map(|_| formula(rng, preds.len(), 3)).collect()),
    });
    let pieces = pieces.collect();
    let names = |letter: char, count: usize| (0..count).map(|i| format!("{letter}{i}")).collect();
    SufSpec { n, degree, words: names('w', words), bools: names('b', bools), preds, pieces }
}

/// Whether a predicate holds, in wide integers.
fn holds(pred: Pred, n: u32, x: u64) -> bool {
    let (x, size) = (u128::from(x), 1u128 << n);
    match pred {
        Pred::Lt { beta } => x < u128::from(beta),
        Pred::LtLow { f, gamma } => x % (1u128 << f) < u128::from(gamma),
        Pred::Msb => 2 * x >= size,
        Pred::MsbAdd { c } => 2 * ((x + u128::from(c)) % size) >= size,
        _ => panic!("a predicate that this model does not know"),
    }
}

fn value(formula: &BoolExpr, preds: &[bool]) -> bool {
    match formula {
        BoolExpr::Const(value) => *value,
        BoolExpr::Var(index) => preds[*index],
        BoolExpr::Not(a) => !value(a, preds),
        BoolExpr::Xor(a, b) => value(a, preds) != value(b, preds),
        BoolExpr::And(a, b) => value(a, preds) && value(b, preds),
        BoolExpr::Or(a, b) => value(a, preds) || value(b, preds),
    }
}

/// Words and bits at `x`: the last piece that starts at or below it, its polynomials by powers, its formulas.
fn plain(spec: &SufSpec, x: u64) -> (Vec<u64>, Vec<bool>) {
    let modulus = 1u128 << spec.n;
    let piece = spec.pieces.iter().rev().find(|piece| piece.start <= x).expect("a piece from 0 on");
    let word = |poly: &Vec<u64>| {
        let (mut sum, mut power) = (0u128, 1u128);
        for &c in poly {
            sum = (sum + u128::from(c) * power) % modulus; // both below 2^64
            power = power * u128::from(x) % modulus;
        }
        sum as u64
    };
    let preds: Vec<bool> = spec.preds.iter().map(|&pred| holds(pred, spec.n, x)).collect();
    (piece.polys.iter().map(word).collect(), piece.bools.iter().map(|formula| value(formula, &preds)).collect())
}

/// Signed integers of `k` bits, as elements of a ring of `n`: corners, neighbours of all constants, others.
fn inputs(rng: &mut Rng, spec: &SufSpec, k: u32) -> Vec<u64> {
    let (n, half) = (spec.n, 1u64 << (k - 1));
    let mask = u64::MAX >> (64 - n);
    let mut all = vec![0, 1, half - 1, half.wrapping_neg() & mask, mask];
    for start in spec.pieces.iter().map(|piece| piece.start) {
        all.extend([start.wrapping_sub(1) & mask, start]);
    }
    for &pred in &spec.preds {
        let (Pred::Lt { beta: at } | Pred::LtLow { gamma: at, .. } | Pred::MsbAdd { c: at }) = pred else { continue };
        all.extend([at.wrapping_sub(1) & mask, at, at.wrapping_neg() & mask]);
    }
    all.extend((0..4).map(|_| word(rng, n)));
    // the sign of the low k bits, extended
    all.iter_mut().for_each(|x| *x = (((*x << (64 - k)).cast_signed()) >> (64 - k)).cast_unsigned() & mask);
    all
}

/// Both parties' shares, step by step.
fn step_by_step(keys: [MaskedKeys; 2], x_hat: &[u64]) -> [Shares; 2] {
    eval_lockstep(&runtime::cpu().unwrap(), Task::Suf, keys, x_hat).unwrap()
}

/// Both parties' shares from super-batches that cut the job in parts of 32 elements.
fn in_parts(keys: [MaskedKeys; 2], x_hat: &[u64]) -> [Shares; 2] {
    let q = runtime::cpu().unwrap();
    let config = BatchConfig { fit: Fit::Split, part: 32, ..BatchConfig::default() };
    let [(mut zero, first), (mut one, second)] = keys.map(|keys| {
        let mut batch = SuperBatch::new(&q, None, config).unwrap();
        let handle = batch.enqueue(Job::new(Task::Suf, keys, x_hat.to_vec())).unwrap();
        batch.flush().unwrap();
        (batch, handle)
    });
    finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
    [zero.take(first), one.take(second)].map(Result::unwrap)
}

/// What both parties' shares add up to: words, then bits, element by element.
fn opened(n: u32, shares: &[Shares; 2], count: usize, bits: usize) -> (Vec<u64>, Vec<u64>) {
    let mask = u64::MAX >> (64 - n);
    let add = |a: &[u64], b: &[u64]| -> Vec<u64> {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| a.wrapping_add(*b) & mask).collect()
    };
    let [zero, one] = shares;
    let bools = match (&zero.bools, &one.bools) {
        (BoolShares::Additive(a), BoolShares::Additive(b)) => add(a, b),
        (BoolShares::Xor(a), BoolShares::Xor(b)) => {
            assert_eq!([a.words().len(), b.words().len()], [bits * count.div_ceil(32); 2]);
            let at = |e: usize, bit: usize| {
                let word = bit * count.div_ceil(32) + e / 32;
                u64::from((a.words()[word] ^ b.words()[word]) >> (e % 32) & 1)
            };
            (0..count).flat_map(|e| (0..bits).map(move |bit| (e, bit))).map(|(e, bit)| at(e, bit)).collect()
        }
        _ => panic!("the parties hold different forms"),
    };
    (add(&zero.words, &one.words), bools)
}

/// One program, compared at many inputs; `false` if the caps refuse it.
fn compare(seed: u64) -> bool {
    let mut rng = Rng::with_seed(seed);
    let n = rng.choice([1, 2, 3, 5, 8, 8, 13, 16, 31, 32, 33, 63, 64, 64]).unwrap();
    let spec = spec(&mut rng, n);
    let modes = SufModes {
        preds: rng.choice([PredProgram::SharedAlpha, PredProgram::SharedAlpha, PredProgram::StepDcf]).unwrap(),
        coeffs: rng.choice([CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect]).unwrap(),
        bools: rng.choice([BoolMode::XorPacked, BoolMode::Additive]).unwrap(),
    };
    let desc = SufDesc::new(spec.clone()).unwrap();
    let k = if rng.bool() { n } else { rng.u32(1..=n) };
    let program = match SufProgram::within(desc, modes, SignedRange::of_bits(k)) {
        Ok(program) => program,
        Err(SufError::Cap { .. }) => return false,
        Err(error) => panic!("seed {seed:#x}: {error}"),
    };
    let x = inputs(&mut rng, &spec, k);
    let masks: Vec<u64> = x.iter().map(|_| word(&mut rng, n)).collect();
    let mask = u64::MAX >> (64 - n);
    let x_hat: Vec<u64> = x.iter().zip(&masks).map(|(x, r)| x.wrapping_add(*r) & mask).collect();
    let q = runtime::cpu().unwrap();
    let bundles = Dealer::insecure_from_seed(seed).insecure_deal_for_masks(&q, &Gate::suf(program), &masks).unwrap();
    let keys = bundles.map(|bundle| bundle.with_open_inputs().unwrap());
    let shares = if rng.u32(..4) == 0 { in_parts(keys, &x_hat) } else { step_by_step(keys, &x_hat) };
    let (words, bools) = (spec.words.len(), spec.bools.len());
    let got = opened(n, &shares, x.len(), bools);
    assert_eq!((got.0.len(), got.1.len()), (words * x.len(), bools * x.len()), "seed {seed:#x}: {modes:?}, {spec:?}");
    for (e, (&x, &r)) in x.iter().zip(&masks).enumerate() {
        let expected = plain(&spec, x);
        let of_element = (&got.0[words * e..][..words], &got.1[bools * e..][..bools]);
        let bits: Vec<u64> = expected.1.iter().map(|&bit| bit.into()).collect();
        let what = || format!("seed {seed:#x}: {modes:?}, inputs of {k} bits, x = {x:#x}, r = {r:#x}, {spec:?}");
        assert_eq!(of_element, (&expected.0[..], &bits[..]), "{}", what());
    }
    true
}

#[test]
fn random_descriptors_agree_with_a_plain_model() {
    let seed = REPEAT.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("seed {seed:#x}");
    let mut seeds = Rng::with_seed(seed);
    let compared = (0..).map(|_| compare(seeds.u64(..))).filter(|&within_caps| within_caps).take(PROGRAMS).count();
    assert_eq!(compared, PROGRAMS);
}
