//! The statements that the program knows by name, made true.

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use core_types::blake2s::{BLOCK_WORDS, Digest};
use stark::{Columns, KnownStatement, M31};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

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

/// The state of a chain as it stands in a list.
fn state(words: &[M31]) -> Result<[M31; 16]> {
    words.try_into().context("a state has 16 elements")
}

/// The statement that the arguments name, and its trace.
pub(crate) fn make(args: &AirArgs) -> Result<(KnownStatement, Vec<Columns>)> {
    let AirArgs { air, log_rows, columns, seed } = *args;
    let word = M31::from_u32;
    Ok(match air {
        AirName::WideFibonacci => {
            let air = WideFibonacci::new(log_rows, columns)?;
            let seeds: Vec<_> = (0..1 << log_rows).map(|row| [word(seed), word(row)]).collect();
            let trace = air.trace(&seeds)?;
            (KnownStatement::WideFibonacci { log_rows, columns }, trace)
        }
        AirName::StateMachine => {
            let (log_steps, first) = ([log_rows; 2], [word(seed), word(0)]);
            let trace = StateMachine::new(log_steps, first)?.trace();
            (KnownStatement::StateMachine { log_steps, first }, trace)
        }
        AirName::Plonk => {
            let most = KnownStatement::MOST_LOG_GATES;
            ensure!(log_rows <= most, "expected at most 2^{most} gates, got 2^{log_rows}");
            let (gates, inputs) = (1 << log_rows, [word(seed), word(1)]);
            let plonk = Plonk::evaluate(Circuit::sample(gates)?, inputs.to_vec())?;
            let outputs = plonk.outputs().to_vec();
            (KnownStatement::Plonk { gates, inputs, outputs }, plonk.trace())
        }
        AirName::Poseidon2 => {
            let first = core::array::from_fn(|k| word(seed) + word(k as u32));
            let (chain, trace) = Poseidon2Chain::run(log_rows, first)?;
            (KnownStatement::Poseidon2 { log_rows, first, last: state(chain.last())? }, trace)
        }
        AirName::Blake2s => {
            Blake2s::new(log_rows, Digest::default())?;
            let block = |k: u32| core::array::from_fn(|word| seed.wrapping_add(k * BLOCK_WORDS as u32 + word as u32));
            let blocks: Vec<[u32; BLOCK_WORDS]> = (0..1 << log_rows).map(block).collect();
            let (hash, trace) = Blake2s::run(&blocks)?;
            (KnownStatement::Blake2s { log_blocks: log_rows, digest: hash.digest().0 }, trace)
        }
    })
}
