//! Sums of squares of gradients, and gradients times the loss scale.
//!
//! # Safety
//! `g` are `len` elements, `sums` has a double for each part of [`PART`] of them. `x` and `y` are
//! `len` elements, `state` is one record.

use core_types::params::optim::{PART, StepState};

use crate::{
    dev::idx,
    linalg::{
        group::{Block, Group, REDUCE_BYTES},
        index::{THREADS, for_elements},
        real::{Bf16, F16, Real, aligned4},
    },
};

/// The sum of the squares of the block's part.
///
/// Threads take four elements at a time if the gradients are aligned to four. Grid: parts;
/// block: 256.
#[inline(always)]
unsafe fn squares<T: Real>(len: u64, g: *const T, sums: *mut f64) {
    const LEN: u64 = PART as u64;
    let first = u64::from(idx::bid_x()) * LEN;
    let left = len - first;
    let count = if left < LEN { left as u32 } else { PART as u32 };
    let g = g.add(first as usize);
    let whole = if aligned4(g) { count / 4 } else { 0 };
    let mut sum = 0.0;
    for group in idx::block_stride(whole) {
        let [a, b, c, d] = T::load4(g.add(4 * group as usize)).map(f64::from);
        sum += (a * a + b * b) + (c * c + d * d);
    }
    for i in idx::block_stride(count - 4 * whole) {
        let x = f64::from((*g.add((4 * whole + i) as usize)).widen());
        sum += x * x;
    }
    let sum = Block::sum_f64::<0>(sum);
    if idx::tid_x() == 0 {
        *sums.add(idx::bid_x() as usize) = sum;
    }
}

/// `y = scale x`. Grid: any; block: 256.
#[inline(always)]
unsafe fn scale<T: Real>(state: *const StepState, len: u64, x: *const f32, y: *mut T) {
    let scale = (*state).loss_scale;
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| T::store4(y.add(i), f32::load4(x.add(i)).map(|x| scale * x)),
        |i| *y.add(i) = T::narrow(scale * *x.add(i)),
    );
}

macro_rules! entries {
    ($type:ty: $squares:ident, $scale:ident) => {
        #[doc = "[`squares`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $squares(len: u64, g: *const $type, sums: *mut f64) {
            squares(len, g, sums);
        }

        #[doc = "[`scale`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $scale(state: *const StepState, len: u64, x: *const f32, y: *mut $type) {
            scale(state, len, x, y);
        }

        kernel_table! {
            $scale: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
            $squares: block [THREADS, 1, 1], min_blocks 4, shared Bytes(REDUCE_BYTES), barriers 1;
        }
    };
}

entries!(f32: optim_squares_f32, optim_scale_f32);
entries!(F16: optim_squares_f16, optim_scale_f16);
entries!(Bf16: optim_squares_bf16, optim_scale_bf16);
