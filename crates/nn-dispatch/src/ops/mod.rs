//! Ops that several methods share, and checks of lengths.

pub(crate) mod elements;
pub(crate) mod lengths;
pub(crate) mod softmax;
