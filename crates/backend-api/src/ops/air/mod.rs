//! Traces, constraints and lookups of AIRs recorded as programs.
//!
//! Also arithmetic on columns of the secure field.
//!
//! A program is a list of [`Instruction`](core_types::params::air::Instruction)s that runs once for
//! every position, on registers of one word that start out as zero. It has no branches. Columns of
//! the secure field are four planes of coordinates.

mod add_lifted;
mod columns;
mod counter_columns;
mod evaluate;
mod fractions;
mod gather_column;
mod logup_columns;
mod powers;
mod program;
mod row_numbers;

pub use add_lifted::SecureAddLifted;
pub use columns::AirColumns;
pub use counter_columns::CounterColumns;
pub use evaluate::AirEvaluate;
pub use fractions::AirFractions;
pub use gather_column::GatherColumn;
pub use logup_columns::LogUpColumns;
pub use powers::SecurePowers;
pub use row_numbers::RowNumbers;

pub use super::sets::AirOps;
