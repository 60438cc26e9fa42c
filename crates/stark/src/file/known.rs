//! The statements that files name.

use core_types::{blake2s::Digest, field::M31};
use serde::{Deserialize, Serialize};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use super::{AnyStatement, FileError};

/// A statement about AIRs that ship, in the form in which a file stores it.
///
/// It has everything that a verifier needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum KnownStatement {
    /// A trace in which each column is the sum of the squares of the two to its left.
    WideFibonacci {
        /// Log of the number of rows.
        log_rows: u32,
        /// Columns.
        columns: u32,
    },
    /// Steps of a state with two coordinates.
    StateMachine {
        /// Logs of the steps of each coordinate.
        log_steps: [u32; 2],
        /// The state that they begin with.
        first: [M31; 2],
    },
    /// A run of the [sample circuit](Circuit::sample) with `gates` gates on its inputs.
    Plonk {
        /// Gates.
        gates: u32,
        /// Values of the first wires.
        inputs: [M31; 2],
        /// Values of the wires that are put out.
        outputs: Vec<M31>,
    },
    /// A chain of Poseidon2 permutations.
    Poseidon2 {
        /// Log of the number of permutations.
        log_rows: u32,
        /// The state that the first takes.
        first: [M31; 16],
        /// The state that the last makes.
        last: [M31; 16],
    },
    /// A message with this Blake2s digest.
    Blake2s {
        /// Log of the number of blocks of the message.
        log_blocks: u32,
        /// The digest, as words.
        digest: [u32; 8],
    },
}

impl KnownStatement {
    /// The most gates of a circuit, as a log: a verifier has to make them all.
    pub const MOST_LOG_GATES: u32 = 22;

    /// The name of the computation, as it stands in files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WideFibonacci { .. } => "wide-fibonacci",
            Self::StateMachine { .. } => "state-machine",
            Self::Plonk { .. } => "plonk",
            Self::Poseidon2 { .. } => "poseidon2",
            Self::Blake2s { .. } => "blake2s",
        }
    }

    /// Builds the statement, for a prover or a verifier.
    ///
    /// # Errors
    /// [`FileError::Gates`] for a circuit of more gates than a verifier makes,
    /// [`FileError::Statement`] if there is no such statement.
    pub fn build(&self) -> Result<AnyStatement, FileError> {
        Ok(match self {
            &Self::WideFibonacci { log_rows, columns } => {
                AnyStatement::WideFibonacci(WideFibonacci::new(log_rows, columns)?)
            }
            &Self::StateMachine { log_steps, first } => {
                AnyStatement::StateMachine(StateMachine::new(log_steps, first)?)
            }
            Self::Plonk { gates, inputs, outputs } => {
                let most = 1 << Self::MOST_LOG_GATES;
                if *gates > most {
                    return Err(FileError::Gates { most, got: *gates });
                }
                AnyStatement::Plonk(Plonk::new(Circuit::sample(*gates)?, inputs.to_vec(), outputs.clone())?)
            }
            &Self::Poseidon2 { log_rows, first, last } => {
                AnyStatement::Poseidon2(Poseidon2Chain::new(log_rows, first, last)?)
            }
            &Self::Blake2s { log_blocks, digest } => AnyStatement::Blake2s(Blake2s::new(log_blocks, Digest(digest))?),
        })
    }
}
