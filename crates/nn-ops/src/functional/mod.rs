//! Operators on any layout that return their result.

mod forms;
mod nested;
pub(crate) mod packed;
mod queue;
mod shapes;

pub use forms::{Attended, Functional, Normed, NormedSum, RowLosses};
pub use nested::Nested;
