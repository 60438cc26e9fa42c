//! Which bytes of shared and local memory hold something.

use std::ops::Range;

/// State of a byte of shared or local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Byte {
    Unwritten,
    Written,
    /// Holds a part of a value that nothing had defined.
    Undefined,
}

/// The first of the bytes that nothing wrote.
#[inline]
pub(super) fn first_gap(bytes: &[Byte]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == Byte::Unwritten)
}

/// State of the bytes of a block's shared memory.
pub(super) struct WrittenBytes(pub(super) Vec<Byte>);

impl WrittenBytes {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![Byte::Unwritten; bytes])
    }

    #[inline]
    pub(super) fn mark(&mut self, range: Range<usize>) {
        self.0[range].fill(Byte::Written);
    }

    /// Whether all bytes were written; without a branch per byte.
    #[inline]
    pub(super) fn is_written(&self, range: Range<usize>) -> bool {
        let all = |bytes: &[Byte]| bytes.iter().fold(true, |all, &byte| all & (byte == Byte::Written));
        let bytes = &self.0[range];
        // the width of a lane's access, as a constant
        match bytes.len() {
            2 => all(&bytes[..2]),
            4 => all(&bytes[..4]),
            8 => all(&bytes[..8]),
            16 => all(&bytes[..16]),
            _ => all(bytes),
        }
    }
}
