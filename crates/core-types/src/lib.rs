//! Data types and formulas shared by host and kernels.
//!
//! These are fields, circle points, rings, labels, cipher rounds, AIRs and launch parameters.
//!
//! `no_std`, no allocation, no I/O: the crate also builds for `nvptx64`. Every scalar formula that
//! a kernel uses lives here, is inlined into host and device alike, and cannot panic.
//!
//! ```
//! use core_types::field::{Field, M31};
//!
//! // Arithmetic modulo 2^31 - 1.
//! assert_eq!(M31::from_u32(1 << 30) * M31::from_u32(4), M31::from_u32(2));
//! assert_eq!(M31::ZERO - M31::ONE, M31::from_u32((1 << 31) - 2));
//! ```
#![no_std]
// The kernels' compiler is pinned and admits them; see `field::wide`.
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, core_intrinsics, const_eval_select))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod air;
pub mod blake2s;
pub mod channel;
mod cipher;
pub mod circle;
pub mod features;
pub mod field;
pub mod float;
mod keys;
pub mod pack;
pub mod params;
pub mod philox;
mod ring;
pub mod share;

pub use cipher::{
    aes::{AES_TABLE, AesKey, Encrypt},
    bitsliced,
    block::block_words,
    prg::{MAX_PAYLOAD_WORDS, MAX_VALUE_BLOCKS, PrgKeys, hash},
};
pub use keys::{cmp, dcf, label::Label, tree, window::Window};
pub use ring::Ring;
