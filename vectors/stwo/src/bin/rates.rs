//! Times ops of stwo's SIMD backend and whole proofs.
//!
//! They are the peers that `trefoil bench` names with recorded times
//! (`crates/yardstick/src/peers/stwo.rs`).
//!
//! `rates ROUNDS` prints medians by the names of this project's speed lines, in nanoseconds for a
//! unit of work of the line. Build it with `-C target-cpu=native`, or `haswell` for AVX2, and run
//! it on one core.

use std::{collections::BTreeMap, env, hint::black_box, time::Instant};

use stwo::core::{
    circle::SECURE_FIELD_CIRCLE_GEN,
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
    pcs::{
        TreeVec,
        quotients::{ColumnSampleBatch, PointSample, build_samples_with_randomness_and_periodicity},
    },
    poly::circle::CanonicCoset,
    vcs_lifted::blake2_merkle::Blake2sMerkleHasher,
};
use stwo::prover::{
    QuotientOps,
    backend::simd::{SimdBackend, column::BaseColumn, m31::PackedM31, qm31::PackedQM31},
    fri::FriOps,
    poly::{
        BitReversedOrder,
        circle::{CircleCoefficients, CircleEvaluation, PolyOps, SecureEvaluation},
    },
    secure_column::SecureColumnByCoords,
    vcs_lifted::ops::MerkleOpsLifted,
};
use stwo_vectors::timed::{fibonacci::Fibonacci, permutations::Permutations};

/// Lanes of a packed value.
const LANES: usize = 16;

fn element(i: u32) -> BaseField {
    BaseField::from(i.wrapping_mul(0x9e37_79b9) >> 1)
}

fn column(log_size: u32) -> BaseColumn {
    (0..1 << log_size).map(element).collect()
}

fn secure(i: u32) -> SecureField {
    SecureField::from_m31_array(core::array::from_fn(|k| element(4 * i + k as u32 + 1)))
}

/// Medians of nanoseconds, by line.
struct Rates {
    rounds: usize,
    lines: BTreeMap<String, f64>,
}

impl Rates {
    /// Times `run` on what `feed` makes, which is not timed.
    fn line<T, O>(
        &mut self,
        id: impl Into<String>,
        work: f64,
        mut feed: impl FnMut() -> T,
        mut run: impl FnMut(T) -> O,
    ) {
        let mut times: Vec<f64> = (0..=self.rounds)
            .map(|_| {
                let input = feed();
                let start = Instant::now();
                let output = black_box(run(input));
                let time = start.elapsed().as_secs_f64();
                drop(output);
                time
            })
            .skip(1)
            .collect();
        times.sort_by(f64::total_cmp);
        self.lines.insert(id.into(), times[times.len() / 2] * 1e9 / work);
    }
}

fn transforms(rates: &mut Rates) {
    for log_size in [16, 20, 22, 24] {
        let domain = CanonicCoset::new(log_size).circle_domain();
        let twiddles = SimdBackend::precompute_twiddles(domain.half_coset);
        let (values, work) = (column(log_size), f64::from(log_size) * f64::from(1u32 << log_size));
        let evaluation = || CircleEvaluation::<SimdBackend, BaseField, BitReversedOrder>::new(domain, values.clone());
        rates.line(format!("circle.interpolate/{log_size}"), work, evaluation, |evaluation| {
            evaluation.interpolate_with_twiddles(&twiddles)
        });
        let coefficients = CircleCoefficients::<SimdBackend>::new(values.clone());
        rates.line(
            format!("circle.evaluate/{log_size}"),
            work,
            || (),
            |()| coefficients.evaluate_with_twiddles(domain, &twiddles),
        );
    }
    for log_size in [20, 24] {
        let (coefficients, work) =
            (CircleCoefficients::<SimdBackend>::new(column(log_size)), f64::from(1u32 << log_size));
        rates.line(
            format!("circle.eval_at_point/{log_size}"),
            work,
            || (),
            |()| SimdBackend::eval_at_point(&coefficients, SECURE_FIELD_CIRCLE_GEN),
        );
        let coset = CanonicCoset::new(log_size).circle_domain().half_coset;
        rates.line(
            format!("circle.twiddles/{log_size}"),
            work / 2.0,
            || (),
            |()| SimdBackend::precompute_twiddles(coset),
        );
    }
}

fn inverses(rates: &mut Rates) {
    const LOG_SIZE: u32 = 20;
    let work = f64::from(1u32 << LOG_SIZE);
    let packed = |i: u32| PackedM31::from_array(core::array::from_fn(|k| element(LANES as u32 * i + k as u32 + 1)));
    let base: Vec<PackedM31> = (0..(1 << LOG_SIZE) / LANES as u32).map(packed).collect();
    rates.line(format!("circle.batch_inverse_m31/{LOG_SIZE}"), work, || (), |()| PackedM31::batch_inverse(&base));
    let packed = |i: u32| PackedQM31::from_array(core::array::from_fn(|k| secure(LANES as u32 * i + k as u32)));
    let extension: Vec<PackedQM31> = (0..(1 << LOG_SIZE) / LANES as u32).map(packed).collect();
    rates.line(
        format!("circle.batch_inverse_qm31/{LOG_SIZE}"),
        work,
        || (),
        |()| PackedQM31::batch_inverse(&extension),
    );
}

fn trees(rates: &mut Rates) {
    const LOG_LEAVES: u32 = 19;
    let leaves = |columns: &[&BaseColumn]| {
        <SimdBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_leaves(columns, LOG_LEAVES)
    };
    for count in [100, 4] {
        let columns = vec![column(LOG_LEAVES); count];
        let columns: Vec<&BaseColumn> = columns.iter().collect();
        let work = count.div_ceil(16) as f64 * f64::from(1u32 << LOG_LEAVES);
        rates.line(format!("merkle.leaves/{count}x2^{LOG_LEAVES}"), work, || (), |()| leaves(&columns));
    }
    let lowest = leaves(&[&column(LOG_LEAVES)]);
    let work = f64::from((1u32 << LOG_LEAVES) - 1);
    rates.line(
        format!("merkle.tree/2^{LOG_LEAVES}"),
        work,
        || (),
        |()| {
            let mut levels = vec![lowest.clone()];
            while levels.last().is_some_and(|level| level.len() > 1) {
                let above =
                    <SimdBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_next_layer(&levels[levels.len() - 1]);
                levels.push(above);
            }
            levels
        },
    );
}

fn quotients(rates: &mut Rates) {
    const LOG_ROWS: u32 = 18;
    const COLUMNS: usize = 108;
    let domain = CanonicCoset::new(LOG_ROWS + 1).circle_domain();
    let columns: Vec<_> = (0..COLUMNS)
        .map(|_| CircleEvaluation::<SimdBackend, BaseField, BitReversedOrder>::new(domain, column(LOG_ROWS + 1)))
        .collect();
    let columns: Vec<_> = columns.iter().collect();
    let samples = vec![vec![PointSample { point: SECURE_FIELD_CIRCLE_GEN, value: secure(1) }]; COLUMNS];
    let sizes = vec![vec![LOG_ROWS + 1; COLUMNS].into_iter()];
    let samples =
        build_samples_with_randomness_and_periodicity(&TreeVec(vec![samples]), sizes, LOG_ROWS + 1, secure(2));
    let batches = ColumnSampleBatch::new_vec(&samples.iter().flatten().collect::<Vec<_>>());
    // The numerators alone, which are nearly all of it: stwo's quotients come extended.
    let work = COLUMNS as f64 * f64::from(1u32 << LOG_ROWS);
    rates.line("deep.quotients/108x18", work, Vec::new, |mut numerators| {
        SimdBackend::accumulate_numerators(&columns, &batches, &mut numerators, 1);
        numerators
    });

    const LOG_SIZE: u32 = 20;
    let domain = CanonicCoset::new(LOG_SIZE).circle_domain();
    let twiddles = SimdBackend::precompute_twiddles(domain.half_coset);
    let planes = SecureColumnByCoords { columns: core::array::from_fn(|_| column(LOG_SIZE)) };
    let values = SecureEvaluation::<SimdBackend, BitReversedOrder>::new(domain, planes);
    rates.line(
        format!("fri.fold/{LOG_SIZE}"),
        f64::from(1u32 << LOG_SIZE),
        || (),
        |()| SimdBackend::fold_circle_into_line(&values, secure(3), &twiddles),
    );
}

/// Whole proofs.
fn proofs(rates: &mut Rates) {
    let fibonacci = Fibonacci::new(18, 100);
    let trace = || fibonacci.trace();
    rates.line("stark.prove/fibonacci-100x2^18", f64::from(100 << 18), trace, |trace| fibonacci.prove(trace));
    let permutations = Permutations::new(16);
    let trace = || permutations.trace();
    rates.line("stark.prove/poseidon2-2^16", f64::from(300 << 16), trace, |trace| permutations.prove(trace));
}

fn main() {
    let rounds = env::args().nth(1).map_or(15, |rounds| rounds.parse().expect("a number of rounds"));
    let mut rates = Rates { rounds, lines: BTreeMap::new() };
    transforms(&mut rates);
    inverses(&mut rates);
    trees(&mut rates);
    quotients(&mut rates);
    proofs(&mut rates);
    for (id, nanoseconds) in rates.lines {
        println!("{id:32} {nanoseconds:.4}");
    }
}
