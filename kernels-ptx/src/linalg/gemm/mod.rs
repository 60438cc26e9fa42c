//! Matrix products.
//!
//! `blockIdx` is (tile, part of k, matrix of the batch), tiles row by row; every kernel takes the
//! record of the product and a [`GemmShare`].
//!
//! | kernel | takes | tile | threads |
//! | --- | --- | --- | --- |
//! | `general` | any layout and element type | 32 x 32 | 128 |
//! | `simt64`, `simt128` | f32, aligned | 64 x 64, 128 x 128 | 128, 256 |
//! | `mma64`, `mma128` | 16-bit elements on the matrix units, aligned | 64 x 64, 128 x 128 | 128 |
//! | `join` | partial sums of the others | - | 256 |
//!
//! Aligned: one stride of each factor is 1, and lines along it begin and end at multiples of 16
//! bytes. The two letters in a name say for A and B whether rows (`n`) or columns (`t`) are
//! contiguous.
//!
//! # Safety
//! The views of a launch hold the elements that its record reaches; m, n and k are below 2^31, and
//! m, n and the batch are not empty. `bias` is null or has n elements. With several parts of k,
//! `work` holds a float for each part and each element of the results, else it is null.

/// Writes and declares kernels of a product, for several types, layouts or sizes of tiles.
macro_rules! products {
    (
        block $block:expr, min_blocks $min_blocks:expr, shared $shared:expr, barriers $barriers:expr;
        $($name:ident: $type:ty = $product:expr;)+
    ) => {$(
        #[doc = concat!("`", stringify!($product), "` of one element type.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: GemmParams,
            share: GemmShare,
            a: *const $type,
            b: *const $type,
            bias: *const $type,
            c: *mut $type,
            work: *mut f32,
        ) {
            $product(&p, share, a, b, bias, c, work);
        }

        kernel_table! { $name: block $block, min_blocks $min_blocks, shared $shared, barriers $barriers; }
    )+};
}

pub mod feed;
pub mod general;
pub mod join;
pub mod mma;
pub mod output;
pub mod shared;
pub mod simt;

use core_types::params::gemm::{GemmParams, GemmShare, MatrixStrides};

use super::index::divide;
use crate::dev::idx;

/// The tile that a block works on.
#[derive(Clone, Copy)]
pub struct Tile {
    /// First row of C.
    pub row: u32,
    /// First column of C.
    pub col: u32,
    /// Index of the result in the batch.
    pub matrix: u32,
    /// First index along k.
    pub k_first: u32,
    /// One past the last index along k.
    pub k_end: u32,
    /// How many products are summed into the result.
    pub terms: u32,
}

/// Number of results, and of products summed into each.
#[inline(always)]
pub fn counts(p: &GemmParams) -> (u32, u32) {
    let (mut results, mut terms) = (1, 1);
    let mut axis = 0;
    while axis < p.batch.len() {
        if p.c.batch[axis] == 0 {
            terms *= p.batch[axis] as u32;
        } else {
            results *= p.batch[axis] as u32;
        }
        axis += 1;
    }
    (results, terms)
}

/// First element of the matrix that takes part as number `term` in result `matrix`.
#[inline(always)]
pub unsafe fn place(p: &GemmParams, s: &MatrixStrides, mut matrix: u32, mut term: u32) -> u64 {
    let mut at = 0;
    macro_rules! axes {
        ($($axis:literal)*) => {$({
            let index;
            let rest = if p.c.batch[$axis] == 0 { &mut term } else { &mut matrix };
            (index, *rest) = divide(*rest, p.batch[$axis] as u32);
            at += u64::from(index) * s.batch[$axis];
        })*};
    }
    axes!(3 2 1 0);
    at
}

impl Tile {
    /// The block's tile of `rows x cols`.
    #[inline(always)]
    pub unsafe fn own(p: &GemmParams, share: GemmShare, rows: u32, cols: u32) -> Self {
        let (col, row) = divide(idx::bid_x(), (p.n as u32).div_ceil(cols));
        let (_, terms) = counts(p);
        let k_first = idx::bid_y() * share.part;
        Self {
            row: row * rows,
            col: col * cols,
            matrix: share.first_result + idx::bid_z(),
            k_first,
            k_end: (p.k as u32).min(k_first + share.part),
            terms,
        }
    }
}
