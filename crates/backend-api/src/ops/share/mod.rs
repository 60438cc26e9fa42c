//! Local arithmetic on one party's shares.
//!
//! This is the public part of a gate, between the walk of its key trees and an exchange, and after
//! the exchange.
//!
//! Every gate of function secret sharing that is used here ends in sums of the party's words with
//! public factors: powers of the masked input, opened bits, comparisons of the masked input with
//! constants. So one op serves all of them, and only the list of terms differs. Lists are public
//! and stay on the host; they say nothing about any element.
//!
//! A row of bits is `u32[P / 32]`, element `e` at bit `e % 32` of word `e / 32`, with
//! `P = padded(count)`; bits past the last element are zero.

mod combine_bits;
mod combine_words;
mod shape;

pub use combine_bits::CombineBits;
pub use combine_words::CombineWords;
pub use shape::{BitShape, WordShape};

pub use super::sets::ShareOps;
