//! Adds the partial sums of a product, in order; the factor is applied to the total.
//!
//! A one-dimensional grid, which strides over all elements of all results.
//!
//! # Safety
//! As in [`gemm`](super); `work` holds `parts` floats for each element of all results.

use core_types::params::gemm::GemmParams;

use super::{
    super::{
        index::{divide, divide_long},
        real::{Bf16, F16, Real},
    },
    Tile, counts,
    output::Output,
};
use crate::dev::idx;

/// Threads of a block.
pub const THREADS: u32 = 256;

#[inline(always)]
unsafe fn join<T: Real>(p: &GemmParams, parts: u32, work: *const f32, bias: *const T, c: *mut T) {
    let (results, terms) = counts(p);
    let elements = u64::from(results) * p.m * p.n;
    for i in idx::grid_stride(elements) {
        let (mut sum, mut part) = (0.0, 0);
        while part < parts {
            sum += *work.add((u64::from(part) * elements + i) as usize);
            part += 1;
        }
        let (col, line) = divide_long(i, p.n);
        let (row, matrix) = divide(line as u32, p.m as u32);
        let tile = Tile { row: 0, col: 0, matrix, k_first: 0, k_end: 0, terms };
        Output::new(p, &tile, bias, c, core::ptr::null_mut()).put_existing(row, col as u32, sum);
    }
}

macro_rules! entries {
    ($($name:ident: $type:ty;)*) => {$(
        #[doc = "[`join`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: GemmParams,
            parts: u32,
            work: *const f32,
            bias: *const $type,
            c: *mut $type,
        ) {
            join(&p, parts, work, bias, c);
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    )*};
}

entries! {
    linalg_gemm_join_f32: f32;
    linalg_gemm_join_f16: F16;
    linalg_gemm_join_bf16: Bf16;
}
