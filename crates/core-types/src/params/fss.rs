//! Parameter records of the function-secret-sharing ops.

use bytemuck::{Pod, Zeroable};

use crate::{AesKey, PrgKeys};

/// Evaluation or generation of a batch of comparison keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1; not used by generation.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Points per key; not used by generation.
    pub points: u32,
}

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
    /// Width w of the [`Window`](crate::Window) that holds the points of a key, 7 to n; n if n is below 7.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 3],
}

impl CmpWindowParams {
    /// The same batch at points that may lie anywhere.
    #[must_use]
    pub const fn anywhere(&self) -> CmpParams {
        let Self { key, bits, party, count, points, .. } = *self;
        CmpParams { key, bits, party, count, points }
    }
}

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

/// Evaluation or generation of a batch of comparison keys with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DcfParams {
    /// Public AES keys of the tree and of the value blocks.
    pub keys: PrgKeys,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1; not used by generation.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Points per key; not used by generation.
    pub points: u32,
    /// Payload words L, 1 to [`MAX_PAYLOAD_WORDS`](crate::MAX_PAYLOAD_WORDS).
    pub words: u32,
    /// Width w of payload words, 1 to 64: results are modulo 2^w.
    pub width: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 2],
}

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
    /// Width of payload words, 1 to 64.
    pub width: u32,
    /// Width w of the [`Window`](crate::Window) that holds the points of a key, 0 to n.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

impl DcfWindowParams {
    /// The same batch at points that may lie anywhere.
    #[must_use]
    pub const fn anywhere(&self) -> DcfParams {
        let Self { keys, bits, party, count, points, words, width, .. } = *self;
        DcfParams { keys, bits, party, count, points, words, width, reserved: [0; 2] }
    }
}

/// Expansion of a seed by AES in counter mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct AesCtrParams {
    /// The expanded seed. Secret: wipe the record after use.
    pub key: AesKey,
    /// The counter of the first block.
    pub first: u128,
}

/// Packing of ring elements into a bit stream, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PackParams {
    /// Elements.
    pub count: u32,
    /// Bits k of an element, 1 to 64.
    pub bits: u32,
}

/// Keys of a batch, rounded up to the 32 that one output word covers.
#[inline]
#[must_use]
pub const fn padded(count: u32) -> usize {
    (count as usize).div_ceil(32) * 32
}
