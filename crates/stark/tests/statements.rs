//! Statements about AIRs that ship: proofs byte-identical to stwo's, and changed ones refused.

use core_types::air::{Gather, Relation};
use stark::{
    M31, PcsConfig, Proof, Protocol, ProveError, ProverError, QM31, StarkOps, Statement as _, StatementProof,
    StatementProver, TraceColumns, VerifyError, Witness, WitnessVisitor, preprocessed_root, verify,
};
use stark_airs::{AirError, Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::{
    common::{Vector, file, simulated, slices, vectors, words},
    grid::stated::{Stated, blocks},
    statement::Statement,
};

/// Proves a statement; checks that the verifier accepts the proof and computes the same preprocessed root.
fn proven<Q: StarkOps, S: stark::Statement>(
    q: &Q,
    config: PcsConfig,
    statement: &S,
    trace: &[TraceColumns],
) -> StatementProof {
    let mut prover = StatementProver::new(q, Protocol::V2_3, config, statement).unwrap();
    let proof = prover.prove(q, trace).unwrap();
    let values = statement.preprocessed_values();
    let root = preprocessed_root(q, &config, &slices(&values)).unwrap();
    assert_eq!(prover.preprocessed_root(q).unwrap(), root);
    verify(Protocol::V2_3, config, statement, root, &proof).unwrap();
    assert_eq!(prover.prove(q, trace).unwrap(), proof, "a prover makes the same proof again");
    proof
}

/// As [`proven`], and from the witness as well.
fn proven_from<Q: StarkOps, S: stark::Statement>(
    q: &Q,
    config: PcsConfig,
    statement: &S,
    trace: &[TraceColumns],
    witness: &impl Witness,
) -> StatementProof {
    let proof = proven(q, config, statement, trace);
    let mut prover = StatementProver::new(q, Protocol::V2_3, config, statement).unwrap();
    for _ in 0..2 {
        assert_eq!(prover.prove_from(q, witness).unwrap(), proof);
    }
    proof
}

/// The proof of a vector's statement, if its AIRs ship.
fn of_vector<Q: StarkOps>(q: &Q, vector: &Vector) -> Option<StatementProof> {
    let config = vector.config;
    Some(match (Stated::of(&vector.statement)?, &vector.statement) {
        (Stated::Steps(machine, trace), _) => {
            assert_eq!(machine.words(), vector.statement.words());
            proven_from(q, config, &machine, &trace, &machine)
        }
        (Stated::Plonk(plonk, trace), _) => proven_from(q, config, &plonk, &trace, &plonk.wires()),
        (Stated::Poseidon2(chain, trace), &Statement::Poseidon2 { log_rows, first, .. }) => {
            let (same, states) = Poseidon2Chain::states(log_rows, words(first)).unwrap();
            assert_eq!(same, chain);
            proven_from(q, config, &chain, &trace, &states)
        }
        (Stated::Blake2s(hash, trace), &Statement::Blake2s { log_blocks, .. }) => {
            let (same, states) = Blake2s::states(&blocks(log_blocks)).unwrap();
            assert_eq!(same, hash);
            proven_from(q, config, &hash, &trace, &states)
        }
        _ => panic!("{} is stated as something else", vector.name),
    })
}

#[test]
fn proofs_are_those_of_stwo() {
    let q = runtime::cpu().unwrap();
    let mut count = 0;
    for vector in vectors() {
        let Some(ours) = of_vector(&q, &vector) else { continue };
        let read: Proof = serde_json::from_slice(&serde_json::to_vec(&ours.proof).unwrap()).unwrap();
        assert_eq!(read, ours.proof);
        let sums: Vec<[u32; 4]> = ours.claimed_sums.iter().map(|sum| sum.coordinates().map(M31::word)).collect();
        assert_eq!(sums, vector.claimed_sums, "{}", vector.name);
        assert_eq!(
            postcard::to_allocvec(&ours.proof).unwrap(),
            file(&format!("{}.bin", vector.name)),
            "{}",
            vector.name
        );
        count += 1;
    }
    assert!(count == 14, "{count} vectors of AIRs that ship");
}

#[test]
fn false_statements_and_changed_proofs_are_refused() {
    let q = runtime::cpu().unwrap();
    let config = PcsConfig::default();
    let machine = StateMachine::new([4, 4], words([1, 2])).unwrap();
    let proof = proven(&q, config, &machine, &machine.trace());
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &machine).unwrap();
    let root = prover.preprocessed_root(&q).unwrap();
    let check =
        |statement: &StateMachine, proof: &StatementProof| verify(Protocol::V2_3, config, statement, root, proof);
    assert_eq!(check(&machine, &proof), Ok(()));
    let other = StateMachine::new([4, 4], words([1, 3])).unwrap();
    assert!(check(&other, &proof).is_err());
    let mut changed = proof.clone();
    changed.claimed_sums[0] += QM31::ONE;
    assert_eq!(check(&machine, &changed), Err(VerifyError::Sums));
    changed.claimed_sums[1] -= QM31::ONE;
    assert!(matches!(check(&machine, &changed), Err(VerifyError::Proof(_))));
    changed.claimed_sums.pop();
    assert_eq!(check(&machine, &changed), Err(VerifyError::Claimed { expected: 2, got: 1 }));

    // A trace of other steps satisfies every row, but not the public values.
    assert_eq!(prover.prove(&q, &other.trace()), Err(ProveError::Sums));
    let trace = machine.trace();
    assert_eq!(prover.prove(&q, &trace[1..]), Err(ProveError::Components { expected: 2, got: 1 }));
    assert_eq!(prover.prove(&q, &trace), Ok(proof));
}

#[test]
fn traces_that_are_made_on_the_device_prove_the_same() {
    let (_machine, simulated) = simulated();
    let config = PcsConfig::default();
    let fibonacci = |log_rows: u32, columns| {
        let air = WideFibonacci::new(log_rows, columns).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| words([columns * row, row * row + 1])).collect();
        let (trace, witness) = (air.trace(&seeds).unwrap(), air.seeds(&seeds).unwrap());
        let expected = 1 << log_rows;
        let refused = AirError::Length { what: "seeds", expected, got: expected - 1 };
        assert_eq!(air.seeds(&seeds[1..]), Err(refused));
        let proof = proven_from(&runtime::cpu().unwrap(), config, &air, &trace, &witness);
        (air, witness, proof)
    };
    for (log_rows, columns) in [(3, 3), (5, 40), (8, 7)] {
        let (air, witness, proof) = fibonacci(log_rows, columns);
        let mut prover = StatementProver::new(&simulated, Protocol::V2_3, config, &air).unwrap();
        assert_eq!(prover.prove_from(&simulated, &witness).unwrap(), proof);
    }
    let machine = StateMachine::new([4, 4], words([9, 1 << 30])).unwrap();
    let mut prover = StatementProver::new(&simulated, Protocol::V2_3, config, &machine).unwrap();
    let proof = proven(&runtime::cpu().unwrap(), config, &machine, &machine.trace());
    assert_eq!(prover.prove_from(&simulated, &machine).unwrap(), proof);
    let plonk = Plonk::evaluate(Circuit::sample(200).unwrap(), words([3, 1 << 30]).to_vec()).unwrap();
    let mut prover = StatementProver::new(&simulated, Protocol::V2_3, config, &plonk).unwrap();
    let proof = proven(&runtime::cpu().unwrap(), config, &plonk, &plonk.trace());
    assert_eq!(prover.prove_from(&simulated, &plonk.wires()).unwrap(), proof);
}

#[test]
fn witnesses_of_other_statements_are_refused() {
    let q = runtime::cpu().unwrap();
    let config = PcsConfig::default();
    let machine = StateMachine::new([4, 4], words([1, 2])).unwrap();
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &machine).unwrap();
    let other = StateMachine::new([4, 4], words([1, 3])).unwrap();
    assert_eq!(prover.prove_from(&q, &other), Err(ProveError::Sums));
    let (component, what) = (1, "rows");
    let refused = ProverError::Generator { component, what, expected: 16, got: 32 };
    let higher = StateMachine::new([4, 5], words([1, 2])).unwrap();
    assert_eq!(prover.prove_from(&q, &higher), Err(ProveError::Prover(refused)));
    let (_, states) = Poseidon2Chain::states(4, words([0; 16])).unwrap();
    assert_eq!(prover.prove_from(&q, &states), Err(ProveError::Components { expected: 2, got: 1 }));
    assert!(prover.prove_from(&q, &machine).is_ok());
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
    let machine = StateMachine::new([4, 4], words([1, 2])).unwrap();
    let proof = proven(&q, config, &machine, &machine.trace());
    let statement = Misplaced(machine);
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
    let refused = |change| {
        let plonk = Plonk::evaluate(Circuit::sample(16).unwrap(), words([2, 3]).to_vec()).unwrap();
        StatementProver::new(&q, Protocol::V2_3, config, &Disagreeing(plonk, change)).err()
    };
    let columns = Plonk::evaluate(Circuit::sample(16).unwrap(), words([2, 3]).to_vec()).unwrap().preprocessed();
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
