//! Kernels on real elements: names by element type, grids and the lengths they index.

use backend_api::{BackendError, DType, Element, Real};

use crate::{CudaRef, submit::Launch};

/// Longest row that a warp takes alone.
const WARP_LEN: u64 = 1024;
/// Rows that a block of warps takes at a time.
const ROWS_PER_BLOCK: u64 = 4;
/// Most blocks of a grid that strides over the rest.
const MOST_BLOCKS: u64 = 1 << 16;

/// A length as the kernels index it: below 2^31.
pub(super) fn index_bound(op: &'static str, len: u64) -> Result<u32, BackendError> {
    u32::try_from(len)
        .ok()
        .filter(|&len| len < 1 << 31)
        .ok_or(BackendError::Unsupported { op, why: "expected fewer than 2^31 elements along an axis" })
}

/// The kernels of one family, by element type.
#[derive(Clone, Copy)]
pub(super) struct KernelFamily {
    pub(super) f32: &'static str,
    pub(super) f16: &'static str,
    pub(super) bf16: &'static str,
}

impl KernelFamily {
    /// The kernel for `T`.
    pub(super) fn of<T: Real>(self) -> &'static str {
        match T::DTYPE {
            DType::F16 => self.f16,
            DType::Bf16 => self.bf16,
            _ => self.f32,
        }
    }
}

/// The family whose kernels begin with `$prefix`.
macro_rules! family {
    ($prefix:literal) => {
        $crate::ops::family::KernelFamily {
            f32: concat!($prefix, "_f32"),
            f16: concat!($prefix, "_f16"),
            bf16: concat!($prefix, "_bf16"),
        }
    };
}

pub(super) use family;

/// How the rows of a launch are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowGroup {
    /// Aligned rows, which a warp keeps in registers.
    Held,
    /// Rows that a warp streams.
    Warp,
    /// Rows that a block streams.
    Block,
}

impl RowGroup {
    /// The group for rows of `len` elements.
    ///
    /// If `aligned`, rows begin at multiples of four elements.
    pub(super) fn new(len: u64, aligned: bool) -> Self {
        match len {
            0..=WARP_LEN if aligned && len.is_multiple_of(4) => Self::Held,
            0..=WARP_LEN => Self::Warp,
            _ => Self::Block,
        }
    }

    /// The family for this group.
    pub(super) fn of(self, [held, warp, block]: [KernelFamily; 3]) -> KernelFamily {
        match self {
            Self::Held => held,
            Self::Warp => warp,
            Self::Block => block,
        }
    }

    /// A grid for `rows` rows, whose blocks all have a row to begin with.
    pub(super) fn grid(self, rows: u64) -> [u64; 3] {
        let blocks = if self == Self::Block { rows } else { rows.div_ceil(ROWS_PER_BLOCK).min(MOST_BLOCKS) };
        [blocks, 1, 1]
    }
}

/// Whether four elements from the start of the view on may move at once.
pub(super) fn aligned<T: Element>(view: CudaRef<'_, T>) -> bool {
    view.region().is_none_or(|region| region.address().is_multiple_of(4 * size_of::<T>() as u64))
}

/// A grid of threads that take four elements at a time and stride by the grid.
pub(super) fn over_elements(launch: Launch<'_>, len: usize) -> Launch<'_> {
    let blocks = (len as u64).div_ceil(4).div_ceil(launch.width().into());
    launch.blocks(blocks.min(MOST_BLOCKS))
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer as _, Queue as _};

    use super::*;
    use crate::rig;

    #[test]
    fn grids_are_of_rows_and_of_four_elements_to_a_thread() {
        let (_machine, queue) = rig::queue(3);
        for (len, blocks) in [(0, 0), (1, 1), (512, 1), (513, 2), (512 << 16, 1 << 16), ((512 << 16) + 1, 1 << 16)] {
            let launch = over_elements(queue.kernel(rig::KERNELS[0]).unwrap(), len);
            assert_eq!(launch.geometry(), ([blocks, 1, 1], None), "{len}");
        }
        for (rows, blocks) in [(0, 0), (1, 1), (4, 1), (5, 2), (4 << 16, 1 << 16), ((4 << 16) + 1, 1 << 16)] {
            assert_eq!(RowGroup::Held.grid(rows), [blocks, 1, 1], "{rows}");
            assert_eq!(RowGroup::Warp.grid(rows), [blocks, 1, 1], "{rows}");
            assert_eq!(RowGroup::Block.grid(rows), [rows, 1, 1], "{rows}");
        }
    }

    #[test]
    fn rows_are_held_if_they_are_short_and_aligned() {
        use super::RowGroup::{Block, Held, Warp};
        for (len, aligned, unaligned) in
            [(0, Held, Warp), (3, Warp, Warp), (4, Held, Warp), (1024, Held, Warp), (1028, Block, Block)]
        {
            assert_eq!((RowGroup::new(len, true), RowGroup::new(len, false)), (aligned, unaligned), "{len}");
        }
        let (_machine, queue) = rig::queue(1);
        let (words, halves) = (queue.alloc::<u32>(16).unwrap(), queue.alloc::<u16>(16).unwrap());
        for first in 0..9_usize {
            assert_eq!(aligned(words.slice(first..16).unwrap()), first.is_multiple_of(4), "{first}");
            assert_eq!(aligned(halves.slice(first..16).unwrap()), first.is_multiple_of(4), "{first}");
        }
        assert!(aligned(words.slice(1..1).unwrap()), "an empty view");
    }
}
