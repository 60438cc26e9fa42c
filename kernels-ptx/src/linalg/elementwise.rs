//! Maps over elements.
//!
//! One-dimensional grids of 256 threads; a thread takes four elements at a time where every view is
//! aligned to four, and strides by the grid.
//!
//! # Safety
//! Views hold the elements that the parameters name. An output may be one of the inputs, but
//! overlaps none otherwise. `state` is null or one record.

use core_types::{
    params::{
        elementwise::{Activation, Binary, BinaryParams, BinaryScalarParams, DropoutParams},
        optim::StepState,
    },
    philox,
};

use super::{
    activation::{gradient, value},
    index::{THREADS, each_index, for_elements},
    real::{Bf16, F16, Real, aligned4},
};
use crate::dev::{idx, numeric::math::fma};

/// `y = f(x)`.
#[inline(always)]
unsafe fn activate<T: Real>(f: Activation, len: u64, x: *const T, y: *mut T) {
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| T::store4(y.add(i), T::load4(x.add(i)).map(|x| value(f, x))),
        |i| *y.add(i) = T::narrow(value(f, (*x.add(i)).widen())),
    );
}

/// `dx = g f'(saved)`.
#[inline(always)]
unsafe fn activate_backward<T: Real>(f: Activation, len: u64, saved: *const T, g: *const T, dx: *mut T) {
    for_elements(
        len,
        aligned4(saved) && aligned4(g) && aligned4(dx),
        |i| {
            let ([a, b, c, d], [ga, gb, gc, gd]) = (T::load4(saved.add(i)), T::load4(g.add(i)));
            let dx4 = [gradient(f, a, ga), gradient(f, b, gb), gradient(f, c, gc), gradient(f, d, gd)];
            T::store4(dx.add(i), dx4);
        },
        |i| *dx.add(i) = T::narrow(gradient(f, (*saved.add(i)).widen(), (*g.add(i)).widen())),
    );
}

/// `y = op(a, b)` for three views of `len` elements.
#[inline(always)]
unsafe fn binary<T: Real>(op: Binary, len: u64, a: *const T, b: *const T, y: *mut T) {
    for_elements(
        len,
        aligned4(a) && aligned4(b) && aligned4(y),
        |i| {
            let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (T::load4(a.add(i)), T::load4(b.add(i)));
            let values = [op.value(a0, b0), op.value(a1, b1), op.value(a2, b2), op.value(a3, b3)];
            T::store4(y.add(i), values);
        },
        |i| *y.add(i) = T::narrow(op.value((*a.add(i)).widen(), (*b.add(i)).widen())),
    );
}

/// `y = op(a, b)` with strides.
///
/// The output has `len` elements, below 2^32, so that no axis is empty.
#[inline(always)]
unsafe fn binary_strided<T: Real>(p: &BinaryParams, len: u32, a: *const T, b: *const T, y: *mut T) {
    for i in idx::grid_stride(u64::from(len)) {
        let (mut at_a, mut at_b) = (0, 0);
        each_index(i as u32, p.rank, &p.shape, |axis, index| {
            at_a += index * p.a_strides[axis];
            at_b += index * p.b_strides[axis];
        });
        let (a, b) = ((*a.add(at_a as usize)).widen(), (*b.add(at_b as usize)).widen());
        *y.add(i as usize) = T::narrow(p.op.value(a, b));
    }
}

/// `y = op(x, value)` for two views of `len` elements.
#[inline(always)]
unsafe fn binary_scalar<T: Real>(op: Binary, value: f32, len: u64, x: *const T, y: *mut T) {
    for_elements(
        len,
        aligned4(x) && aligned4(y),
        |i| T::store4(y.add(i), T::load4(x.add(i)).map(|x| op.value(x, value))),
        |i| *y.add(i) = T::narrow(op.value((*x.add(i)).widen(), value)),
    );
}

/// `y = op(x, value)` with strides.
///
/// The output has `len` elements, below 2^32, so that no axis is empty.
#[inline(always)]
unsafe fn binary_scalar_strided<T: Real>(p: &BinaryScalarParams, len: u32, x: *const T, y: *mut T) {
    for i in idx::grid_stride(u64::from(len)) {
        let mut at = 0;
        each_index(i as u32, p.rank, &p.shape, |axis, index| at += index * p.x_strides[axis]);
        *y.add(i as usize) = T::narrow(p.op.value((*x.add(at as usize)).widen(), p.value));
    }
}

/// `y = alpha x + beta y`; `beta = 0` does not read y.
#[inline(always)]
unsafe fn axpby<T: Real>(alpha: f32, beta: f32, len: u64, x: *const T, y: *mut T) {
    if beta == 0.0 {
        for_elements(
            len,
            aligned4(x) && aligned4(y),
            |i| T::store4(y.add(i), T::load4(x.add(i)).map(|x| alpha * x)),
            |i| *y.add(i) = T::narrow(alpha * (*x.add(i)).widen()),
        );
    } else {
        for_elements(
            len,
            aligned4(x) && aligned4(y),
            |i| {
                let ([x0, x1, x2, x3], [y0, y1, y2, y3]) = (T::load4(x.add(i)), T::load4(y.add(i)));
                let sum = |x: f32, y: f32| fma(alpha, x, beta * y);
                T::store4(y.add(i), [sum(x0, y0), sum(x1, y1), sum(x2, y2), sum(x3, y3)]);
            },
            |i| *y.add(i) = T::narrow(fma(alpha, (*x.add(i)).widen(), beta * (*y.add(i)).widen())),
        );
    }
}

/// `y = x keep scale`, with the mask of a step.
///
/// The step is `p.step`, plus the steps that `state` has begun if it is not null.
#[inline(always)]
unsafe fn dropout<T: Real>(p: &DropoutParams, len: u64, state: *const StepState, x: *const T, y: *mut T) {
    let step = p.step.wrapping_add(if state.is_null() { 0 } else { (*state).begun() });
    let keep = |word: u32, x: f32| if u64::from(word) >= p.threshold { x * p.scale } else { 0.0 };
    for_elements(
        len,
        p.first % 4 == 0 && aligned4(x) && aligned4(y),
        |i| {
            let block = p.first.wrapping_add(i as u64) / 4;
            let ([a, b, c, d], words) = (T::load4(x.add(i)), philox::block(p.seed, p.site, step, block));
            let [wa, wb, wc, wd] = words;
            T::store4(y.add(i), [keep(wa, a), keep(wb, b), keep(wc, c), keep(wd, d)]);
        },
        |i| {
            let at = p.first.wrapping_add(i as u64);
            let [a, b, c, d] = philox::block(p.seed, p.site, step, at / 4);
            let (even, odd) = if at % 4 < 2 { (a, b) } else { (c, d) };
            let word = if at % 2 == 0 { even } else { odd };
            *y.add(i) = T::narrow(keep(word, (*x.add(i)).widen()));
        },
    );
}

macro_rules! entries {
    ($type:ty: $activate:ident, $activate_backward:ident, $binary:ident, $binary_strided:ident, $binary_scalar:ident,
     $binary_scalar_strided:ident, $axpby:ident, $dropout:ident) => {
        #[doc = "[`activate`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $activate(f: Activation, len: u64, x: *const $type, y: *mut $type) {
            activate(f, len, x, y);
        }

        #[doc = "[`activate_backward`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $activate_backward(
            f: Activation,
            len: u64,
            saved: *const $type,
            g: *const $type,
            dx: *mut $type,
        ) {
            activate_backward(f, len, saved, g, dx);
        }

        #[doc = "[`binary`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $binary(
            op: Binary,
            len: u64,
            a: *const $type,
            b: *const $type,
            y: *mut $type,
        ) {
            binary(op, len, a, b, y);
        }

        #[doc = "[`binary_strided`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $binary_strided(
            p: BinaryParams,
            len: u32,
            a: *const $type,
            b: *const $type,
            y: *mut $type,
        ) {
            binary_strided(&p, len, a, b, y);
        }

        #[doc = "[`binary_scalar`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $binary_scalar(
            op: Binary,
            value: f32,
            len: u64,
            x: *const $type,
            y: *mut $type,
        ) {
            binary_scalar(op, value, len, x, y);
        }

        #[doc = "[`binary_scalar_strided`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $binary_scalar_strided(
            p: BinaryScalarParams,
            len: u32,
            x: *const $type,
            y: *mut $type,
        ) {
            binary_scalar_strided(&p, len, x, y);
        }

        #[doc = "[`axpby`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $axpby(alpha: f32, beta: f32, len: u64, x: *const $type, y: *mut $type) {
            axpby(alpha, beta, len, x, y);
        }

        #[doc = "[`dropout`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $dropout(
            p: DropoutParams,
            len: u64,
            state: *const StepState,
            x: *const $type,
            y: *mut $type,
        ) {
            dropout(&p, len, state, x, y);
        }

        kernel_table! {
            $activate, $activate_backward, $binary, $binary_strided, $binary_scalar, $binary_scalar_strided, $axpby,
            $dropout:
                block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
        }
    };
}

entries!(f32: linalg_activate_f32, linalg_activate_backward_f32, linalg_binary_f32,
    linalg_binary_strided_f32, linalg_binary_scalar_f32, linalg_binary_scalar_strided_f32, linalg_axpby_f32,
    linalg_dropout_f32);
entries!(F16: linalg_activate_f16, linalg_activate_backward_f16, linalg_binary_f16,
    linalg_binary_strided_f16, linalg_binary_scalar_f16, linalg_binary_scalar_strided_f16, linalg_axpby_f16,
    linalg_dropout_f16);
entries!(Bf16: linalg_activate_bf16, linalg_activate_backward_bf16, linalg_binary_bf16,
    linalg_binary_strided_bf16, linalg_binary_scalar_bf16, linalg_binary_scalar_strided_bf16, linalg_axpby_bf16,
    linalg_dropout_bf16);
