//! Public points that lie close together and so share most of the way down a tree.
//!
//! Points of n bits that lie at most 2^w below a first one, modulo 2^n, lie in its aligned block of
//! 2^w points or in the block before: their upper n - w bits take at most two values. An evaluation
//! walks down to both blocks once, and from there walks only the lower levels to each point. The
//! steps are the same for every first point.

/// Two neighbouring blocks of 2^w points of n bits.
///
/// They are the block of a first point and the one before. A width w = n stands for the whole ring,
/// whose points share only the root.
///
/// ```
/// use core_types::Window;
///
/// let window = Window::new(16, 8);
/// assert_eq!(window.depth(), 8);
/// let first = 0x0010;
/// assert_eq!(window.block(first, 0x0000), 0);
/// // below the start of the ring comes its end
/// assert_eq!(window.block(first, 0xff10), 1);
/// assert_eq!(window.member(first, 1) & 0xffff, 0xff10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    bits: u32,
    width: u32,
}

impl Window {
    /// Blocks of 2^`width` points of `bits` bits, for `width` <= `bits` <= 64.
    #[inline]
    #[must_use]
    pub const fn new(bits: u32, width: u32) -> Self {
        Self { bits, width }
    }

    /// Levels from the root to the blocks; 0 for the whole ring.
    #[inline]
    #[must_use]
    pub const fn depth(self) -> u32 {
        self.bits.saturating_sub(self.width)
    }

    /// A point in the block of `first` if `block` is 0, or in the one before if it is 1.
    ///
    /// Read the point modulo 2^n.
    #[inline]
    #[must_use]
    pub const fn member(self, first: u64, block: u32) -> u64 {
        first.wrapping_sub(((block & 1) as u64) << (self.width & 63))
    }

    /// The block that contains `y`: 0 for the block of `first`, 1 for the one before.
    #[inline]
    #[must_use]
    pub const fn block(self, first: u64, y: u64) -> u32 {
        ((first ^ y) >> (self.width & 63)) as u32 & 1
    }
}
