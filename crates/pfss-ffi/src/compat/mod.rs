//! The calls of other libraries, on top of this interface.

pub(crate) mod sigma;
pub(crate) mod suf;
