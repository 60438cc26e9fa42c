//! The statements that the program provides by name, with true traces.

use anyhow::Result;
use backend_api::{BackendError, Budget};
use clap::{Args, ValueEnum};
use core_types::{blake2s::BLOCK_WORDS, field::P};
use stark::{KnownStatement, M31};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use super::number::whole;
use crate::{exit::UsageError, stark::trace::TraceInput};

/// Default number of columns of wide Fibonacci.
const COLUMNS: u32 = 100;

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
    /// Log of the number of rows: 1..=28, of plonk 1..=22, of blake2s 1..=20.
    #[arg(long, value_name = "LOG", value_parser = whole(1..=28))]
    pub(crate) log_rows: u32,
    /// Columns of wide-fibonacci, and of nothing else, 3..=65536 [default: 100].
    #[arg(long, value_name = "N", value_parser = whole(3..=65_536))]
    columns: Option<u32>,
    /// Seed of a generated trace, 0..=2147483646.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=P - 1))]
    seed: u32,
}

impl AirArgs {
    /// The options as they are written, with those that were left to their defaults.
    pub(crate) fn options(&self) -> Vec<String> {
        let Self { air, log_rows, columns, seed } = self;
        let name = air.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let columns = columns.map(|columns| format!("--columns {columns}"));
        let always = [format!("--air {name}"), format!("--log-rows {log_rows}"), format!("--seed {seed}")];
        always.into_iter().chain(columns).collect()
    }

    /// Columns of wide Fibonacci.
    pub(crate) fn columns(&self) -> u32 {
        self.columns.unwrap_or(COLUMNS)
    }

    /// The statement that the arguments name, without the results of its trace.
    ///
    /// The results are last states, outputs and digests. Allocates nothing of the trace's size.
    ///
    /// # Errors
    /// Refuses an option that means nothing for the computation.
    pub(crate) fn outline(&self) -> Result<KnownStatement, UsageError> {
        let log_rows = self.log_rows;
        if self.columns.is_some() && self.air != AirName::WideFibonacci {
            return Err(UsageError("`--columns` requires `--air wide-fibonacci`".to_owned()));
        }
        let most = KnownStatement::MOST_LOG_GATES;
        let none = M31::ZERO;
        Ok(match self.air {
            AirName::WideFibonacci => KnownStatement::WideFibonacci { log_rows, columns: self.columns() },
            AirName::StateMachine => {
                KnownStatement::StateMachine { log_steps: [log_rows; 2], first: self.first_state() }
            }
            AirName::Plonk if log_rows > most => {
                return Err(UsageError(format!(
                    "`--log-rows` of plonk: expected a whole number of 1..={most}, got {log_rows}"
                )));
            }
            AirName::Plonk => {
                KnownStatement::Plonk { gates: 1 << log_rows, inputs: self.inputs(), outputs: vec![none; 2] }
            }
            AirName::Poseidon2 => KnownStatement::Poseidon2 { log_rows, first: self.first_words(), last: [none; 16] },
            AirName::Blake2s => KnownStatement::Blake2s { log_blocks: log_rows, digest: [0; 8] },
        })
    }

    fn first_state(&self) -> [M31; 2] {
        [self.seed, 0].map(M31::from_u32)
    }

    fn inputs(&self) -> [M31; 2] {
        [self.seed, 1].map(M31::from_u32)
    }

    fn first_words(&self) -> [M31; 16] {
        core::array::from_fn(|k| M31::from_u32(self.seed) + M31::from_u32(k as u32))
    }

    /// The most bytes of host memory that [`make`](Self::make) holds at once.
    fn bytes(&self) -> u64 {
        // Bytes of a row: the words of a trace or of its generator's inputs, and the data that those are computed from.
        let of_row = match self.air {
            // Two columns, and the pairs that they are made from.
            AirName::WideFibonacci => 8 + 8,
            // The first state determines all others.
            AirName::StateMachine => 0,
            // The gates, the value of each wire twice and its reads.
            AirName::Plonk => 12 + 8 + 4,
            // The state before each permutation.
            AirName::Poseidon2 => 64,
            // A block, 80 words of its compression and 64 of each of its ten rounds.
            AirName::Blake2s => 64 + 4 * (80 + 10 * 64),
        };
        of_row << self.log_rows
    }

    /// The statement that the arguments name, and its trace.
    ///
    /// If the AIR has a generator, its input takes the place of the trace. The memory must be
    /// within the budget and available.
    pub(crate) fn make(&self, budget: &Budget) -> Result<(KnownStatement, TraceInput)> {
        check_memory(self.bytes(), budget)?;
        let log_rows = self.log_rows;
        let rows = 0..1 << log_rows;
        Ok(match self.air {
            AirName::WideFibonacci => {
                let columns = self.columns();
                let air = WideFibonacci::new(log_rows, columns)?;
                let seeds: Vec<_> = rows.map(|row| [self.seed, row].map(M31::from_u32)).collect();
                (KnownStatement::WideFibonacci { log_rows, columns }, TraceInput::Fibonacci(air.seeds(&seeds)?))
            }
            AirName::StateMachine => {
                let (log_steps, first) = ([log_rows; 2], self.first_state());
                let machine = StateMachine::new(log_steps, first)?;
                (KnownStatement::StateMachine { log_steps, first }, TraceInput::StateMachine(machine))
            }
            AirName::Plonk => {
                let (gates, inputs) = (1 << log_rows, self.inputs());
                let plonk = Plonk::evaluate(Circuit::sample(gates)?, inputs.to_vec())?;
                let outputs = plonk.outputs().to_vec();
                (KnownStatement::Plonk { gates, inputs, outputs }, TraceInput::Plonk(plonk.wires()))
            }
            AirName::Poseidon2 => {
                let first = self.first_words();
                let (chain, states) = Poseidon2Chain::states(log_rows, first)?;
                (KnownStatement::Poseidon2 { log_rows, first, last: *chain.last() }, TraceInput::Poseidon2(states))
            }
            AirName::Blake2s => {
                let word = |k: u32| self.seed.wrapping_add(k);
                let block = |k| core::array::from_fn(|at| word(k * BLOCK_WORDS as u32 + at as u32));
                let blocks: Vec<[u32; BLOCK_WORDS]> = rows.map(block).collect();
                let (hash, states) = Blake2s::states(&blocks)?;
                (KnownStatement::Blake2s { log_blocks: log_rows, digest: hash.digest().0 }, TraceInput::Blake2s(states))
            }
        })
    }
}

/// Checks that `bytes` of host memory are within the budget and can be allocated.
///
/// # Errors
/// [`BackendError::BudgetExceeded`] or [`BackendError::OutOfMemory`].
pub(crate) fn check_memory(bytes: u64, budget: &Budget) -> Result<(), BackendError> {
    // A separate budget: the queue's budget counts device memory.
    drop(Budget::new(budget.limit_bytes()).reserve(bytes)?);
    let whole = usize::try_from(bytes).ok();
    let had = whole.is_some_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if had { Ok(()) } else { Err(BackendError::OutOfMemory { bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_asked_for_before_it_is_used() {
        let budget = Budget::new(1 << 20);
        assert_eq!(check_memory(1 << 20, &budget), Ok(()));
        assert!(matches!(check_memory((1 << 20) + 1, &budget), Err(BackendError::BudgetExceeded { .. })));
        assert_eq!(budget.live_bytes(), 0);
        let unlimited = Budget::unlimited();
        for bytes in [1 << 60, u64::MAX] {
            assert_eq!(check_memory(bytes, &unlimited), Err(BackendError::OutOfMemory { bytes }));
        }
    }

    #[test]
    fn an_outline_is_the_statement_but_for_what_the_trace_tells() {
        for air in AirName::value_variants() {
            let args = AirArgs { air: *air, log_rows: 3, columns: None, seed: 9 };
            let (outline, (made, _)) = (args.outline().unwrap(), args.make(&Budget::unlimited()).unwrap());
            let known = |statement: &KnownStatement| match statement.clone() {
                KnownStatement::Plonk { gates, inputs, outputs } => {
                    KnownStatement::Plonk { gates, inputs, outputs: vec![M31::ZERO; outputs.len()] }
                }
                KnownStatement::Poseidon2 { log_rows, first, .. } => {
                    KnownStatement::Poseidon2 { log_rows, first, last: [M31::ZERO; 16] }
                }
                KnownStatement::Blake2s { log_blocks, .. } => KnownStatement::Blake2s { log_blocks, digest: [0; 8] },
                whole => whole,
            };
            assert_eq!(known(&made), outline);
        }
    }
}
