//! Functions of single elements, and choices between two.
//!
//! One-dimensional grids of 256 threads that stride by the grid.
//!
//! # Safety
//! Views hold `len` elements. The output of a map may be its input. The output of a
//! choice may be `a`.

use core_types::{
    float::{abs, clamp, huber, ln},
    params::tensor::{Function, MapParams},
};

use crate::{
    dev::{
        idx,
        numeric::{functions::exp, math::sqrt},
    },
    linalg::{
        index::{THREADS, for_elements},
        real::{Bf16, F16, Real, aligned4},
    },
};

/// f(x). Divisions and roots are correctly rounded.
#[inline(always)]
fn value(p: &MapParams, x: f32) -> f32 {
    match p.f {
        Function::Neg => -x,
        Function::Abs => abs(x),
        Function::Exp => exp(x),
        Function::Log => ln(x),
        Function::Sqrt => sqrt(x),
        Function::Rsqrt => 1.0 / sqrt(x),
        Function::Recip => 1.0 / x,
        Function::Clamp => clamp(x, p.low, p.high),
        Function::Huber => huber(x, p.high),
    }
}

/// `y = f(x)`: one pass, four elements at a time where both views are aligned to four.
#[inline(always)]
unsafe fn map<T: Real>(p: &MapParams, len: u64, x: *const T, y: *mut T) {
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| T::store4(y.add(i), T::load4(x.add(i)).map(|x| value(p, x))),
        |i| *y.add(i) = T::narrow(value(p, (*x.add(i)).widen())),
    );
}

/// `y` is `a` or `b`, by the mask: reads the selected element only, and copies it unchanged.
#[inline(always)]
unsafe fn select<T: Real>(len: u64, mask: *const bool, a: *const T, b: *const T, y: *mut T) {
    for i in idx::grid_stride(len) {
        let i = i as usize;
        *y.add(i) = if *mask.add(i) { *a.add(i) } else { *b.add(i) };
    }
}

/// `y = value`.
#[inline(always)]
unsafe fn fill<T: Real>(value: f32, len: u64, y: *mut T) {
    for_elements(len, aligned4(y), |i| T::store4(y.add(i), [value; 4]), |i| *y.add(i) = T::narrow(value));
}

macro_rules! entries {
    ($type:ty: $map:ident, $select:ident, $fill:ident) => {
        #[doc = "[`map`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $map(p: MapParams, len: u64, x: *const $type, y: *mut $type) {
            map(&p, len, x, y);
        }

        #[doc = "[`select`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $select(
            len: u64,
            mask: *const bool,
            a: *const $type,
            b: *const $type,
            y: *mut $type,
        ) {
            select(len, mask, a, b, y);
        }

        #[doc = "[`fill`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $fill(value: f32, len: u64, y: *mut $type) {
            fill(value, len, y);
        }

        kernel_table! { $map, $select, $fill: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    };
}

entries!(f32: tensor_map_f32, tensor_select_f32, tensor_fill_f32);
entries!(F16: tensor_map_f16, tensor_select_f16, tensor_fill_f16);
entries!(Bf16: tensor_map_bf16, tensor_select_bf16, tensor_fill_bf16);
