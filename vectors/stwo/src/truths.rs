//! Statements that say what comes out, made true.

use crate::{
    statement::{Statement, outputs},
    witness::blake2s_trace::hash,
    witness::trace::{permutations, wires},
};

/// The circuit of `gates` gates.
pub fn plonk(gates: u32, inputs: [u32; 2]) -> Statement {
    let values = wires(gates, inputs);
    Statement::Plonk { gates, inputs, outputs: outputs(gates).map(|wire| values[wire as usize].0) }
}

/// The chain of `2^log_rows` permutations from a state of small numbers.
pub fn poseidon2(log_rows: u32) -> Statement {
    let first = std::array::from_fn(|k| k as u32 + log_rows);
    let (_, last) = permutations(log_rows, first);
    Statement::Poseidon2 { log_rows, first, last }
}

/// The digest of `2^log_blocks` blocks.
pub fn blake2s(log_blocks: u32) -> Statement {
    let (_, digest) = hash(log_blocks);
    Statement::Blake2s { log_blocks, digest }
}
