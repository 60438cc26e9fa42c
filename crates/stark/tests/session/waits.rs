//! How often a proof waits for its device.

use backend_api::Counted;
use stark::PcsConfig;

use crate::{
    common::simulated,
    session::{
        prove::{finish, prover},
        traces::traces,
    },
    statement::Statement,
};

#[test]
fn the_host_waits_once_for_a_proof_and_once_for_claimed_sums_that_are_asked_for() {
    let (_machine, q) = simulated();
    let small = Statement::WideFibonacci { log_rows: vec![4], columns: vec![3] };
    let large = Statement::WideFibonacci { log_rows: vec![4, 7], columns: vec![5, 3] };
    let machine = Statement::StateMachine { log_rows: 5, in_pairs: true };
    for (statement, expected) in [(small, 1), (large, 1), (machine, 2)] {
        let traces = traces(&statement, 1);
        let mut prover = prover(&q, &statement, PcsConfig::default(), &traces).unwrap();
        let first = finish(&q, &mut prover, &statement, &traces).unwrap();
        let before = q.submissions();
        assert_eq!(finish(&q, &mut prover, &statement, &traces).unwrap(), first);
        let proof = q.submissions() - before;
        assert_eq!((proof.waits, proof.replays), (expected, 0), "{statement:?}: {proof:?}");
        assert!(proof.launches > 0 && proof.copies > 0, "{statement:?}: {proof:?}");
    }
}
