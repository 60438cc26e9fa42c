//! AES-128 and the generator of key trees.

pub(crate) mod aes;
pub mod bitsliced;
pub(crate) mod block;
pub(crate) mod prg;
