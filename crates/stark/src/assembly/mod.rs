//! From the answers that the host reads back to a checked proof.

pub(crate) mod assemble;
pub(crate) mod opened;
pub(crate) mod out_of_domain;
pub(crate) mod submitted;
