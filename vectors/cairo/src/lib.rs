//! The production constraints of Cairo, by crate `cairo-air`.
//!
//! They are recorded through `stwo-air`, proven by Trefoil, and verified by stwo with the original
//! components.
//!
//! Witnesses are generated from the constraints. They are no runs of a program: each component is
//! proven alone, and its claimed sum is what its look-ups come to. Preprocessed columns other than
//! the numbers of rows are made-up words, which only look-ups read.

mod components;
mod proof;
mod row;
mod rows;

pub use components::{Visit, each};
pub use proof::Production;
