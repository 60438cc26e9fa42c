//! What ranks send each other is what the sizes of a proof say.

use std::sync::Arc;

use backend_api::Ranks as _;
use collective::Local;
use runtime::Choice;
use stark::{Columns, M31, PcsConfig, Protocol, Statement, StatementProver};
use stark_airs::StateMachine;

use crate::{on_ranks, wide};

/// What one share takes of `count`, a multiple of the number of ranks.
fn share(count: usize, ranks: usize) -> u64 {
    assert_eq!(count % ranks, 0, "{count} things of {ranks} ranks");
    (count / ranks) as u64
}

/// What a rank takes of things that are not as many for each.
const fn uneven(count: usize, ranks: usize, rank: usize) -> usize {
    (rank + 1) * count / ranks - rank * count / ranks
}

/// The default parameters, fold step 1 and the last layer constant, with another blow-up.
pub(crate) fn config(log_blowup: u32) -> PcsConfig {
    let mut config = PcsConfig::default();
    config.fri_config.log_blowup_factor = log_blowup;
    config
}

/// What a proof of components of one height is of.
pub(crate) struct Sizes {
    /// The columns of each tree but the last, and the rows that each column is read at.
    trees: Vec<[usize; 2]>,
    /// Columns that constraints read at other rows.
    neighbours: usize,
}

impl Sizes {
    /// Those of a wide Fibonacci trace of so many columns.
    pub(crate) fn wide(columns: usize) -> Self {
        Self { trees: vec![[columns, 1]], neighbours: 0 }
    }

    /// Those of a state machine: two columns for each of two components, and the four of one running sum, which are read at the row
    /// before too.
    fn state_machine() -> Self {
        Self { trees: vec![[4, 1], [8, 2]], neighbours: 8 }
    }

    /// Bytes from a rank to each other one for a proof of fewer columns than are exchanged at once.
    pub(crate) fn bytes(&self, config: &PcsConfig, log_rows: u32, [rank, ranks]: [usize; 2]) -> u64 {
        let (log_blowup, queries) = (config.fri_config.log_blowup_factor, config.fri_config.n_queries);
        let (log_size, log_ranks) = (log_rows + log_blowup, ranks.ilog2());
        let log_blocks = log_blowup + log_ranks;
        let rows = 1 << log_rows;
        // With as many ranks as copies, columns are dealt, and a rank hashes one part of each tree in each copy.
        let (is_dealt, copies) = (log_ranks >= log_blowup, 1 << log_blowup);
        let (parts, log_parts) = if is_dealt { (copies as u64, log_ranks + log_blowup) } else { (1, log_ranks) };
        // Coefficients of the columns, or extended columns, and the samples of this rank's columns, or its samples; the composition
        // polynomial is sampled by all.
        let (mut words, mut samples) = (0, 0);
        for &[columns, read] in &self.trees {
            if is_dealt {
                let of_rank = columns.div_ceil(ranks);
                words += of_rank as u64 * share(rows * copies, ranks);
                samples += read * (columns.min(of_rank * (rank + 1)) - columns.min(of_rank * rank));
            } else {
                words += (uneven(columns, ranks, rank) * rows) as u64;
                samples += read * columns;
            }
        }
        samples = if is_dealt { samples + uneven(8, ranks, rank) } else { uneven(samples + 8, ranks, rank) };
        // The columns that are read at other rows, on twice as many positions as there are rows.
        words += if is_dealt { self.neighbours as u64 * share(2 * rows, ranks) } else { 0 };
        // Sums of constraints, and numerators of each point.
        let points = self.trees.iter().map(|[_, read]| *read as u64).fold(1, u64::max);
        words += 4 * share(2 * rows, ranks) + points * 4 * share(rows, ranks);
        // The lowest level that is kept of each layer that is cut into as many parts as there are ranks.
        let layers = config.fri_config.log_last_layer_degree_bound + log_blowup + 1..=log_size;
        let layers = layers.filter_map(|log_layer| {
            let log_part = log_layer.min((log_size - log_blocks).max(4));
            (log_layer - log_part >= log_ranks).then(|| 32 * share(1 << (log_layer - log_layer.min(4)), ranks))
        });
        // The roots of the parts, and values around the queries in each block, and what opens each query in each part: of as many
        // levels as take the least memory, four at least in every block.
        let trees = self.trees.iter().map(|[columns, _]| *columns).chain([8]).map(|columns| {
            let words = |trimmed: u32| if trimmed == 0 { columns } else { columns.next_multiple_of(4) << trimmed };
            let held = |trimmed: u32| {
                (64 << (log_size - log_ranks - trimmed)) + ((8 * words(trimmed) * queries) << log_blocks)
            };
            let trimmed = (0..=4.min(log_size - log_blocks)).min_by_key(|&trimmed| held(trimmed)).unwrap();
            let paths = 32 * u64::from(log_size - log_parts - trimmed) * queries as u64 * parts;
            32 * parts + 4 * share((words(trimmed) * queries) << log_blocks, ranks) + paths
        });
        let state = 36;
        4 * words + 16 * samples as u64 + layers.sum::<u64>() + trees.sum::<u64>() + state
    }
}

/// Bytes that each rank sends to each for a proof, without what the making of the provers takes.
fn sent<S: Statement + Sync>(config: PcsConfig, statement: &S, trace: &[Columns], ranks: usize) -> Vec<Vec<u64>> {
    on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
        let rank = Arc::new(rank);
        let mut prover = StatementProver::sharded(q, Arc::clone(&rank), Protocol::V2_3, config, statement).unwrap();
        let made = rank.sent_bytes();
        prover.prove(q, trace).unwrap();
        let all = rank.sent_bytes();
        all.iter().zip(made).map(|(all, made)| all - made).collect()
    })
}

/// Holds what ranks send to `sizes`.
fn hold(sizes: &Sizes, config: &PcsConfig, log_rows: u32, sent: &[Vec<u64>]) {
    let ranks = sent.len();
    for (rank, sent) in sent.iter().enumerate() {
        let bytes = sizes.bytes(config, log_rows, [rank, ranks]);
        let expected: Vec<u64> = (0..ranks).map(|to| if to == rank { 0 } else { bytes }).collect();
        let blowup = config.fri_config.log_blowup_factor;
        assert_eq!(*sent, expected, "2^{log_rows} rows, {:?}, blow-up 2^{blowup}, rank {rank} of {ranks}", sizes.trees);
    }
}

#[test]
fn links_carry_what_the_sizes_of_a_proof_say() {
    let cases = [
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
    ];
    for (log_blowup, log_rows, columns, ranks) in cases {
        let config = config(log_blowup);
        let (air, trace) = wide(log_rows, columns as u32);
        hold(&Sizes::wide(columns), &config, log_rows, &sent(config, &air, &trace, ranks));
    }
}

#[test]
fn links_carry_what_look_ups_and_columns_that_are_read_at_other_rows_say() {
    for (log_blowup, log_rows, ranks) in [(1, 6, 2), (1, 6, 4), (1, 9, 8), (2, 7, 2), (2, 6, 4), (3, 7, 4), (3, 9, 8)] {
        let config = config(log_blowup);
        let machine = StateMachine::new([log_rows, log_rows], [1, 2].map(M31::from_u32)).unwrap();
        hold(&Sizes::state_machine(), &config, log_rows, &sent(config, &machine, &machine.trace(), ranks));
    }
}
