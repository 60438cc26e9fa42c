//! Device memory that columns share, and the elements that were read from it.

pub(crate) mod arena;
pub(crate) mod folds;
pub(crate) mod known;
