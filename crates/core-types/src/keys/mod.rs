//! Comparison keys, payload keys and their trees.

pub mod cmp;
pub mod dcf;
pub(crate) mod label;
pub mod tree;
pub(crate) mod window;
