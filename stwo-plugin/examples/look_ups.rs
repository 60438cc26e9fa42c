//! Proves look-ups with stwo's own prover on its SIMD backend and on Trefoil's, and compares the proofs byte for byte.
//!
//! `cargo run --release --example look_ups [-- LOG_ROWS]`, 10 without an argument. The components are taken
//! from stwo's example of a state machine: a state of two coordinates takes `2^LOG_ROWS` steps of the first,
//! then half that number of the second. Each step uses the state that it leaves and yields the one that it
//! leads to. Here the first state and the last enter the transcript too. `TREFOIL_BACKEND` chooses where the
//! second proof is made.
#![allow(missing_docs, reason = "the macro that makes a relation writes none")]

use std::{
    array, env,
    error::Error,
    io::{Write as _, stdout},
    iter::repeat_n,
};

use stwo::{
    core::{
        channel::{Blake2sChannel, Channel as _},
        fields::{FieldExpOps as _, m31::BaseField, qm31::SecureField},
        pcs::{CommitmentSchemeVerifier, PcsConfig},
        poly::circle::CanonicCoset,
        proof::StarkProof,
        utils::bit_reverse_coset_to_circle_domain_order,
        vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
        verifier::verify,
    },
    prover::{
        CommitmentSchemeProver, ComponentProver, ProvingError,
        backend::{
            BackendForChannel,
            simd::{SimdBackend, m31::PackedBaseField, qm31::PackedSecureField},
        },
        poly::{BitReversedOrder, circle::CircleEvaluation},
        prove,
    },
};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkComponent, FrameworkEval, LogupTraceGenerator, Relation as _, RelationEntry,
    TraceLocationAllocator, relation,
};
use trefoil_stwo::TrefoilBackend;

relation!(States, 2);

type Trace<B> = Vec<CircleEvaluation<B, BaseField, BitReversedOrder>>;
type State = [BaseField; 2];

/// A step of one coordinate on each row.
struct StepEval<const AXIS: usize> {
    log_rows: u32,
    states: States,
}

impl<const AXIS: usize> FrameworkEval for StepEval<AXIS> {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let from: [E::F; 2] = array::from_fn(|_| eval.next_trace_mask());
        let mut to = from.clone();
        to[AXIS] += BaseField::from(1);
        let one = E::EF::from(E::F::from(BaseField::from(1)));
        eval.add_to_relation(RelationEntry::new(&self.states, one.clone(), &from));
        eval.add_to_relation(RelationEntry::new(&self.states, -one, &to));
        eval.finalize_logup_in_pairs();
        eval
    }
}

type Components = (FrameworkComponent<StepEval<0>>, FrameworkComponent<StepEval<1>>);

fn components([n, m]: [u32; 2], states: &States, sums: [SecureField; 2]) -> Components {
    let places = &mut TraceLocationAllocator::default();
    let first = FrameworkComponent::new(places, StepEval { log_rows: n, states: states.clone() }, sums[0]);
    (first, FrameworkComponent::new(places, StepEval { log_rows: m, states: states.clone() }, sums[1]))
}

/// The public words: the heights, the first state and the last.
fn words([n, m]: [u32; 2], [x, y]: State) -> [u32; 6] {
    let [last_x, last_y] = last([n, m], [x, y]);
    [n, m, x.0, y.0, last_x.0, last_y.0]
}

fn last([n, m]: [u32; 2], [x, y]: State) -> State {
    [x + BaseField::from(1_u32 << n), y + BaseField::from(1_u32 << m)]
}

/// The states that the steps of one coordinate leave.
fn trace(axis: usize, log_rows: u32, first: State) -> Trace<SimdBackend> {
    let column = |k| {
        let at = |row| if k == axis { first[k] + BaseField::from(row) } else { first[k] };
        let mut rows: Vec<_> = (0..1_u32 << log_rows).map(at).collect();
        bit_reverse_coset_to_circle_domain_order(&mut rows);
        CircleEvaluation::new(CanonicCoset::new(log_rows).circle_domain(), rows.into_iter().collect())
    };
    [0, 1].map(column).into()
}

/// The look-ups of steps of one coordinate, and their sum.
fn look_ups(axis: usize, trace: &Trace<SimdBackend>, states: &States) -> (Trace<SimdBackend>, SecureField) {
    let mut generator = LogupTraceGenerator::new(trace[0].domain.log_size());
    let mut column = generator.new_col();
    for (k, (&x, &y)) in trace[0].values.data.iter().zip(&trace[1].values.data).enumerate() {
        let mut state = [x, y];
        let left: PackedSecureField = states.combine(&state);
        state[axis] += PackedBaseField::broadcast(BaseField::from(1));
        let reached: PackedSecureField = states.combine(&state);
        column.write_frac(k, reached - left, left * reached);
    }
    column.finalize_col();
    generator.finalize_last()
}

type ProofAndSums = (StarkProof<Blake2sMerkleHasher>, [SecureField; 2]);

/// The proof on one backend, which takes columns of the SIMD backend by `columns`, and the sums of the look-ups.
fn proof<B>(
    heights: [u32; 2],
    first: State,
    columns: fn(Trace<SimdBackend>) -> Trace<B>,
) -> Result<ProofAndSums, ProvingError>
where
    B: BackendForChannel<Blake2sMerkleChannel>,
    FrameworkComponent<StepEval<0>>: ComponentProver<B>,
    FrameworkComponent<StepEval<1>>: ComponentProver<B>,
{
    let (config, channel) = (PcsConfig::default(), &mut Blake2sChannel::default());
    let log_domain = heights[0] + 1 + config.fri_config.log_blowup_factor;
    let twiddles = B::precompute_twiddles(CanonicCoset::new(log_domain).circle_domain().half_coset);
    config.mix_into(channel);
    let mut scheme = CommitmentSchemeProver::<B, Blake2sMerkleChannel>::new(config, &twiddles);
    scheme.tree_builder().commit(channel);
    channel.mix_u32s(&words(heights, first));

    let steps = [trace(0, heights[0], first), trace(1, heights[1], [last(heights, first)[0], first[1]])];
    let mut tree = scheme.tree_builder();
    tree.extend_evals(columns(steps.concat()));
    tree.commit(channel);

    let states = States::draw(channel);
    let [(x, x_sum), (y, y_sum)] = [0, 1].map(|axis| look_ups(axis, &steps[axis], &states));
    let sums = [x_sum, y_sum];
    channel.mix_felts(&sums);
    let mut tree = scheme.tree_builder();
    tree.extend_evals(columns([x, y].concat()));
    tree.commit(channel);

    let (x, y) = components(heights, &states, sums);
    Ok((prove(&[&x, &y], channel, scheme)?, sums))
}

/// Has stwo's verifier check a proof, and that its look-ups leave the first state and the last.
fn check(heights: [u32; 2], first: State, (proof, sums): ProofAndSums) -> Result<(), Box<dyn Error>> {
    let (config, channel) = (PcsConfig::default(), &mut Blake2sChannel::default());
    let sizes = |columns| heights.into_iter().flat_map(|log_rows| repeat_n(log_rows, columns)).collect::<Vec<_>>();
    config.mix_into(channel);
    let scheme = &mut CommitmentSchemeVerifier::<Blake2sMerkleChannel>::new(config);
    scheme.commit(proof.commitments[0], &[], channel);
    channel.mix_u32s(&words(heights, first));
    scheme.commit(proof.commitments[1], &sizes(2), channel);
    let states = States::draw(channel);
    channel.mix_felts(&sums);
    scheme.commit(proof.commitments[2], &sizes(4), channel);

    let [used, yielded]: [SecureField; 2] = [first, last(heights, first)].map(|state| states.combine(&state));
    if sums[0] + sums[1] != used.inverse() - yielded.inverse() {
        return Err("the look-ups leave other states".into());
    }
    let (x, y) = components(heights, &states, sums);
    Ok(verify(&[&x, &y], channel, scheme, proof)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let log_rows: u32 = env::args().nth(1).map_or(Ok(10), |word| word.parse())?;
    if !(5..=24).contains(&log_rows) {
        return Err("LOG_ROWS is 5 to 24".into());
    }
    let (heights, first) = ([log_rows, log_rows - 1], [17, 5].map(BaseField::from));
    trefoil_stwo::open()?;
    let on_simd = proof::<SimdBackend>(heights, first, |trace| trace)?;
    let on_trefoil = proof::<TrefoilBackend>(heights, first, TrefoilBackend::columns)?;
    let [expected, bytes] = [&on_simd, &on_trefoil].map(postcard::to_allocvec);
    let bytes = bytes?;
    assert_eq!(bytes, expected?, "the proofs differ");
    check(heights, first, on_trefoil)?;
    writeln!(stdout(), "{} bytes of both proofs and sums are equal, and stwo's verifier takes them", bytes.len())?;
    Ok(())
}
