//! Walks of key trees on the masked inputs.

pub(crate) mod comparison;
pub(crate) mod evaluator;
pub(super) mod tree;
