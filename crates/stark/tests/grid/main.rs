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
use stark::{Columns, PcsConfig, Protocol, ProveError, ProverError, Residency, StarkOps, StatementProver, memory_plan};

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
    /// Blocks that values are cut into, by a number among those that there may be; without it all are in memory. Of every third number,
    /// coefficients are on the host.
    blocks: Option<u32>,
}

/// Of the residencies by blocks that a statement may have, that with this number, counted around: of the first seven, which
/// are all for small statements.
fn in_blocks<S: stark::Statement>(config: &PcsConfig, statement: &S, number: u32) -> Residency {
    let none = memory_plan(config, statement, Residency::Blocks(0)).unwrap_err();
    let ProveError::Prover(ProverError::Blocks { least, most, got: 0 }) = none else { panic!("{none:?}") };
    let blocks = least << (number % ((most / least).ilog2().min(6) + 1));
    if number.is_multiple_of(3) { Residency::Host(blocks) } else { Residency::Blocks(blocks) }
}

impl<Q: StarkOps> Use for Proven<'_, Q> {
    type Out = (usize, String);

    fn with<S: stark::Statement>(self, statement: &S, trace: &[Columns]) -> (usize, String) {
        let Self { q, config, blocks } = self;
        let residency = blocks.map_or(Residency::Full, |number| in_blocks(&config, statement, number));
        let mut prover = StatementProver::with_residency(q, Protocol::V2_3, config, statement, residency).unwrap();
        assert_eq!(prover.residency(), residency);
        let proof = postcard::to_allocvec(&prover.prove(q, trace).unwrap().proof).unwrap();
        (proof.len(), Sha256::digest(&proof).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Proves what each line says, and compares.
fn hold<Q: StarkOps>(q: &Q, lines: &[Line]) {
    for line in lines {
        hold_line(q, line, None);
    }
}

fn hold_line<Q: StarkOps>(q: &Q, line: &Line, blocks: Option<u32>) {
    let (bytes, sha256) = with(&line.statement, line.seed, Proven { q, config: line.config, blocks });
    assert_eq!((bytes, &sha256), (line.bytes, &line.sha256), "{line:?}, {blocks:?}");
}

/// Proves what each line says in blocks, of another number each.
fn hold_in_blocks<Q: StarkOps>(q: &Q, lines: &[Line]) {
    for (number, line) in (0..).zip(lines) {
        hold_line(q, line, Some(number));
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

#[test]
fn proofs_in_blocks_over_the_grid_are_those_of_stwo() {
    let mut lines = grid();
    lines.retain(|line| height(line) <= 14);
    hold_in_blocks(&runtime::cpu().unwrap(), &lines);
}

#[test]
fn proofs_in_blocks_on_the_simulated_device_are_those_of_stwo() {
    let q = runtime::open_with(&Settings::default(), Some(Domain::Stark), Some(Choice::Sim)).unwrap().0;
    let mut lines = grid();
    lines.retain(|line| is_small(line) && height(line) <= 8);
    hold_in_blocks(&q, &lines);
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
