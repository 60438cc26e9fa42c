//! Proofs over a grid of heights and parameters match stwo's prover, by their digests.

#[path = "../../../../vectors/stwo/src/fingerprint.rs"]
#[allow(missing_docs, unreachable_pub, reason = "written for a program of its own")]
mod fingerprint;

use std::collections::BTreeSet;

use cuda_sim::driver::Simulation;
use runtime::AnyQueue;
use sha2::{Digest as _, Sha256};
use stark::{
    M31, PcsConfig, ProofGraph, Protocol, ProveError, ProverError, Residency, Statement as _, StatementProof,
    StatementProver, TraceColumns, memory_plan,
};

use crate::{
    committed::file,
    common::{processor, simulated},
    grid::fingerprint::Fingerprint,
    samples::{Prover, Sample, prove_replayed},
    session::traces::traces,
    stated::Stated,
    // `fingerprint` imports the module from here.
    statement::{self, Statement},
};

type GridLine = Fingerprint<PcsConfig>;

/// The grid, which stwo's prover made.
fn grid() -> Vec<GridLine> {
    serde_json::from_slice(&file("grid.json")).unwrap()
}

/// Log of the greatest number of rows of a component.
fn height(line: &GridLine) -> u32 {
    line.statement.heights().into_iter().max().unwrap()
}

/// A way to make a proof.
#[derive(Clone, Copy, Debug)]
enum GridMode {
    /// Op by op, all in memory.
    Full,
    /// Op by op. By a number among those that there may be, values are cut into blocks, of every third number with
    /// coefficients on the host; of every fifth number, all values are in memory and trees are truncated.
    Blocks(u32),
    /// Three times with one graph: op by op, recorded, and replayed. By every second number, in blocks.
    Replayed(u32),
}

/// The statement of a line and its trace, which the seed determines if the statement does not.
fn stated(line: &GridLine) -> (Stated, Vec<TraceColumns>) {
    let made = match &line.statement {
        wide @ Statement::WideFibonacci { columns, .. } => {
            let mut trace = traces(wide, line.seed).trace.into_iter();
            let component = |&count: &u32| -> TraceColumns { trace.by_ref().take(count as usize).collect() };
            (Stated::of(wide).unwrap(), columns.iter().map(component).collect())
        }
        other => {
            let Sample { statement, trace, .. } = Sample::of(other).unwrap();
            (statement, trace)
        }
    };
    assert_eq!(made.0.words(), line.statement.words());
    made
}

/// Of the residencies by blocks that a statement may have, that with this number, counted around: of the first seven, which
/// are all for small statements. On a simulated device, where a block is many launches of kernels, of the first five: all for
/// statements of up to 32 rows.
fn in_blocks(q: &AnyQueue, config: &PcsConfig, statement: &Stated, number: u32) -> Residency {
    let none = memory_plan(config, statement, Residency::Blocks(0)).unwrap_err();
    let ProveError::Prover(ProverError::Blocks { least, most, got: 0 }) = none else { panic!("{none:?}") };
    let doublings = if matches!(q, AnyQueue::Cpu(_)) { 6 } else { 4 };
    let blocks = least << (number % ((most / least).ilog2().min(doublings) + 1));
    if number.is_multiple_of(3) { Residency::Host(blocks) } else { Residency::Blocks(blocks) }
}

/// The bytes of a proof and their SHA-256.
fn proven(q: &AnyQueue, line: &GridLine, way: GridMode) -> (usize, String) {
    let (config, (statement, trace)) = (line.config, stated(line));
    let residency = match way {
        GridMode::Full => Residency::Full,
        GridMode::Blocks(number) if number % 5 == 4 => Residency::Truncated,
        GridMode::Blocks(number) => in_blocks(q, &config, &statement, number),
        // Coefficients on the host are never replayed.
        GridMode::Replayed(number) => match in_blocks(q, &config, &statement, number) {
            Residency::Blocks(blocks) if number % 2 == 1 => Residency::Blocks(blocks),
            _ => Residency::Full,
        },
    };
    let mut prover = StatementProver::with_residency(q, Protocol::V2_3, config, &statement, residency).unwrap();
    assert_eq!(prover.residency(), residency);
    let proof =
        if let GridMode::Replayed(_) = way { replay(q, &mut prover, &trace) } else { prover.prove(q, &trace).unwrap() };
    let proof = postcard::to_allocvec(&proof.proof).unwrap();
    (proof.len(), Sha256::digest(&proof).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes three proofs with one graph, the last by replay, and checks that they are equal.
///
/// Another trace, which has no proof, comes before the second and the third and leaves other answers.
fn replay(q: &AnyQueue, prover: &mut Prover<'_, AnyQueue>, trace: &[TraceColumns]) -> StatementProof {
    let mut graph = ProofGraph::new();
    let mut broken = trace.to_vec();
    broken[0][0][0] += M31::ONE;
    let [first, recorded, replayed] = [false, true, true].map(|has_answers| {
        if has_answers {
            prover.prove(q, &broken).unwrap_err();
        }
        prove_replayed(prover, q, &mut graph, trace).unwrap()
    });
    assert!(graph.is_recorded() && first == recorded && recorded == replayed);
    replayed
}

/// Proves each line's statement, in the way selected by its number, and compares.
fn hold(q: &AnyQueue, lines: &[GridLine], way: impl Fn(u32) -> GridMode) {
    for (number, line) in (0..).zip(lines) {
        let way = way(number);
        assert_eq!(proven(q, line, way), (line.bytes, line.sha256.clone()), "{line:?}, {way:?}");
    }
}

/// A simulated device, and the lines of at most `2^log_rows` rows that it proves in about a second each.
fn simulated_lines(log_rows: u32) -> (Simulation, AnyQueue, Vec<GridLine>) {
    let (machine, q) = simulated();
    let mut lines = grid();
    lines.retain(|line| is_small(line) && height(line) <= log_rows);
    assert_eq!(lines.iter().map(height).collect::<BTreeSet<_>>(), (1..=log_rows).collect());
    (machine, q, lines)
}

#[test]
fn proofs_over_the_grid_are_those_of_stwo() {
    hold(&processor(), &grid(), |_| GridMode::Full);
}

#[test]
fn proofs_over_the_grid_on_the_simulated_device_are_those_of_stwo() {
    let (_machine, q, lines) = simulated_lines(12);
    hold(&q, &lines, |_| GridMode::Full);
}

#[test]
fn proofs_in_blocks_over_the_grid_are_those_of_stwo() {
    let mut lines = grid();
    lines.retain(|line| height(line) <= 14);
    hold(&processor(), &lines, GridMode::Blocks);
}

#[test]
fn proofs_in_blocks_on_the_simulated_device_are_those_of_stwo() {
    let (_machine, q, lines) = simulated_lines(8);
    hold(&q, &lines, GridMode::Blocks);
}

#[test]
fn replayed_proofs_over_the_grid_are_those_of_stwo() {
    let (_machine, q, lines) = simulated_lines(6);
    let parameters = |of: &dyn Fn(&GridLine) -> u32| lines.iter().map(of).collect::<BTreeSet<_>>().len();
    assert!(lines.iter().any(|line| matches!(line.statement, Statement::Poseidon2 { .. })));
    assert_eq!(parameters(&|line| line.config.fri_config.log_blowup_factor), 4);
    assert_eq!(parameters(&|line| line.config.fri_config.fold_step), 4);
    assert!(lines.iter().any(|line| line.config.lifting_log_size.is_some()));
    hold(&q, &lines, GridMode::Replayed);
}

/// Whether the simulated device, which executes each instruction, proves it in about a second.
fn is_small(line: &GridLine) -> bool {
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
    let all = |of: &dyn Fn(&GridLine) -> u32| grid.iter().map(of).collect::<BTreeSet<_>>();
    assert_eq!(all(&height), (1..=20).collect());
    assert_eq!(all(&|line| line.config.pow_bits), (0..=22).collect());
    let folds = |line: &GridLine| {
        let fri = line.config.fri_config;
        (fri.log_blowup_factor, fri.fold_step, fri.log_last_layer_degree_bound)
    };
    let every = (1..=4).flat_map(|b| (1..=4).flat_map(move |f| (0..=4).map(move |l| (b, f, l))));
    assert_eq!(grid.iter().map(folds).collect::<BTreeSet<_>>(), every.collect());
    let lifted: BTreeSet<_> = grid.iter().filter_map(|line| line.config.lifting_log_size).collect();
    assert!(lifted.len() >= 8, "lifted to {lifted:?}");
    let several = |line: &&GridLine| line.statement.heights().iter().collect::<BTreeSet<_>>().len() > 1;
    assert!(grid.iter().filter(several).count() >= 40);
}
