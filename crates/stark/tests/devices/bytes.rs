//! The bytes that ranks send each other match the sizes of a proof.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use backend_api::Collective;
use collective::Local;
use cuda_sim::driver::Counters;
use runtime::{AnyQueue, Choice, CollectiveKind};
use stark::{PcsConfig, Statement as _};

use crate::{
    common::{little_work, on_queues, simulate},
    devices::group,
    queues::{on_ranks, queues},
    samples::{Prover, Sample},
};

/// The share of a rank in `count` items; shares need not be equal.
const fn share(count: usize, [rank, ranks]: [usize; 2]) -> usize {
    (rank + 1) * count / ranks - rank * count / ranks
}

/// [`little_work`], fold step 1 and the last layer constant, with another blow-up.
pub(crate) fn config(log_blowup: u32) -> PcsConfig {
    let mut config = little_work();
    config.fri_config.log_blowup_factor = log_blowup;
    config
}

/// Columns of one height in a tree.
#[derive(Debug)]
struct HeightColumns {
    /// How often their height is half of the greatest.
    halvings: u32,
    /// How many rows constraints read each column at: none, the row at hand, or the one before too.
    reads: Vec<usize>,
}

impl HeightColumns {
    /// The rounds in which partitioned columns are exchanged.
    ///
    /// Each round has consecutive columns, an equal number for every rank, of at most 2^20 words each.
    fn rounds(&self, log_rows: u32, ranks: usize) -> impl Iterator<Item = &[usize]> {
        let most = ((1 << 20) >> (log_rows - self.halvings)).max(1);
        self.reads.chunks(most * ranks)
    }

    /// The columns of a rank: in the last round the last ranks have fewer, or none.
    fn of_rank(&self, log_rows: u32, [rank, ranks]: [usize; 2]) -> impl Iterator<Item = usize> {
        let columns =
            move |round: &[usize]| round.chunks(round.len().div_ceil(ranks)).nth(rank).unwrap_or_default().to_vec();
        self.rounds(log_rows, ranks).flat_map(columns)
    }
}

/// The columns of a tree. Some have the greatest height; each height is the height of a component.
type TreeColumns = Vec<HeightColumns>;

/// The sizes of a statement.
#[derive(Debug)]
struct StatementSizes {
    /// The preprocessed tree, which is exchanged as provers are made.
    preprocessed: TreeColumns,
    /// The trees of the trace.
    trace: Vec<TreeColumns>,
}

impl StatementSizes {
    /// The sizes of components of one height, with the number of rows that each column of each tree is read at.
    fn of_one_height(preprocessed: &[usize], trace: &[&[usize]]) -> Self {
        let tree = |reads: &[usize]| vec![HeightColumns { halvings: 0, reads: reads.to_vec() }];
        let preprocessed = if preprocessed.is_empty() { Vec::new() } else { tree(preprocessed) };
        Self { preprocessed, trace: trace.iter().map(|reads| tree(reads)).collect() }
    }

    /// The sizes of a wide Fibonacci trace of `columns` columns.
    fn wide(columns: u32) -> Self {
        Self::of_one_height(&[], &[&vec![1; columns as usize]])
    }

    /// The sizes of a state machine: two columns for each of two components, and the four of one running sum.
    fn state_machine([n, m]: [u32; 2]) -> Self {
        // Columns of one height are one run.
        let tree = |reads: &[usize]| match n.abs_diff(m) {
            0 => vec![HeightColumns { halvings: 0, reads: [reads, reads].concat() }],
            halvings => [0, halvings].map(|halvings| HeightColumns { halvings, reads: reads.to_vec() }).into(),
        };
        Self { preprocessed: Vec::new(), trace: vec![tree(&[1; 2]), tree(&[2; 4])] }
    }

    /// The sizes of a circuit: its gates, the values of its wires, and sums of two fractions and of all three.
    fn plonk() -> Self {
        Self::of_one_height(&[1; 4], &[&[1; 4], &[1, 1, 1, 1, 2, 2, 2, 2]])
    }

    /// The sizes of a chain of permutations: a row for each, and the running sum of two fractions.
    fn poseidon2() -> Self {
        Self::of_one_height(&[], &[&[1; 300], &[2; 4]])
    }

    /// Bytes from a rank to each other one for a proof whose greatest height is `2^log_rows`.
    fn bytes(&self, config: &PcsConfig, log_rows: u32, ranks: [usize; 2]) -> u64 {
        let composition = vec![HeightColumns { halvings: 0, reads: vec![1; 8] }];
        let committed = || self.trace.iter().chain([&composition]);
        let all: Vec<&HeightColumns> = [&self.preprocessed].into_iter().chain(committed()).flatten().collect();
        let cut = Cut::new(config, log_rows, ranks, all.iter().map(|run| run.halvings).max().unwrap());
        let heights: BTreeSet<u32> = all.iter().map(|run| run.halvings).collect();
        let of_height = |halvings: u32| all.iter().filter(move |run| run.halvings == halvings);

        let columns: usize = self.trace.iter().flatten().map(|run| cut.columns(run) + cut.neighbours(run)).sum();
        let by_height = heights.into_iter().map(|halvings| {
            let reads = of_height(halvings).flat_map(|run| &run.reads).copied().max().unwrap();
            cut.sums(halvings) + cut.numerators(halvings, reads)
        });
        let roots: usize = committed().map(|_| 32 * cut.parts()).sum();
        let opened: usize = [&self.preprocessed].into_iter().chain(committed()).map(|tree| cut.opened(tree)).sum();
        let state = 36;
        let bytes = columns + cut.samples(&all) + by_height.sum::<usize>() + cut.layers() + roots + opened + state;
        bytes as u64
    }
}

/// The partition of a proof into the work of ranks, and the bytes that a rank sends each other rank.
struct Cut {
    config: PcsConfig,
    log_rows: u32,
    /// A rank, and how many there are.
    ranks: [usize; 2],
    log_blocks: u32,
    /// Whether columns are partitioned: each rank has its own columns' coefficients, and one block per copy of
    /// the trace.
    is_partitioned: bool,
}

impl Cut {
    /// Of columns whose smallest have `2^halvings` times fewer rows than the greatest.
    fn new(config: &PcsConfig, log_rows: u32, ranks: [usize; 2], halvings: u32) -> Self {
        let (log_blowup, log_ranks) = (config.fri_config.log_blowup_factor, ranks[1].ilog2());
        // A block has two values of each column at least.
        let (even, most) = (log_blowup + log_ranks, log_rows - halvings + log_blowup - 1);
        let is_partitioned = log_ranks >= log_blowup && even <= most;
        Self { config: *config, log_rows, ranks, log_blocks: even.min(most), is_partitioned }
    }

    const fn log_blowup(&self) -> u32 {
        self.config.fri_config.log_blowup_factor
    }

    const fn log_size(&self) -> u32 {
        self.log_rows + self.log_blowup()
    }

    const fn log_ranks(&self) -> u32 {
        self.ranks[1].ilog2()
    }

    /// Positions of a rank in its blocks of the first copies of a trace.
    const fn positions(&self, halvings: u32, copies: usize) -> usize {
        let blocks = copies << (self.log_blocks - self.log_blowup());
        share(blocks, self.ranks) << (self.log_size() - halvings - self.log_blocks)
    }

    /// Bytes of the partitioned columns' values on the blocks of another rank, or of the coefficients of a
    /// rank's share.
    ///
    /// All ranks have an equal number of columns in a round; the last round is padded to a multiple of the
    /// number of ranks.
    fn columns(&self, run: &HeightColumns) -> usize {
        if !self.is_partitioned {
            return (4 * share(run.reads.len(), self.ranks)) << (self.log_rows - run.halvings);
        }
        let widths = run.rounds(self.log_rows, self.ranks[1]).map(|round| round.len().div_ceil(self.ranks[1]));
        4 * widths.sum::<usize>() * self.positions(run.halvings, 1 << self.log_blowup())
    }

    /// Partitioned columns that are read at other rows, on twice the number of rows.
    fn neighbours(&self, run: &HeightColumns) -> usize {
        let columns = run.reads.iter().filter(|reads| **reads > 1).count();
        if self.is_partitioned { 4 * columns * self.positions(run.halvings, 2) } else { 0 }
    }

    /// The samples of a rank's columns if they are partitioned, else its share of all.
    fn samples(&self, runs: &[&HeightColumns]) -> usize {
        let samples: usize = if self.is_partitioned {
            runs.iter().flat_map(|run| run.of_rank(self.log_rows, self.ranks)).sum()
        } else {
            share(runs.iter().flat_map(|run| &run.reads).sum(), self.ranks)
        };
        16 * samples
    }

    /// Sums of the constraints of a height.
    const fn sums(&self, halvings: u32) -> usize {
        16 * self.positions(halvings, 2)
    }

    /// Numerators of a height whose columns are read at `reads` rows.
    ///
    /// There is one for each row. Columns that are read at two rows add one at the periodicity point, which is
    /// a separate point for all but the greatest height.
    const fn numerators(&self, halvings: u32, reads: usize) -> usize {
        let batches = if reads == 2 && halvings > 0 { 3 } else { reads };
        16 * batches * self.positions(halvings, 1)
    }

    /// The lowest stored level of each layer that has one part per rank.
    fn layers(&self) -> usize {
        let smallest = self.config.fri_config.log_last_layer_degree_bound + self.log_blowup() + 1;
        let layers = (smallest..=self.log_size()).filter(|&log_layer| {
            let log_part = log_layer.min((self.log_size() - self.log_blocks).max(4));
            log_layer - log_part >= self.log_ranks()
        });
        layers.map(|log_layer| 32 << (log_layer - log_layer.min(4) - self.log_ranks())).sum()
    }

    /// Parts of a tree that a rank hashes.
    const fn parts(&self) -> usize {
        if self.is_partitioned { 1 << self.log_blowup() } else { 1 }
    }

    /// Words of a tree that open a query, with `trimmed` bottom levels not stored: a column of fewer rows has
    /// fewer values below them, but at least two.
    fn words(tree: &TreeColumns, trimmed: u32) -> usize {
        let of_run = |run: &HeightColumns| match trimmed {
            0 => run.reads.len(),
            _ => run.reads.len().next_multiple_of(4) << trimmed.saturating_sub(run.halvings).max(1),
        };
        tree.iter().map(of_run).sum()
    }

    /// Values around the queries in each block, and the authentication paths of each query in each part of a
    /// tree. The number of levels minimizes memory, with at least four in every block.
    fn opened(&self, tree: &TreeColumns) -> usize {
        if tree.is_empty() {
            return 0;
        }
        let queries = self.config.fri_config.n_queries;
        let log_kept = |trimmed: u32| self.log_size() - self.log_ranks() - self.parts().ilog2() - trimmed;
        let held = |trimmed: u32| {
            ((64 * self.parts()) << log_kept(trimmed)) + ((8 * Self::words(tree, trimmed) * queries) << self.log_blocks)
        };
        let trimmed = (0..=4.min(self.log_size() - self.log_blocks)).min_by_key(|&trimmed| held(trimmed)).unwrap();
        let values = (4 * Self::words(tree, trimmed) * queries) << (self.log_blocks - self.log_ranks());
        values + 32 * log_kept(trimmed) as usize * queries * self.parts()
    }
}

/// Returns the bytes that a rank sends to each other for a proof, without the setup of its prover.
fn sent(
    q: &AnyQueue,
    rank: &impl Collective<AnyQueue>,
    prover: &mut Prover<'_, AnyQueue>,
    sample: &Sample,
) -> Vec<u64> {
    let made = rank.sent_bytes();
    prover.prove(q, &sample.trace).unwrap();
    rank.sent_bytes().iter().zip(made).map(|(all, made)| all - made).collect()
}

/// Holds what ranks send to each other for a proof to `sizes`.
fn hold(sizes: &StatementSizes, log_blowup: u32, sample: &Sample, ranks: usize) {
    let config = config(log_blowup);
    let log_rows = sample.statement.heights().into_iter().max().unwrap();
    let sent = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
        let rank = Arc::new(rank);
        sent(q, &rank, &mut sample.sharded(q, Arc::clone(&rank), config).unwrap(), sample)
    });
    for (rank, sent) in sent.into_iter().enumerate() {
        let bytes = sizes.bytes(&config, log_rows, [rank, ranks]);
        let expected: Vec<u64> = (0..ranks).map(|to| if to == rank { 0 } else { bytes }).collect();
        assert_eq!(sent, expected, "2^{log_rows} rows, {sizes:?}, blow-up 2^{log_blowup}, rank {rank} of {ranks}");
    }
}

/// Holds the bytes of a proof that links carry, as `carried` counts them, and those that ranks count to its sizes.
pub(crate) fn hold_links(
    kind: CollectiveKind,
    carried: fn(Counters) -> BTreeMap<(u32, u32), u64>,
    (log_blowup, log_rows, columns, devices): (u32, u32, u32, u32),
) {
    let session = simulate("devices=4;peer=copies");
    let (config, sample) = (config(log_blowup), Sample::wide(log_rows, columns, 0));
    let queues = queues(Choice::Sim, devices as usize);
    let carried = || carried(session.counters());
    let before = Mutex::new(None);
    let sent = on_queues(&queues, group(kind, &queues), |q, rank| {
        let rank = Arc::new(rank);
        let mut prover = sample.sharded(q, Arc::clone(&rank), config).unwrap();
        // All have made their provers, and none begins to prove.
        rank.barrier(q).unwrap();
        before.lock().unwrap().get_or_insert_with(carried);
        rank.barrier(q).unwrap();
        sent(q, &rank, &mut prover, &sample)
    });
    let (before, after) = (before.into_inner().unwrap().unwrap(), carried());
    for (from, to) in (0..devices).flat_map(|from| (0..devices).map(move |to| (from, to))) {
        let bytes = StatementSizes::wide(columns).bytes(&config, log_rows, [from as usize, devices as usize]);
        let of = |counted: &BTreeMap<(u32, u32), u64>| counted.get(&(from, to)).copied().unwrap_or(0);
        let expected = if from == to { 0 } else { bytes };
        let found = (of(&after) - of(&before), sent[from as usize][to as usize]);
        assert_eq!(found, (expected, expected), "from {from} to {to}");
    }
}

#[test]
fn links_carry_what_the_sizes_of_a_proof_say() {
    for (log_blowup, log_rows, columns, ranks) in [
        (1, 6, 8, 2),
        (1, 6, 24, 4),
        (1, 9, 16, 8),
        (1, 12, 40, 4),
        (2, 6, 8, 2),
        (3, 9, 16, 4),
        (2, 7, 16, 4),
        (1, 9, 37, 4),
        (1, 7, 5, 2),
        (3, 7, 37, 2),
        // In several rounds of exchange: a rank sends 64 columns of 2^14 rows at once. The last round has one
        // column of each rank, of some, or more of some than of others.
        (1, 14, 4 * 64 + 4, 4),
        (1, 14, 4 * 64 + 2, 4),
        (2, 14, 4 * 64 + 5, 4),
    ] {
        hold(&StatementSizes::wide(columns), log_blowup, &Sample::wide(log_rows, columns, 0), ranks);
    }
    hold(&StatementSizes::poseidon2(), 1, &Sample::poseidon2(14, [0; 16]), 4);
}

#[test]
fn links_carry_what_look_ups_and_columns_that_are_read_at_other_rows_say() {
    for (log_blowup, log_rows, ranks) in [(1, 6, 2), (1, 6, 4), (1, 9, 8), (2, 7, 2), (2, 6, 4), (3, 7, 4), (3, 9, 8)] {
        let heights = [log_rows; 2];
        hold(&StatementSizes::state_machine(heights), log_blowup, &Sample::steps(heights, [1, 2]), ranks);
        hold(&StatementSizes::poseidon2(), log_blowup, &Sample::poseidon2(log_rows, [0; 16]), ranks);
    }
}

#[test]
fn links_carry_what_preprocessed_columns_say() {
    for (log_blowup, gates, ranks) in
        [(1, 60, 2), (1, 60, 4), (1, 500, 8), (2, 60, 2), (2, 1000, 4), (3, 100, 4), (3, 500, 8)]
    {
        hold(&StatementSizes::plonk(), log_blowup, &Sample::plonk(gates, [3, 9]), ranks);
    }
}

#[test]
fn links_carry_what_components_of_two_heights_say() {
    // In the last three, one component has too few rows for a block of each rank in each copy.
    for (log_blowup, heights, ranks) in [
        (1, [6, 5], 2),
        (1, [5, 9], 4),
        (1, [12, 8], 8),
        (2, [8, 7], 2),
        (2, [6, 10], 4),
        (3, [9, 5], 4),
        (3, [7, 9], 8),
        (1, [7, 3], 8),
        (2, [2, 9], 4),
        (1, [8, 1], 2),
    ] {
        hold(&StatementSizes::state_machine(heights), log_blowup, &Sample::steps(heights, [1, 2]), ranks);
    }
}
