//! One proof by stwo's SIMD prover.

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::{m31::BaseField, qm31::SecureField},
    pcs::PcsConfig,
    poly::circle::CanonicCoset,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
};
use stwo::prover::{
    CommitmentSchemeProver, ComponentProver,
    backend::simd::{
        SimdBackend,
        m31::{LOG_N_LANES, PackedBaseField},
        qm31::PackedSecureField,
    },
    poly::circle::PolyOps,
    prove,
};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval, LogupTraceGenerator, Relation};

use crate::{
    components::{Collect, Elements, components},
    statement::Statement,
    trace::{Column, column, rows},
};

struct Provers(Vec<Box<dyn ComponentProver<SimdBackend>>>);

impl Collect for Provers {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>) {
        self.0.push(Box::new(component));
    }
}

/// Fractions of one interaction column: for each vector of rows a numerator and a denominator.
type Fractions = Vec<(PackedSecureField, PackedSecureField)>;

/// The proof of a statement, and the claimed sums of its components.
pub fn prove_statement(
    statement: &Statement,
    config: PcsConfig,
    seed: u64,
) -> (StarkProof<Blake2sMerkleHasher>, Vec<SecureField>) {
    let rows = rows(statement, seed);
    let blowup = config.fri_config.log_blowup_factor;
    let preprocessed_heights = statement.preprocessed().into_iter().map(|(_, log_rows)| log_rows);
    let heights = statement.heights().into_iter().chain(preprocessed_heights);
    let largest = (heights.max().unwrap() + 2 + blowup).max(config.lifting_log_size.unwrap_or(0));
    let twiddles = SimdBackend::precompute_twiddles(CanonicCoset::new(largest).circle_domain().half_coset);

    let channel = &mut Blake2sChannel::default();
    config.mix_into(channel);
    let mut scheme = CommitmentSchemeProver::<SimdBackend, Blake2sMerkleChannel>::new(config, &twiddles);

    // With few committed points the constraints are evaluated from coefficients; the proofs are the same either way.
    scheme.set_store_polynomials_coefficients();

    let fixed: Vec<Column> = rows.preprocessed.iter().cloned().map(column).collect();
    let mut tree = scheme.tree_builder();
    tree.extend_evals(fixed.clone());
    tree.commit(channel);
    channel.mix_u32s(&statement.heights());

    let trace: Vec<Vec<Column>> =
        rows.trace.iter().map(|component| component.iter().cloned().map(column).collect()).collect();
    let mut tree = scheme.tree_builder();
    tree.extend_evals(trace.iter().flatten().cloned().collect::<Vec<_>>());
    tree.commit(channel);

    let elements = Elements::draw(statement, channel);
    let mut sums = Vec::new();
    match (statement, &elements) {
        (&Statement::StateMachine { log_rows, in_pairs }, Elements::Pair(states)) => {
            let one = PackedSecureField::broadcast(SecureField::from(BaseField::from(1)));
            let (mut uses, mut yields, mut both) = (Vec::new(), Vec::new(), Vec::new());
            for k in 0..1 << (log_rows - LOG_N_LANES) {
                let [x, y] = [0, 1].map(|i| trace[0][i].values.data[k]);
                let next = x + PackedBaseField::broadcast(BaseField::from(1));
                let (from, to): (PackedSecureField, PackedSecureField) =
                    (states.combine(&[x, y]), states.combine(&[next, y]));
                uses.push((one, from));
                yields.push((-one, to));
                both.push((to - from, from * to));
            }
            let (columns, sum) = interact(log_rows, if in_pairs { vec![both] } else { vec![uses, yields] });
            sums.push(sum);
            commit_interaction(&mut scheme, channel, columns, &sums);
        }
        (&Statement::Xor { log_rows, bits }, Elements::Triple(table)) => {
            let times = |n: u32| PackedSecureField::broadcast(SecureField::from(BaseField::from(n)));
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for k in 0..1 << (log_rows - LOG_N_LANES) {
                let [a, b, c] = [0, 1, 2].map(|i| trace[0][i].values.data[k]);
                let [p, q, r]: [PackedSecureField; 3] =
                    [[a, b, c], [b, a, c], [a, c, b]].map(|values| table.combine(&values));
                first.push((p + q, p * q));
                second.push((times(2), r));
            }
            let (mut columns, used) = interact(log_rows, vec![first, second]);
            let yields = (0..1 << (2 * bits - LOG_N_LANES))
                .map(|k| {
                    let row = [0, 1, 2].map(|i| fixed[i].values.data[k]);
                    (-PackedSecureField::from(trace[1][0].values.data[k]), table.combine(&row))
                })
                .collect();
            let (more, yielded) = interact(2 * bits, vec![yields]);
            columns.extend(more);
            assert_eq!(used + yielded, SecureField::default());
            sums.extend([used, yielded]);
            commit_interaction(&mut scheme, channel, columns, &sums);
        }
        _ => {}
    }
    let mut provers = Provers(Vec::new());
    components(statement, &elements, &sums, &mut provers);
    let provers: Vec<&dyn ComponentProver<SimdBackend>> = provers.0.iter().map(|prover| &**prover).collect();
    (prove(&provers, channel, scheme).expect("the trace satisfies the constraints"), sums)
}

fn interact(log_rows: u32, columns: Vec<Fractions>) -> (Vec<Column>, SecureField) {
    let mut generator = LogupTraceGenerator::new(log_rows);
    for fractions in columns {
        let mut column = generator.new_col();
        for (k, (numerator, denominator)) in fractions.into_iter().enumerate() {
            column.write_frac(k, numerator, denominator);
        }
        column.finalize_col();
    }
    generator.finalize_last()
}

/// Commits the interaction columns. The claimed sums enter the transcript before them.
fn commit_interaction(
    scheme: &mut CommitmentSchemeProver<'_, SimdBackend, Blake2sMerkleChannel>,
    channel: &mut Blake2sChannel,
    columns: Vec<Column>,
    sums: &[SecureField],
) {
    channel.mix_felts(sums);
    let mut tree = scheme.tree_builder();
    tree.extend_evals(columns);
    tree.commit(channel);
}
