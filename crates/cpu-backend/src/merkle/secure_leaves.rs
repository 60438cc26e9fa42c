//! Leaves of a tree of one column of the secure field: a message is a block or less.
//!
//! Leaf `j` is Blake2s of the four coordinates of value `j`, or of values `4j .. 4j + 3` if packed
//! (stwo 2.3, `core/fri.rs`).

use core_types::blake2s::{BLOCK_WORDS, Digest};

use crate::{
    blake2s::{one_block, planes_of_rows, rows_of_planes},
    simd::{LaneKernel, WIDEST, bits::Bits},
};

/// Leaves of values whose coordinates are in four planes.
pub(super) struct SecureLeaves<'a> {
    /// The coordinates of the values of these leaves.
    pub(super) planes: [&'a [u32]; 4],
    /// Whether a leaf is of four values, and not of one.
    pub(super) packed: bool,
    /// The leaves, a power of two.
    pub(super) leaves: &'a mut [Digest],
}

impl<L: Bits> LaneKernel<L> for SecureLeaves<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // Less than a vector of leaves is hashed in a padded copy.
        let values = if self.packed { 4 * L::N } else { L::N };
        let (mut few, mut few_values) = ([Digest::default(); WIDEST], [[0; 4 * WIDEST]; 4]);
        let direct = self.leaves.len() >= L::N;
        let mut planes = self.planes;
        if !direct {
            for (few, plane) in few_values.iter_mut().zip(&mut planes) {
                few[..plane.len()].copy_from_slice(plane);
                *plane = few;
            }
        }
        let leaves = if direct { &mut *self.leaves } else { &mut few[..L::N] };
        // The block of each lane: the coordinates of one value or of four.
        for (i, rows) in bytemuck::must_cast_slice_mut::<_, u32>(leaves).chunks_exact_mut(8 * L::N).enumerate() {
            let mut block = [l.splat(0); BLOCK_WORDS];
            for (c, plane) in planes.iter().enumerate() {
                let plane = &plane[i * values..][..values];
                block[c] = l.load(plane);
                if self.packed {
                    let fours =
                        [block[c], l.load(&plane[L::N..]), l.load(&plane[2 * L::N..]), l.load(&plane[3 * L::N..])];
                    [block[c], block[4 + c], block[8 + c], block[12 + c]] = planes_of_rows(l, fours);
                }
            }
            // Digests have a word per plane; leaves have a digest per row.
            let digests = one_block(l, &block, if self.packed { 64 } else { 16 });
            for (j, &row) in rows_of_planes(l, digests).iter().enumerate() {
                l.store(&mut rows[j * L::N..], row);
            }
        }
        if !direct {
            let len = self.leaves.len();
            self.leaves.copy_from_slice(&few[..len]);
        }
    }
}
