//! Parameter records of the function-secret-sharing ops.

use bytemuck::{Pod, Zeroable};

use super::sizes::sizes;
use crate::cipher::{aes::AesKey, prg::PrgKeys};

/// Generation of a batch of comparison keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpGenParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 2],
}

sizes!(CmpGenParams { bits, count });

/// Evaluation of a batch of comparison keys at clustered points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpWindowParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Offsets, and points per key.
    pub points: u32,
    /// Width of the [`Window`](crate::Window) of the points of a key, 7 to n; n if n is below 7.
    ///
    /// A window of all n bits allows any points.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 3],
}

sizes!(CmpWindowParams { bits, party, count, points, window });

/// Evaluation of some keys of a batch of comparison keys at every point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpAllParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to [`CMP_ALL_BITS`](crate::cmp::CMP_ALL_BITS).
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// First key that is evaluated, a multiple of 32.
    pub first: u32,
    /// Keys that are evaluated, from `first` on.
    pub keys: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 3],
}

sizes!(CmpAllParams { bits, party, count, first, keys });

/// Generation of a batch of comparison keys with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DcfGenParams {
    /// Public AES keys of the tree and of the value blocks.
    pub keys: PrgKeys,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Payload words L, 1 to [`MAX_PAYLOAD_WORDS`](crate::MAX_PAYLOAD_WORDS).
    pub words: u32,
    /// Width w of payload words, 1 to 64: results are modulo 2^w.
    pub width: u32,
}

sizes!(DcfGenParams { bits, count, words, width });

/// Evaluation of a batch of comparison keys with payload at clustered points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DcfWindowParams {
    /// Public AES keys of the tree and of the value blocks.
    pub keys: PrgKeys,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Offsets, and points per key.
    pub points: u32,
    /// Payload words L, 1 to [`MAX_PAYLOAD_WORDS`](crate::MAX_PAYLOAD_WORDS).
    pub words: u32,
    /// Width w of payload words, 1 to 64: results are modulo 2^w.
    pub width: u32,
    /// Width of the [`Window`](crate::Window) that holds the points of a key, 0 to n.
    ///
    /// A window of all n bits asks nothing of the points.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

sizes!(DcfWindowParams { bits, party, count, points, words, width, window });

/// Packing of ring elements into a bit stream, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PackParams {
    /// Elements.
    pub count: u32,
    /// Bits k of an element, 1 to 64.
    pub bits: u32,
}

sizes!(PackParams { count, bits });

/// Keys of a batch, rounded up to the 32 that one output word covers.
#[inline]
#[must_use]
pub const fn padded(count: u32) -> usize {
    (count as usize).div_ceil(32) * 32
}
