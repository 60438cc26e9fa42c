//! Proofs of AIRs of stwo's framework are byte for byte those that stwo's prover made of them.

use core_types::{
    air::Relation,
    field::{M31, QM31},
};
use runtime::{Choice, Domain, Settings};
use stark::{
    Component, PcsConfig, PreprocessedColumn, Proof, Protocol, Prover, StarkOps, Statement as _, StatementProof,
    StatementProver, TraceColumns, Visitor, verify,
};

use crate::{
    committed::{self, file},
    recorded::{Airs, airs, relations},
    stated::Stated,
    statement::VectorLine,
    traces::traces,
};

/// A committed proof and its statement.
type CommittedProof = VectorLine<PcsConfig>;

/// The vectors, each with its place in the list.
fn vectors() -> Vec<(u64, CommittedProof)> {
    (0..).zip(committed::vectors()).collect()
}

/// A statement, about AIRs of stwo's framework.
struct Says {
    statement: Stated,
    airs: Airs,
}

impl stark::Statement for Says {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        for (air, places) in &self.airs {
            visitor.component(air, places);
        }
    }

    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        self.statement.preprocessed()
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        self.statement.preprocessed_values()
    }

    fn relations(&self) -> &'static [Relation] {
        self.statement.relations()
    }

    fn public_words(&self) -> Vec<u32> {
        self.statement.public_words()
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        self.statement.public_sum(challenges)
    }
}

/// Proves and verifies a statement.
fn proven<Q: StarkOps>(q: &Q, vector: &CommittedProof, statement: Stated, trace: &[TraceColumns]) -> StatementProof {
    assert_eq!(statement.relations(), relations(&vector.statement));
    let says = Says { statement, airs: airs(&vector.statement) };
    let mut prover = StatementProver::new(q, Protocol::V2_3, vector.config, &says).unwrap();
    let proof = prover.prove(q, trace).unwrap();
    verify(Protocol::V2_3, vector.config, &says, prover.preprocessed_root(q).unwrap(), &proof).unwrap();
    proof
}

/// Drives a session through the steps of a statement of the vectors.
fn driven<Q: StarkOps>(q: &Q, vector: &CommittedProof, seed: u64) -> StatementProof {
    let traces = traces(&vector.statement, seed);
    let components = airs(&vector.statement).iter().map(|(air, places)| Component::new(air, places).unwrap()).collect();
    let [preprocessed, trace] = [&traces.preprocessed, &traces.trace]
        .map(|columns| columns.iter().map(|column| &column[..]).collect::<Vec<_>>());
    let mut prover = Prover::new(q, Protocol::V2_3, vector.config, &preprocessed, components).unwrap();
    let mut session = prover.begin(q).unwrap();
    session.commit_preprocessed().unwrap();
    session.mix_u32s(&vector.statement.heights()).unwrap();
    session.commit(&trace).unwrap();
    let mut claimed_sums = Vec::new();
    let relations = relations(&vector.statement);
    if !relations.is_empty() {
        relations.into_iter().for_each(|relation| session.draw_relation(relation).unwrap());
        session.commit_look_ups().unwrap();
        claimed_sums = session.claimed_sums().unwrap();
    }
    StatementProof { claimed_sums, proof: session.finish().unwrap() }
}

/// Proves a vector's statement; from the traces that its program tries one after the other, if they are random.
fn check<Q: StarkOps>(q: &Q, seed: u64, vector: &CommittedProof) {
    let expected = file(&format!("{}.bin", vector.name));
    let theirs: Proof = postcard::from_bytes(&expected).unwrap();
    let ours = match Stated::of(&vector.statement).and_then(|stated| stated.evaluated()) {
        Some((statement, trace)) => proven(q, vector, statement, &trace),
        None => {
            let mut attempts = (0..1000).map(|attempt| driven(q, vector, seed + 1000 * attempt));
            attempts.find(|ours| ours.proof.commitments[1] == theirs.commitments[1]).unwrap()
        }
    };
    let sums: Vec<[u32; 4]> = ours.claimed_sums.iter().map(|sum| sum.coordinates().map(M31::word)).collect();
    assert_eq!(sums, vector.claimed_sums, "{}", vector.name);
    assert_eq!(postcard::to_allocvec(&ours.proof).unwrap(), expected, "{}", vector.name);
}

#[test]
fn proofs_are_those_of_stwo() {
    let q = runtime::cpu().unwrap();
    let vectors = vectors();
    assert_eq!(vectors.len(), 135);
    for (seed, vector) in &vectors {
        check(&q, *seed, vector);
    }
}

#[test]
fn proofs_on_the_simulated_device_are_those_of_stwo() {
    let q = runtime::open_with(&Settings::default(), Some(Domain::Stark), Some(Choice::Sim)).unwrap().0;
    let vectors = vectors();
    for kind in ["wide-fibonacci", "selected", "state-machine", "xor"] {
        let small = |(_, vector): &&(u64, CommittedProof)| {
            vector.name.starts_with(kind)
                && vector.statement.heights().into_iter().max() <= Some(5)
                && vector.config.pow_bits <= 5
        };
        let (seed, vector) = vectors.iter().find(small).unwrap();
        check(&q, *seed, vector);
    }
}
