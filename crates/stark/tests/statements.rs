//! Statements about AIRs that ship: proofs byte-identical to stwo's, and changed ones refused.

use core_types::air::{Gather, Relation};
use stark::{
    M31, PcsConfig, Proof, Protocol, ProveError, ProverError, QM31, StarkOps, Statement as _, StatementProof,
    StatementProver, VerifyError, Witness, WitnessVisitor, preprocessed_root, verify,
};
use stark_airs::{AirError, Circuit, Plonk, StateMachine, WideFibonacci};

use crate::{
    committed::vectors,
    common::{Vector, assert_are, simulated, slices, words},
    samples::Sample,
    stated::Stated,
};

/// Proves a statement; checks that the verifier accepts the proof and computes the same preprocessed root.
///
/// A prover makes the same proof again, and from the source of the trace.
fn proven<Q: StarkOps>(q: &Q, config: PcsConfig, sample: &Sample) -> StatementProof {
    let mut prover = sample.prover(q, config).unwrap();
    let proof = prover.prove(q, &sample.trace).unwrap();
    let values = sample.statement.preprocessed_values();
    let root = preprocessed_root(q, &config, &slices(&values)).unwrap();
    assert_eq!(prover.preprocessed_root(q).unwrap(), root);
    verify(Protocol::V2_3, config, &sample.statement, root, &proof).unwrap();
    assert_eq!(prover.prove(q, &sample.trace).unwrap(), proof);
    for _ in 0..2 {
        assert_eq!(prover.prove_from(q, &sample.source).unwrap(), proof);
    }
    proof
}

#[test]
fn proofs_are_those_of_stwo() {
    let q = runtime::cpu().unwrap();
    let mut count = 0;
    let all: Vec<Vector> = vectors();
    for vector in &all {
        let Some(sample) = Sample::of(&vector.statement) else { continue };
        assert_eq!(sample.statement.words(), vector.statement.words(), "{}", vector.name);
        let ours = proven(&q, vector.config, &sample);
        let read: Proof = serde_json::from_slice(&serde_json::to_vec(&ours.proof).unwrap()).unwrap();
        assert_eq!(read, ours.proof);
        assert_are(vector, &ours.claimed_sums, &ours.proof);
        count += 1;
    }
    assert!(count == 14, "{count} vectors of AIRs that ship");
}

#[test]
fn false_statements_and_changed_proofs_are_refused() {
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let [machine, other] = [[1, 2], [1, 3]].map(|first| Sample::steps([4, 4], first));
    let proof = proven(&q, config, &machine);
    let mut prover = machine.prover(&q, config).unwrap();
    let root = prover.preprocessed_root(&q).unwrap();
    let check = |statement: &Stated, proof: &StatementProof| verify(Protocol::V2_3, config, statement, root, proof);
    assert_eq!(check(&machine.statement, &proof), Ok(()));
    assert!(check(&other.statement, &proof).is_err());
    let mut changed = proof.clone();
    changed.claimed_sums[0] += QM31::ONE;
    assert_eq!(check(&machine.statement, &changed), Err(VerifyError::Sums));
    changed.claimed_sums[1] -= QM31::ONE;
    assert!(matches!(check(&machine.statement, &changed), Err(VerifyError::Proof(_))));
    changed.claimed_sums.pop();
    assert_eq!(check(&machine.statement, &changed), Err(VerifyError::Claimed { expected: 2, got: 1 }));

    // A trace of other steps satisfies every row, but not the public values.
    assert_eq!(prover.prove(&q, &other.trace), Err(ProveError::Sums));
    assert_eq!(prover.prove(&q, &machine.trace[1..]), Err(ProveError::Components { expected: 2, got: 1 }));
    assert_eq!(prover.prove(&q, &machine.trace), Ok(proof));
}

#[test]
fn traces_that_are_made_on_the_device_prove_the_same() {
    let ((_machine, simulated), processor, config) = (simulated(), runtime::cpu().unwrap(), PcsConfig::default());
    let sizes = [[1, 4], [2, 4], [3, 3], [5, 40], [8, 7]];
    let wide = sizes.map(|[log_rows, columns]| Sample::wide(log_rows, columns, 9));
    let others = [Sample::steps([4, 4], [9, 1 << 30]), Sample::plonk(200, [3, 1 << 30])];
    for sample in wide.iter().chain(&others) {
        let proof = proven(&processor, config, sample);
        assert_eq!(sample.prover(&simulated, config).unwrap().prove_from(&simulated, &sample.source), Ok(proof));
    }
    let refused = WideFibonacci::new(3, 3).unwrap().seeds(&[[M31::ONE; 2]; 7]);
    assert_eq!(refused, Err(AirError::Length { what: "seeds", expected: 8, got: 7 }));
}

#[test]
fn witnesses_of_other_statements_are_refused() {
    let (q, machine) = (runtime::cpu().unwrap(), Sample::steps([4, 4], [1, 2]));
    let mut prover = machine.prover(&q, PcsConfig::default()).unwrap();
    let mut prove_from = |sample: &Sample| prover.prove_from(&q, &sample.source);
    assert_eq!(prove_from(&Sample::steps([4, 4], [1, 3])), Err(ProveError::Sums));
    let refused = ProverError::Generator { component: 1, what: "rows", expected: 16, got: 32 };
    assert_eq!(prove_from(&Sample::steps([4, 5], [1, 2])), Err(ProveError::Prover(refused)));
    assert_eq!(prove_from(&Sample::poseidon2(4, [0; 16])), Err(ProveError::Components { expected: 2, got: 1 }));
    assert!(prove_from(&machine).is_ok());
}

/// Tables, and where the columns of a trace come from.
struct Tables(Vec<Vec<M31>>, Vec<Gather>);

impl Witness for Tables {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        visitor.gathered(&self.0, &self.1);
    }
}

#[test]
fn columns_that_are_gathered_from_what_is_not_there_are_refused() {
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let plonk = Plonk::evaluate(Circuit::sample(16).unwrap(), words([2, 3]).to_vec()).unwrap();
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &plonk).unwrap();
    let columns = [[0, 2], [1, 0], [1, 1], [1, 2], [1, 4]].map(|[table, keys]| Gather { table, keys });
    let mut prove = |tables, columns: &[Gather]| {
        let tables = vec![vec![M31::ONE; 18]; tables];
        prover.prove_from(&q, &Tables(tables, columns.to_vec()))
    };
    let refused =
        |what, expected, got| Err(ProveError::Prover(ProverError::Generator { component: 0, what, expected, got }));
    assert_eq!(prove(2, &columns), refused("columns", 4, 5));
    assert_eq!(prove(1, &columns[..4]), refused("tables", 2, 1));
    assert_eq!(prove(2, &columns[1..]), refused("slots of keys", 5, 4));
    assert_eq!(prove(2, &columns[..4]), Err(ProveError::Sums));
    assert_eq!(prover.prove_from(&q, &plonk.wires()), prover.prove(&q, &plonk.trace()));

    // Without look-ups there are no rows of preprocessed columns.
    let air = WideFibonacci::new(4, 4).unwrap();
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &air).unwrap();
    let witness = Tables(vec![vec![M31::ONE; 16]], vec![Gather { table: 0, keys: 0 }; 4]);
    let refused = ProveError::Prover(ProverError::Keys { component: 0 });
    assert_eq!(prover.prove_from(&q, &witness), Err(refused));
}

/// A machine whose relation is said to begin at another slot.
struct Misplaced(StateMachine);

impl stark::Statement for Misplaced {
    fn visit<'s>(&'s self, visitor: &mut impl stark::Visitor<'s>) {
        self.0.visit(visitor);
    }

    fn relations(&self) -> &'static [Relation] {
        const { &[Relation::new(0, 2), Relation::new(3, 2)] }
    }
}

#[test]
fn relations_whose_slots_do_not_follow_each_other_are_refused_by_both_sides() {
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let proof = proven(&q, config, &Sample::steps([4, 4], [1, 2]));
    let statement = Misplaced(StateMachine::new([4, 4], words([1, 2])).unwrap());
    let refused = StatementProver::new(&q, Protocol::V2_3, config, &statement).err();
    assert_eq!(refused, Some(ProveError::Relations { expected: 2, got: 3 }));
    let root = stark::Digest::default();
    let refused = verify(Protocol::V2_3, config, &statement, root, &proof);
    assert_eq!(refused, Err(VerifyError::Relations { expected: 2, got: 3 }));
}

/// A circuit with other values of preprocessed columns than it names.
struct Disagreeing(Plonk, fn(&mut Vec<Vec<M31>>));

impl stark::Statement for Disagreeing {
    fn visit<'s>(&'s self, visitor: &mut impl stark::Visitor<'s>) {
        self.0.visit(visitor);
    }

    fn preprocessed(&self) -> Vec<stark::PreprocessedColumn> {
        self.0.preprocessed()
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        let mut values = self.0.preprocessed_values();
        self.1(&mut values);
        values
    }

    fn relations(&self) -> &'static [Relation] {
        self.0.relations()
    }
}

#[test]
fn preprocessed_columns_that_a_statement_does_not_name_are_refused() {
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let plonk = || Plonk::evaluate(Circuit::sample(16).unwrap(), words([2, 3]).to_vec()).unwrap();
    let refused = |change| StatementProver::new(&q, Protocol::V2_3, config, &Disagreeing(plonk(), change)).err();
    let columns = plonk().preprocessed();
    assert_eq!(refused(|_| ()), None);
    let expected = columns.len();
    let got = expected - 1;
    assert_eq!(refused(|values| drop(values.pop())), Some(ProveError::PreprocessedColumns { expected, got }));
    let (name, log_rows) = (columns[1].name, columns[1].log_rows);
    for (change, got) in [
        ((|values: &mut Vec<Vec<M31>>| values[1].truncate(8)) as fn(&mut Vec<Vec<M31>>), 8),
        (|values| values[1] = vec![M31::ONE; 64], 64),
        (|values| values[1].clear(), 0),
    ] {
        assert_eq!(refused(change), Some(ProveError::PreprocessedRows { name, log_rows, got }));
    }
}
