//! The statements that the program knows by name, made true.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use core_types::blake2s::{BLOCK_WORDS, Digest};
use stark::{KnownStatement, M31};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use super::trace::Trace;

/// Which computation is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AirName {
    /// Each column is the sum of the squares of the two to its left.
    WideFibonacci,
    /// A state with two coordinates, raised step by step, with look-ups.
    StateMachine,
    /// A circuit of sums and products, with look-ups and preprocessed columns.
    Plonk,
    /// A chain of Poseidon2 permutations.
    Poseidon2,
    /// The Blake2s digest of a message, with look-ups in tables; a row is a block of the message.
    Blake2s,
}

/// A computation, by name and size.
#[derive(Args, Clone, Debug)]
pub(crate) struct AirArgs {
    /// The computation.
    #[arg(long, value_enum)]
    pub(crate) air: AirName,
    /// Log of the number of rows.
    #[arg(long, value_name = "LOG", value_parser = clap::value_parser!(u32).range(1..=28))]
    pub(crate) log_rows: u32,
    /// Columns of wide-fibonacci.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) columns: u32,
    /// What a trace that is made begins with.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u32,
}

/// The statement that the arguments name, and what its trace is made from.
pub(crate) fn make(args: &AirArgs) -> Result<(KnownStatement, Trace)> {
    let AirArgs { air, log_rows, columns, seed } = *args;
    let word = M31::from_u32;
    Ok(match air {
        AirName::WideFibonacci => {
            let air = WideFibonacci::new(log_rows, columns)?;
            let seeds: Vec<_> = (0..1 << log_rows).map(|row| [word(seed), word(row)]).collect();
            (KnownStatement::WideFibonacci { log_rows, columns }, Trace::Fibonacci(air.seeds(&seeds)?))
        }
        AirName::StateMachine => {
            let (log_steps, first) = ([log_rows; 2], [word(seed), word(0)]);
            let machine = StateMachine::new(log_steps, first)?;
            (KnownStatement::StateMachine { log_steps, first }, Trace::StateMachine(machine))
        }
        AirName::Plonk => {
            let most = KnownStatement::MOST_LOG_GATES;
            ensure!(log_rows <= most, "expected at most 2^{most} gates, got 2^{log_rows}");
            let (gates, inputs) = (1 << log_rows, [word(seed), word(1)]);
            let plonk = Plonk::evaluate(Circuit::sample(gates)?, inputs.to_vec())?;
            let outputs = plonk.outputs().to_vec();
            (KnownStatement::Plonk { gates, inputs, outputs }, Trace::Plonk(plonk.wires()))
        }
        AirName::Poseidon2 => {
            let first = core::array::from_fn(|k| word(seed) + word(k as u32));
            let (chain, states) = Poseidon2Chain::states(log_rows, first)?;
            (KnownStatement::Poseidon2 { log_rows, first, last: *chain.last() }, Trace::Poseidon2(states))
        }
        AirName::Blake2s => {
            Blake2s::new(log_rows, Digest::default())?;
            let block = |k: u32| core::array::from_fn(|word| seed.wrapping_add(k * BLOCK_WORDS as u32 + word as u32));
            let blocks: Vec<[u32; BLOCK_WORDS]> = (0..1 << log_rows).map(block).collect();
            let (hash, states) = Blake2s::states(&blocks)?;
            (KnownStatement::Blake2s { log_blocks: log_rows, digest: hash.digest().0 }, Trace::Blake2s(states))
        }
    })
}
