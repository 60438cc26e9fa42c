//! Prints the grid: proofs by stwo's prover over heights and parameters, by their digests.
//!
//! Its output is `data/stark/grid.json`.

use std::{
    error::Error,
    io::{self, Write as _},
};

use sha2::{Digest as _, Sha256};
use stwo::core::pcs::PcsConfig;
use stwo_vectors::{
    config::config,
    fingerprint::Fingerprint,
    prove::first,
    statement::Statement,
    truths::{blake2s, plonk, poseidon2},
};

/// Statements with parameters that vary from one to the next.
#[derive(Default)]
struct StatementGrid(Vec<(Statement, PcsConfig)>);

impl StatementGrid {
    /// Adds a statement whose quotients have `2^log_degree` coefficients.
    ///
    /// It gets the next parameters.
    fn add(&mut self, statement: Statement, log_degree: u32, most_blowup: u32) {
        self.add_lifted(statement, log_degree, most_blowup, false);
    }

    /// [`add`](Self::add), with all columns lifted to the height of the highest.
    fn add_lifted(&mut self, statement: Statement, log_degree: u32, most_blowup: u32, lifted: bool) {
        let k = self.0.len() as u32;
        let blowup = 1 + k % most_blowup;
        let fold_step = (1 + (k + k / 4) % 4).min(log_degree);
        let last = (k % 5).min(log_degree - fold_step);
        let lifting = lifted.then_some(log_degree + blowup);
        self.0.push((statement, config([blowup, fold_step, last, 1 + k % 7, 5 * k % 17], lifting)));
    }
}

fn fibonacci(log_rows: u32, columns: u32) -> Statement {
    Statement::WideFibonacci { log_rows: vec![log_rows], columns: vec![columns] }
}

/// All blowups, fold steps and last layers, each at every other height.
fn small_fibonacci(list: &mut StatementGrid) {
    let folds = |log_rows: u32| {
        (1..=4)
            .flat_map(move |fold_step| (0..=4).map(move |last| (fold_step, last)))
            .filter(move |(f, l)| f + l <= log_rows)
    };
    for (log_rows, blowup) in (1..=12).flat_map(|log_rows| (1..=4).map(move |blowup| (log_rows, blowup))) {
        for (fold_step, last) in folds(log_rows).filter(|(f, l)| (log_rows + blowup + f + l) % 2 == 0) {
            let k = list.0.len() as u32;
            let columns = [3, 4, 5, 17][(k % 4) as usize];
            let chosen = [blowup, fold_step, last, 1 + k % 5, 7 * k % 17];
            list.0.push((fibonacci(log_rows, columns), config(chosen, None)));
        }
    }
}

fn list() -> Vec<(Statement, PcsConfig)> {
    let mut list = StatementGrid::default();
    small_fibonacci(&mut list);
    // Work that takes longest.
    for pow_bits in 17..=22 {
        list.0.push((fibonacci(5, 3), config([1, 1, 0, 2, pow_bits], None)));
    }
    for log_rows in 13..=18 {
        for columns in [3, 10, 4, 6] {
            list.add(fibonacci(log_rows, columns), log_rows, 4.min(20 - log_rows));
        }
    }
    list.add(fibonacci(14, 200), 14, 1);
    for log_rows in [19, 20] {
        list.add(fibonacci(log_rows, 4), log_rows, 1);
    }
    // Components of several heights.
    for log_rows in
        [vec![4, 5], vec![9, 4], vec![5, 12, 8], vec![6, 6, 11, 4], vec![10, 13], vec![16, 7, 12], vec![4, 18]]
    {
        for columns in [[3, 4, 5, 3], [8, 3, 3, 10]] {
            let log_degree = log_rows.iter().copied().max().expect("a height");
            let columns = columns[..log_rows.len()].to_vec();
            list.add(
                Statement::WideFibonacci { log_rows: log_rows.clone(), columns },
                log_degree,
                4.min(20 - log_degree),
            );
        }
    }
    for high in 4..=18 {
        for (k, low) in [high, 4, 4 + high / 2].into_iter().filter(|&low| low <= high).enumerate() {
            let log_rows = if k % 2 == 0 { [high, low] } else { [low, high] };
            let first = [high << 20, 7 * low];
            list.add(Statement::Steps { log_rows, first }, high, 4.min(20 - high));
        }
    }
    list.add(Statement::Steps { log_rows: [19, 20], first: [1, 2] }, 20, 1);
    for log_rows in 4..=18 {
        for (gates, lifted) in [(1 << log_rows, false), ((1 << log_rows) - log_rows, false), (1 << log_rows, true)] {
            list.add_lifted(plonk(gates, [log_rows, gates]), log_rows, 4.min(20 - log_rows), lifted);
        }
    }
    list.add(plonk(1 << 20, [3, 4]), 20, 1);
    for log_rows in 4..=13 {
        list.add(poseidon2(log_rows), log_rows, 4.min(14 - log_rows));
    }
    list.add(poseidon2(16), 16, 1);
    for log_blocks in 4..=12 {
        // The highest columns belong to the first eight rounds, or to the tables.
        let log_degree = 10.max(log_blocks + 3);
        list.add_lifted(blake2s(log_blocks), log_degree, 4.min(16 - log_degree), log_blocks >= 8);
    }
    list.0
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let mut separator = "[\n";
    for (seed, (statement, config)) in list().into_iter().enumerate() {
        let (seed, proof, _) = first(&statement, config, seed as u64, true);
        let binary = postcard::to_allocvec(&proof)?;
        let sha256 = Sha256::digest(&binary).iter().map(|byte| format!("{byte:02x}")).collect();
        let line = Fingerprint { statement, config, seed, bytes: binary.len(), sha256 };
        write!(out, "{separator}{}", serde_json::to_string(&line)?)?;
        separator = ",\n";
    }
    writeln!(out, "\n]")?;
    Ok(())
}
