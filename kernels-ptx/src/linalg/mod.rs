//! Kernels of the linalg op set.

mod activation;
mod elementwise;
mod gemm;
mod group;
mod index;
mod math;
mod real;
mod rows;
mod sum;
mod unroll;

use crate::table::Shared;
use elementwise::*;

kernel_table! {
    linalg_activate_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
}
