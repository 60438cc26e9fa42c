//! Tests on a real GPU, here and on machines without Rust.

pub(crate) mod bundle;
pub(crate) mod test;
