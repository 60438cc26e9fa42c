//! The single definition of an algebraic intermediate representation (AIR).
//!
//! An AIR is a set of constraints on the rows of a trace, written once and evaluated wherever a row
//! is needed.
//!
//! An [`Air`] is generic over the [`Row`] that it reads. A prover evaluates a row of values, on
//! lanes or on a GPU; a verifier evaluates a row at a point outside the domain; a row of marks
//! counts columns and constraints. No row type affects the constraints, so they cannot differ.
//!
//! ```
//! use core_types::air::{Air, BaseValue, Row};
//!
//! /// Each column is the sum of the squares of the two to its left.
//! struct WideFibonacci { log_rows: u32, columns: u32 }
//!
//! impl Air for WideFibonacci {
//!     fn log_rows(&self) -> u32 { self.log_rows }
//!
//!     fn eval<R: Row>(&self, row: &mut R) {
//!         let (mut a, mut b) = (row.column(), row.column());
//!         for _ in 2..self.columns {
//!             let c = row.column();
//!             row.constraint(c - a.square() - b.square());
//!             (a, b) = (b, c);
//!         }
//!     }
//! }
//! ```

mod fraction;
mod generator;
mod logup;
mod order;
mod row;
mod value;

pub use fraction::Fraction;
pub use generator::{Gather, Generator, NewRow};
pub use logup::{LogUp, Relation};
pub use order::{lifted, neighbour, stored_position, stored_row};
pub use row::{Air, Row, Tree};
pub use value::{BaseValue, ExtensionValue};
