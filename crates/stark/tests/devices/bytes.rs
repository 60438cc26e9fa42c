//! What ranks send each other is what the sizes of a proof say.

use std::sync::Arc;

use backend_api::Ranks as _;
use collective::Local;
use runtime::Choice;
use stark::{PcsConfig, Protocol, StatementProver};

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

/// Bytes from a rank to each other one for a proof of a wide Fibonacci trace, of fewer columns than are exchanged at once.
pub(crate) fn expected(config: &PcsConfig, log_rows: u32, columns: usize, [rank, ranks]: [usize; 2]) -> u64 {
    let (log_blowup, queries) = (config.fri_config.log_blowup_factor, config.fri_config.n_queries);
    let (log_size, log_ranks) = (log_rows + log_blowup, ranks.ilog2());
    let log_blocks = log_blowup + log_ranks;
    let rows = 1 << log_rows;
    // With as many ranks as copies, columns are dealt, and a rank hashes one part of each tree in each copy.
    let (is_dealt, copies) = (log_ranks >= log_blowup, 1 << log_blowup);
    let (parts, log_parts) = if is_dealt { (copies as u64, log_ranks + log_blowup) } else { (1, log_ranks) };
    // Coefficients of the trace, or its extended columns.
    let (of_rank, first) = (columns.div_ceil(ranks), columns.div_ceil(ranks) * rank);
    let (trace, own_columns) = if is_dealt {
        let own = columns.min(first + of_rank) - columns.min(first);
        (of_rank as u64 * share(rows * copies, ranks), own + uneven(8, ranks, rank))
    } else {
        ((uneven(columns, ranks, rank) * rows) as u64, uneven(columns + 8, ranks, rank))
    };
    // Sums of constraints, numerators of the one point and height.
    let words = trace + 4 * share(2 * rows, ranks) + 4 * share(rows, ranks);
    let samples = 16 * own_columns as u64;
    // The roots of the parts, of the trace and the composition polynomial.
    let roots = 2 * 32 * parts;
    // The lowest level that is kept of each layer that is cut into as many parts as there are ranks.
    let layers = (config.fri_config.log_last_layer_degree_bound + log_blowup + 1..=log_size).filter_map(|log_layer| {
        let log_part = log_layer.min((log_size - log_blocks).max(4));
        (log_layer - log_part >= log_ranks).then(|| 32 * share(1 << (log_layer - log_layer.min(4)), ranks))
    });
    // Values around the queries in each block, and what opens each query in each part, for both trees: of as many levels as take the
    // least memory, four at least in every block.
    let opened = [columns, 8].map(|columns| {
        let words = |trimmed: u32| if trimmed == 0 { columns } else { columns.next_multiple_of(4) << trimmed };
        let held =
            |trimmed: u32| (64 << (log_size - log_ranks - trimmed)) + ((8 * words(trimmed) * queries) << log_blocks);
        let trimmed = (0..=4.min(log_size - log_blocks)).min_by_key(|&trimmed| held(trimmed)).unwrap();
        let paths = 32 * u64::from(log_size - log_parts - trimmed) * queries as u64 * parts;
        4 * share((words(trimmed) * queries) << log_blocks, ranks) + paths
    });
    let state = 36;
    4 * words + samples + roots + layers.sum::<u64>() + opened.iter().sum::<u64>() + state
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
        let sent = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let rank = Arc::new(rank);
            let mut prover = StatementProver::sharded(q, Arc::clone(&rank), Protocol::V2_3, config, &air).unwrap();
            let made = rank.sent_bytes();
            prover.prove(q, &trace).unwrap();
            let all = rank.sent_bytes();
            all.iter().zip(made).map(|(all, made)| all - made).collect::<Vec<_>>()
        });
        for (rank, sent) in sent.iter().enumerate() {
            let bytes = expected(&config, log_rows, columns, [rank, ranks]);
            let expected: Vec<u64> = (0..ranks).map(|to| if to == rank { 0 } else { bytes }).collect();
            assert_eq!(*sent, expected, "2^{log_rows} x {columns}, blow-up 2^{log_blowup}, rank {rank} of {ranks}");
        }
    }
}
