//! Copies, conversions and rows by index: elements that move and are not combined.

mod cast;
mod copy;
mod index;
mod packed;

pub use cast::{Overflow, narrow, widen};
pub use copy::{concat, copy};
pub use index::Indices;
pub(crate) use packed::{Fit, Packed, Unpacked, copied};
