//! Components of kinds absent from the vectors, compared with stwo's SIMD backend.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(missing_docs, reason = "the macro that makes a relation writes none")]

use stwo::{
    core::{
        channel::{Blake2sChannel, Channel as _},
        fields::{FieldExpOps as _, m31::BaseField, qm31::SecureField},
        fri::FriConfig,
        pcs::PcsConfig,
        poly::circle::CanonicCoset,
        vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
    },
    prover::{
        CommitmentSchemeProver, ComponentProver,
        backend::{BackendForChannel, simd::SimdBackend},
        poly::circle::CircleEvaluation,
        prove,
    },
};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkComponent, FrameworkEval, INTERACTION_TRACE_IDX, RelationEntry, TraceLocationAllocator,
    relation,
};
use trefoil_stwo::TrefoilBackend;

relation!(Values, 1);

/// A component of `2^log_rows` rows.
struct ComponentEval {
    log_rows: u32,
    states: States,
}

/// The statement on each row.
#[derive(Clone)]
enum States {
    /// The second column holds the cubes of the first, and a public word more.
    Cubes { word: u32 },
    /// Interaction columns in addition to look-ups: each row times a challenge.
    ///
    /// Each row is looked up and taken back.
    Weighted { weight: SecureField, values: Values },
    /// Nothing.
    Free,
}

impl FrameworkEval for ComponentEval {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let x = eval.next_trace_mask();
        match &self.states {
            States::Cubes { word } => {
                let y = eval.next_trace_mask();
                eval.add_constraint(y - x.square() * x - E::F::from((*word).into()));
            }
            States::Weighted { weight, values } => {
                let [weighted] = eval.next_extension_interaction_mask(INTERACTION_TRACE_IDX, [0]);
                eval.add_constraint(weighted - E::EF::from(x.clone()) * *weight);
                for multiplicity in [1, -1] {
                    let multiplicity = E::EF::from(E::F::from(BaseField::from(multiplicity)));
                    eval.add_to_relation(RelationEntry::new(values, multiplicity, std::slice::from_ref(&x)));
                }
                eval.finalize_logup_in_pairs();
            }
            States::Free => {}
        }
        eval
    }
}

/// The components of a proof, by heights.
///
/// They are cubes, weighted rows, a column without constraints, and disabled cubes.
#[derive(Clone, Default)]
struct Proven {
    cubes: Vec<u32>,
    weighted: Vec<u32>,
    free: Vec<u32>,
    disabled: usize,
}

fn words(log_rows: u32) -> Vec<BaseField> {
    (0..1u32 << log_rows).map(|row| BaseField::from(row.wrapping_mul(0x9e37_79b9) >> 1)).collect()
}

/// The proof's bytes on one backend.
fn bytes<B: BackendForChannel<Blake2sMerkleChannel>>(proven: &Proven, config: PcsConfig) -> Vec<u8>
where
    FrameworkComponent<ComponentEval>: ComponentProver<B>,
{
    let domain = |log_rows| CanonicCoset::new(log_rows).circle_domain();
    let evaluation =
        |rows: Vec<BaseField>| CircleEvaluation::new(domain(rows.len().ilog2()), rows.into_iter().collect());
    let twiddles = B::precompute_twiddles(domain(14).half_coset);
    let channel = &mut Blake2sChannel::default();
    let mut scheme = CommitmentSchemeProver::<B, Blake2sMerkleChannel>::new(config, &twiddles);
    scheme.set_store_polynomials_coefficients();
    scheme.tree_builder().commit(channel);

    let word = 77;
    let mut tree = scheme.tree_builder();
    for &log_rows in &proven.cubes {
        let x = words(log_rows);
        let y = x.iter().map(|&x| x.pow(3) + BaseField::from(word)).collect();
        tree.extend_evals(vec![evaluation(x), evaluation(y)]);
    }
    tree.extend_evals(
        proven.weighted.iter().chain(&proven.free).map(|&log_rows| evaluation(words(log_rows))).collect(),
    );
    tree.extend_evals((0..2 * proven.disabled).map(|_| CircleEvaluation::zero_padding()).collect());
    tree.commit(channel);

    let (weight, values) = (channel.draw_secure_felt(), Values::draw(channel));
    if !proven.weighted.is_empty() {
        let mut tree = scheme.tree_builder();
        for &log_rows in &proven.weighted {
            let weighted = |k: usize| words(log_rows).iter().map(|&x| (weight * x).to_m31_array()[k]).collect();
            tree.extend_evals((0..4).map(|k| evaluation(weighted(k))).collect());
            tree.extend_evals((0..4).map(|_| evaluation(vec![BaseField::default(); 1 << log_rows])).collect());
        }
        tree.commit(channel);
    }

    let places = &mut TraceLocationAllocator::default();
    let (cubes, weighted) = (States::Cubes { word }, States::Weighted { weight, values });
    let kinds = [(&proven.cubes, &cubes), (&proven.weighted, &weighted), (&proven.free, &States::Free)];
    let kinds = kinds.into_iter().flat_map(|(heights, states)| heights.iter().map(move |&log_rows| (log_rows, states)));
    let mut components: Vec<_> = kinds
        .map(|(log_rows, states)| ComponentEval { log_rows, states: states.clone() })
        .map(|kind| FrameworkComponent::new(places, kind, SecureField::default()))
        .collect();
    components.extend(
        (0..proven.disabled)
            .map(|_| FrameworkComponent::disabled(places, ComponentEval { log_rows: 6, states: cubes.clone() })),
    );
    let components: Vec<_> = components.iter().map(|component| component as &dyn ComponentProver<B>).collect();
    let proof = prove(&components, channel, scheme).expect("the trace satisfies the constraints");
    postcard::to_allocvec(&proof).unwrap()
}

fn check(proven: &Proven, log_blowup: u32) {
    let config = PcsConfig { pow_bits: 3, fri_config: FriConfig::new(0, log_blowup, 3, 1), lifting_log_size: None };
    let expected = bytes::<SimdBackend>(proven, config);
    assert!(bytes::<TrefoilBackend>(proven, config) == expected, "blow-up 2^{log_blowup}");
}

#[test]
fn a_public_word() {
    for log_blowup in 1..=3 {
        check(&Proven { cubes: vec![5, 7], ..Proven::default() }, log_blowup);
    }
}

#[test]
fn interaction_columns_beside_look_ups() {
    for log_blowup in 1..=3 {
        check(&Proven { weighted: vec![4, 6, 6], ..Proven::default() }, log_blowup);
    }
}

#[test]
fn a_component_without_constraints() {
    check(&Proven { weighted: vec![5], free: vec![5], ..Proven::default() }, 1);
}

/// With a disabled component, stwo has the constraints of the others evaluated from coefficients.
#[test]
fn a_component_that_is_switched_off() {
    for log_blowup in 1..=3 {
        check(&Proven { cubes: vec![5, 4], weighted: vec![6], disabled: 1, ..Proven::default() }, log_blowup);
    }
}
