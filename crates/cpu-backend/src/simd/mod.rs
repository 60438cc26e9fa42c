//! Vectors: detection of instruction sets, and computations written once for all of them.
//!
//! A *token* ([`Avx2`], [`AesNi`], ..) is an empty value that exists only inside a function
//! compiled for its instructions, and so proves that they may be used. Five sets of lanes name what
//! tokens can do: [`words`] of M31, [`bits`] of hashes, [`ring`] words of shares, [`floats`], and
//! [`blocks`] of AES. An algorithm is a [`LaneKernel`] over one of these sets, and [`dispatch`],
//! [`dispatch_aes`] or [`dispatch_pairs`] runs it with the token of the queue's [`Simd`]. Methods
//! that are one instruction stand in a table, [`instructions`].
//!
//! Every function between a token and its operations is `#[inline(always)]`: only then do these
//! become single instructions. Such code has loops where closures would be shorter: a closure has
//! none of the target features of the enclosing function, so intrinsics in it stay calls unless it
//! happens to be inlined first.

pub(crate) mod bits;
pub(crate) mod blocks;
mod choice;
pub(crate) mod floats;
pub(crate) mod ring;
mod tokens;
pub(crate) mod words;

pub use choice::{AesPath, Simd, SimdLevel};
#[cfg(target_arch = "x86_64")]
pub(crate) use tokens::{AesNi, Avx2, Avx512, Avx512Bf16, Vaes256, Vaes512, instructions, memory, shifts};
pub(crate) use tokens::{LaneKernel, Portable, Token, dispatch, dispatch_aes, dispatch_pairs};

/// Most words in a vector, at any level.
pub(crate) const WIDEST: usize = 16;

/// Every level that this processor can run.
#[cfg(test)]
pub(crate) fn levels() -> impl Iterator<Item = Simd> {
    SimdLevel::ALL.into_iter().filter(|level| level.is_available()).map(Simd::detect_up_to)
}
