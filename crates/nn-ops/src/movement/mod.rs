//! Copies, conversions and rows by index: elements that move and are not combined.

pub(crate) mod cast;
pub(crate) mod copy;
mod index;
pub(crate) mod packed;

pub use cast::{Overflow, narrow, widen};
pub use copy::{concat, copy};
pub use index::Indices;
