//! Conversions between element types.
//!
//! One-dimensional grids of 256 threads that stride by the grid; one pass.
//!
//! # Safety
//! Views hold `len` elements; `found` is null or holds two words.

use core_types::float::{abs, clamp};

use crate::{
    dev::atomic::{add_u64, min_u64},
    linalg::{
        index::{THREADS, for_elements},
        real::{Bf16, F16, Real, aligned4},
    },
};

/// `y = x`, exactly.
#[inline(always)]
unsafe fn widen<T: Real>(len: u64, x: *const T, y: *mut f32) {
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| f32::store4(y.add(i), T::load4(x.add(i))),
        |i| *y.add(i) = (*x.add(i)).widen(),
    );
}

/// `y = x` held within `greatest` and rounded.
///
/// Values of a magnitude of `beyond` or more are counted in the first word of `found`, and the
/// index of the first of them is put into the second.
#[inline(always)]
unsafe fn narrow<T: Real>(len: u64, beyond: f32, greatest: f32, x: *const f32, y: *mut T, found: *mut u64) {
    let look = |i: usize, x: f32| {
        if abs(x) >= beyond && !found.is_null() {
            add_u64(found, 1);
            min_u64(found.add(1), i as u64);
        }
        clamp(x, -greatest, greatest)
    };
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| {
            let [a, b, c, d] = f32::load4(x.add(i));
            T::store4(y.add(i), [look(i, a), look(i + 1, b), look(i + 2, c), look(i + 3, d)]);
        },
        |i| *y.add(i) = T::narrow(look(i, *x.add(i))),
    );
}

macro_rules! entries {
    ($type:ty: $widen:ident, $narrow:ident) => {
        #[doc = "[`widen`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $widen(len: u64, x: *const $type, y: *mut f32) {
            widen(len, x, y);
        }

        #[doc = "[`narrow`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $narrow(
            len: u64,
            beyond: f32,
            greatest: f32,
            x: *const f32,
            y: *mut $type,
            found: *mut u64,
        ) {
            narrow(len, beyond, greatest, x, y, found);
        }

        kernel_table! { $widen, $narrow: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    };
}

entries!(f32: tensor_widen_f32, tensor_narrow_f32);
entries!(F16: tensor_widen_f16, tensor_narrow_f16);
entries!(Bf16: tensor_widen_bf16, tensor_narrow_bf16);
