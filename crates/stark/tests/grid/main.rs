//! Proofs over a grid of heights and parameters are those of stwo's prover, by their digests.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../../../../vectors/stwo/src/fingerprint.rs"]
#[allow(missing_docs, unreachable_pub, reason = "written for a program of its own")]
mod fingerprint;
mod shipped;
mod stated;
#[path = "../../../../vectors/stwo/src/statement.rs"]
#[allow(
    dead_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "written for a program of its own"
)]
mod statement;

use std::{collections::BTreeSet, fs, path::PathBuf};

use runtime::{Choice, Domain, Settings};
use sha2::{Digest as _, Sha256};
use stark::{Columns, PcsConfig, Protocol, StarkOps, StatementProver};

use crate::{
    fingerprint::Fingerprint,
    shipped::{Use, with},
    statement::Statement,
};

type Line = Fingerprint<PcsConfig>;

/// The grid, which stwo's prover made.
fn grid() -> Vec<Line> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/stark/grid.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Log of the greatest number of rows of a component.
fn height(line: &Line) -> u32 {
    line.statement.heights().into_iter().max().unwrap()
}

/// The bytes of a proof and their SHA-256.
struct Proven<'a, Q> {
    q: &'a Q,
    config: PcsConfig,
}

impl<Q: StarkOps> Use for Proven<'_, Q> {
    type Out = (usize, String);

    fn with<S: stark::Statement>(self, statement: &S, trace: &[Columns]) -> (usize, String) {
        let mut prover = StatementProver::new(self.q, Protocol::V2_3, self.config, statement).unwrap();
        let proof = postcard::to_allocvec(&prover.prove(self.q, trace).unwrap().proof).unwrap();
        (proof.len(), Sha256::digest(&proof).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Proves what each line says, and compares.
fn hold<Q: StarkOps>(q: &Q, lines: &[Line]) {
    for line in lines {
        let (bytes, sha256) = with(&line.statement, line.seed, Proven { q, config: line.config });
        assert_eq!((bytes, &sha256), (line.bytes, &line.sha256), "{line:?}");
    }
}

#[test]
fn proofs_over_the_grid_are_those_of_stwo() {
    hold(&runtime::cpu().unwrap(), &grid());
}

#[test]
fn proofs_over_the_grid_on_the_simulated_device_are_those_of_stwo() {
    let q = runtime::open_with(&Settings::default(), Some(Domain::Stark), Some(Choice::Sim)).unwrap().0;
    let mut lines = grid();
    lines.retain(is_small);
    assert_eq!(lines.iter().map(height).collect::<BTreeSet<_>>(), (1..=12).collect());
    hold(&q, &lines);
}

/// Whether the simulated device, which executes each instruction, proves it in about a second.
fn is_small(line: &Line) -> bool {
    let few = match &line.statement {
        Statement::WideFibonacci { columns, .. } => columns.iter().all(|&columns| columns <= 17),
        Statement::Poseidon2 { log_rows, .. } => *log_rows <= 7,
        Statement::Blake2s { .. } => false,
        _ => true,
    };
    few && height(line) <= 12 && line.config.pow_bits <= 12
}

#[test]
fn the_grid_covers_the_parameters() {
    let grid = grid();
    let all = |of: &dyn Fn(&Line) -> u32| grid.iter().map(of).collect::<BTreeSet<_>>();
    assert_eq!(all(&height), (1..=20).collect());
    assert_eq!(all(&|line| line.config.pow_bits), (0..=22).collect());
    let folds = |line: &Line| {
        let fri = line.config.fri_config;
        (fri.log_blowup_factor, fri.fold_step, fri.log_last_layer_degree_bound)
    };
    let every = (1..=4).flat_map(|b| (1..=4).flat_map(move |f| (0..=4).map(move |l| (b, f, l))));
    assert_eq!(grid.iter().map(folds).collect::<BTreeSet<_>>(), every.collect());
    let lifted: BTreeSet<_> = grid.iter().filter_map(|line| line.config.lifting_log_size).collect();
    assert!(lifted.len() >= 8, "lifted to {lifted:?}");
    let several = |line: &&Line| line.statement.heights().iter().collect::<BTreeSet<_>>().len() > 1;
    assert!(grid.iter().filter(several).count() >= 40);
}
