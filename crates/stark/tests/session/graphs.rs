//! Graphs of proofs, where sessions are driven by hand.

use core_types::air::Relation;
use runtime::AnyQueue;
use stark::{PcsConfig, Proof, ProofGraph, ProofSession, Prover, ProverError, Submitted};

use crate::{
    common::{simulated, slices},
    session::{
        airs::PAIR,
        prove::prover,
        traces::{Traces, traces},
    },
    statement::Statement,
};

const STATEMENT: Statement = Statement::StateMachine { log_rows: 5, in_pairs: true };

/// The transcript steps of a session besides its commitments.
#[derive(Clone, Copy)]
struct SessionInputs {
    words: [u32; 2],
    relation: Relation,
}

const WAY: SessionInputs = SessionInputs { words: [1, 2], relation: PAIR };

fn make<'p>(
    mut session: ProofSession<'p, AnyQueue>,
    way: SessionInputs,
) -> Result<Submitted<'p, AnyQueue>, ProverError> {
    session.commit_preprocessed()?;
    session.mix_u32s(&way.words)?;
    session.commit_loaded()?;
    session.draw_relation(way.relation)?;
    session.commit_look_ups()?;
    session.submit()
}

fn load(q: &AnyQueue, prover: &mut Prover<AnyQueue>, traces: &Traces) {
    prover.load(q, &slices(&traces.trace)).unwrap();
}

fn single(q: &AnyQueue, prover: &mut Prover<AnyQueue>, traces: &Traces, way: SessionInputs) -> Proof {
    load(q, prover, traces);
    make(prover.begin(q).unwrap(), way).unwrap().wait().unwrap().proof().unwrap()
}

#[test]
fn other_words_and_wider_relations_make_another_graph() {
    let (_machine, q) = simulated();
    let [traces, others] = [1, 2].map(|seed| traces(&STATEMENT, seed));
    let [mut first, mut second] = [(), ()].map(|()| prover(&q, &STATEMENT, PcsConfig::default(), &traces).unwrap());
    let wider = Relation::new(PAIR.first(), PAIR.slots() + 3);
    let ways = [WAY, SessionInputs { words: [1, 3], ..WAY }, SessionInputs { relation: wider, ..WAY }, WAY];
    let mut graph = ProofGraph::new();
    let mut proofs = Vec::new();
    for (index, way) in ways.into_iter().enumerate() {
        let expected = single(&q, &mut first, &traces, way);
        for round in 0..4 {
            // Another proof leaves its answers.
            single(&q, &mut second, &others, way);
            load(&q, &mut second, &traces);
            // A caller that draws another relation passes another key.
            let key = [&way.words[..], &[way.relation.slots()]].concat();
            let proof = graph.submit(&mut second, &q, &key, |session| make(session, way)).unwrap();
            assert_eq!(proof.wait().unwrap().proof().unwrap(), expected, "{index}, round {round}");
            assert_eq!(graph.is_recorded(), round > 0, "{index}, round {round}");
        }
        proofs.push(expected);
    }
    assert!(proofs[0] != proofs[1] && proofs[0] == proofs[3]);

    // Memory that another session replaced is not the graph's memory any more.
    let mut third = prover(&q, &STATEMENT, PcsConfig::default(), &traces).unwrap();
    let mut graph = ProofGraph::new();
    for round in 0..5 {
        if round == 3 {
            single(&q, &mut third, &traces, SessionInputs { relation: wider, ..WAY });
        }
        single(&q, &mut third, &others, WAY);
        load(&q, &mut third, &traces);
        let proof = graph.submit(&mut third, &q, &WAY.words, |session| make(session, WAY)).unwrap();
        let found = proof.wait().unwrap();
        let relation = if round < 3 { PAIR } else { wider };
        assert_eq!(found.challenges().len(), relation.slots() as usize);
        assert_eq!(found.proof().unwrap(), proofs[0], "round {round}");
        assert_eq!(graph.is_recorded(), [1, 2, 4].contains(&round), "round {round}");
    }
}

#[test]
fn a_trace_is_committed_to_once() {
    let (_machine, q) = simulated();
    let traces = traces(&STATEMENT, 1);
    let mut prover = prover(&q, &STATEMENT, PcsConfig::default(), &traces).unwrap();
    let mut graph = ProofGraph::new();
    let mut submit = |prover: &mut Prover<AnyQueue>| {
        graph
            .submit(prover, &q, &WAY.words, |session| make(session, WAY))
            .map(|submitted| drop(submitted.wait().unwrap()))
    };
    for _ in 0..3 {
        assert_eq!(submit(&mut prover), Err(ProverError::NotLoaded));
        load(&q, &mut prover, &traces);
        assert_eq!(submit(&mut prover), Ok(()));
        assert_eq!(submit(&mut prover), Err(ProverError::NotLoaded));
        let refused = make(prover.begin(&q).unwrap(), WAY).map(drop);
        assert_eq!(refused, Err(ProverError::NotLoaded));
    }
    // A trace of another shape leaves none.
    load(&q, &mut prover, &traces);
    assert!(prover.load(&q, &[]).is_err());
    assert_eq!(submit(&mut prover), Err(ProverError::NotLoaded));
    assert!(graph.is_recorded());
}

#[test]
fn columns_of_the_host_are_no_part_of_a_graph() {
    let (_machine, q) = simulated();
    let traces = traces(&STATEMENT, 1);
    let mut prover = prover(&q, &STATEMENT, PcsConfig::default(), &traces).unwrap();
    load(&q, &mut prover, &traces);
    let trace = slices(&traces.trace);
    let mut graph = ProofGraph::new();
    let refused = graph.submit(&mut prover, &q, &[], |mut session| {
        session.commit_preprocessed()?;
        session.commit(&trace)?;
        session.submit()
    });
    assert_eq!(refused.map(drop), Err(ProverError::InGraph));
    // A session's upload replaces the loaded trace, even if it is refused halfway.
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    assert!(session.commit(&trace[1..]).is_err());
    assert_eq!(make(prover.begin(&q).unwrap(), WAY).map(drop), Err(ProverError::NotLoaded));
}
