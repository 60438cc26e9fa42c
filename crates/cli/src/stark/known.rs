//! The statements that the program knows by name, as they stand in files.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use core_types::blake2s::{BLOCK_WORDS, Digest};
use serde::{Deserialize, Serialize};
use stark::{M31, Statement};
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

/// A statement, as it stands in a proof's file: everything that a verifier needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Known {
    WideFibonacci { log_rows: u32, columns: u32 },
    StateMachine { log_steps: [u32; 2], first: [M31; 2] },
    Plonk { gates: u32, inputs: [M31; 2], outputs: Vec<M31> },
    Poseidon2 { log_rows: u32, first: [M31; 16], last: [M31; 16] },
    Blake2s { log_blocks: u32, digest: [u32; 8] },
}

/// The most gates of a circuit, as a log: a verifier has to make them all.
const MOST_LOG_GATES: u32 = 22;

/// What is done with a statement, whatever it is.
pub(crate) trait Use {
    type Out;

    fn with<S: Statement>(self, statement: &S) -> Result<Self::Out>;
}

/// The circuit of so many gates.
fn circuit(gates: u32) -> Result<Circuit> {
    if gates > 1 << MOST_LOG_GATES {
        bail!("expected at most 2^{MOST_LOG_GATES} gates, got {gates}");
    }
    Ok(Circuit::sample(gates)?)
}

impl Known {
    /// The statement that the arguments name, and its trace, or what it is made from if the AIR has a generator.
    pub(crate) fn make(args: &AirArgs) -> Result<(Self, Trace)> {
        let AirArgs { air, log_rows, columns, seed } = *args;
        let word = M31::from_u32;
        Ok(match air {
            AirName::WideFibonacci => {
                let air = WideFibonacci::new(log_rows, columns)?;
                let seeds: Vec<_> = (0..1 << log_rows).map(|row| [word(seed), word(row)]).collect();
                (Self::WideFibonacci { log_rows, columns }, Trace::Fibonacci(air.seeds(&seeds)?))
            }
            AirName::StateMachine => {
                let (log_steps, first) = ([log_rows; 2], [word(seed), word(0)]);
                let machine = StateMachine::new(log_steps, first)?;
                (Self::StateMachine { log_steps, first }, Trace::StateMachine(machine))
            }
            AirName::Plonk => {
                let (gates, inputs) = (1 << log_rows, [word(seed), word(1)]);
                let plonk = Plonk::evaluate(circuit(gates)?, inputs.to_vec())?;
                let outputs = plonk.outputs().to_vec();
                (Self::Plonk { gates, inputs, outputs }, Trace::Columns(plonk.trace()))
            }
            AirName::Poseidon2 => {
                let first = core::array::from_fn(|k| word(seed) + word(k as u32));
                let (chain, states) = Poseidon2Chain::states(log_rows, first)?;
                let last = *chain.last();
                (Self::Poseidon2 { log_rows, first, last }, Trace::Poseidon2(states))
            }
            AirName::Blake2s => {
                Blake2s::new(log_rows, Digest::default())?;
                let block =
                    |k: u32| core::array::from_fn(|word| seed.wrapping_add(k * BLOCK_WORDS as u32 + word as u32));
                let blocks: Vec<[u32; BLOCK_WORDS]> = (0..1 << log_rows).map(block).collect();
                let (hash, states) = Blake2s::states(&blocks)?;
                (Self::Blake2s { log_blocks: log_rows, digest: hash.digest().0 }, Trace::Blake2s(states))
            }
        })
    }

    /// The name of the computation.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::WideFibonacci { .. } => "wide-fibonacci",
            Self::StateMachine { .. } => "state-machine",
            Self::Plonk { .. } => "plonk",
            Self::Poseidon2 { .. } => "poseidon2",
            Self::Blake2s { .. } => "blake2s",
        }
    }

    /// Uses the statement.
    pub(crate) fn with<U: Use>(&self, body: U) -> Result<U::Out> {
        match self {
            &Self::WideFibonacci { log_rows, columns } => body.with(&WideFibonacci::new(log_rows, columns)?),
            &Self::StateMachine { log_steps, first } => body.with(&StateMachine::new(log_steps, first)?),
            Self::Plonk { gates, inputs, outputs } => {
                body.with(&Plonk::new(circuit(*gates)?, inputs.to_vec(), outputs.clone())?)
            }
            &Self::Poseidon2 { log_rows, first, last } => body.with(&Poseidon2Chain::new(log_rows, first, last)?),
            &Self::Blake2s { log_blocks, digest } => body.with(&Blake2s::new(log_blocks, Digest(digest))?),
        }
    }
}
