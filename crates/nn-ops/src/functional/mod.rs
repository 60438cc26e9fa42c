//! Operators on any layout that return their result.

mod forms;
mod nested;
mod queue;
pub(crate) mod readable;
mod shapes;

pub use forms::{Attended, Functional, Normed, NormedSum, RowLosses};
pub use nested::Nested;
