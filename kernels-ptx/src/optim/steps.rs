//! Steps of optimisers.
//!
//! One-dimensional grids of 256 threads; a thread takes four elements at a time where every view is
//! aligned to four, and strides by the grid. One pass.
//!
//! # Safety
//! Views hold `len` elements; `copy` is null or does too, and `v` of gradient descent. `state` is
//! one record.

use core_types::params::optim::{AdamParams, SgdParams, StepState};

use crate::{
    dev::numeric::math::sqrt,
    linalg::{
        index::{THREADS, for_elements},
        real::{Bf16, F16, Real, aligned4},
    },
};

/// 1 for an element that decays.
#[inline(always)]
fn decays(i: usize, decayed: u64) -> f32 {
    if (i as u64) < decayed { 1.0 } else { 0.0 }
}

/// A step of Adam.
#[inline(always)]
unsafe fn adam<G: Real, T: Real>(
    p: &AdamParams,
    state: *const StepState,
    len: u64,
    g: *const G,
    [m, v, w]: [*mut f32; 3],
    copy: *mut T,
) {
    let s = *state;
    if s.skip == 1 {
        return;
    }
    let step = |i: usize, g: f32, old: [f32; 3]| p.step(&s, sqrt, decays(i, p.decayed), g, old);
    for_elements(
        len,
        aligned4(g) && aligned4(m) && aligned4(v) && aligned4(w) && aligned4(copy),
        |i| {
            let ([ga, gb, gc, gd], [ma, mb, mc, md]) = (G::load4(g.add(i)), f32::load4(m.add(i)));
            let ([va, vb, vc, vd], [wa, wb, wc, wd]) = (f32::load4(v.add(i)), f32::load4(w.add(i)));
            let [ma, va, wa] = step(i, ga, [ma, va, wa]);
            let [mb, vb, wb] = step(i + 1, gb, [mb, vb, wb]);
            let [mc, vc, wc] = step(i + 2, gc, [mc, vc, wc]);
            let [md, vd, wd] = step(i + 3, gd, [md, vd, wd]);
            f32::store4(m.add(i), [ma, mb, mc, md]);
            f32::store4(v.add(i), [va, vb, vc, vd]);
            f32::store4(w.add(i), [wa, wb, wc, wd]);
            if !copy.is_null() {
                T::store4(copy.add(i), [wa, wb, wc, wd]);
            }
        },
        |i| {
            let [new_m, new_v, new_w] = step(i, (*g.add(i)).widen(), [*m.add(i), *v.add(i), *w.add(i)]);
            *m.add(i) = new_m;
            *v.add(i) = new_v;
            *w.add(i) = new_w;
            if !copy.is_null() {
                *copy.add(i) = T::narrow(new_w);
            }
        },
    );
}

/// A step of stochastic gradient descent; without momentum `v` may be null.
#[inline(always)]
unsafe fn sgd<G: Real, T: Real>(
    p: &SgdParams,
    state: *const StepState,
    len: u64,
    g: *const G,
    [v, w]: [*mut f32; 2],
    copy: *mut T,
) {
    let s = *state;
    if s.skip == 1 {
        return;
    }
    let step = |i: usize, g: f32, old: [f32; 2]| p.step(&s, decays(i, p.decayed), g, old);
    for_elements(
        len,
        aligned4(g) && aligned4(v) && aligned4(w) && aligned4(copy),
        |i| {
            let ([ga, gb, gc, gd], [wa, wb, wc, wd]) = (G::load4(g.add(i)), f32::load4(w.add(i)));
            let [va, vb, vc, vd] = if v.is_null() { [0.0; 4] } else { f32::load4(v.add(i)) };
            let ([va, wa], [vb, wb]) = (step(i, ga, [va, wa]), step(i + 1, gb, [vb, wb]));
            let ([vc, wc], [vd, wd]) = (step(i + 2, gc, [vc, wc]), step(i + 3, gd, [vd, wd]));
            if !v.is_null() {
                f32::store4(v.add(i), [va, vb, vc, vd]);
            }
            f32::store4(w.add(i), [wa, wb, wc, wd]);
            if !copy.is_null() {
                T::store4(copy.add(i), [wa, wb, wc, wd]);
            }
        },
        |i| {
            let old_v = if v.is_null() { 0.0 } else { *v.add(i) };
            let [new_v, new_w] = step(i, (*g.add(i)).widen(), [old_v, *w.add(i)]);
            if !v.is_null() {
                *v.add(i) = new_v;
            }
            *w.add(i) = new_w;
            if !copy.is_null() {
                *copy.add(i) = T::narrow(new_w);
            }
        },
    );
}

macro_rules! entries {
    ($gradient:ty, $type:ty: $sgd:ident, $adam:ident) => {
        #[doc = "[`sgd`] of one type of gradients and one of copies."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $sgd(
            p: SgdParams,
            state: *const StepState,
            len: u64,
            g: *const $gradient,
            v: *mut f32,
            w: *mut f32,
            copy: *mut $type,
        ) {
            sgd(&p, state, len, g, [v, w], copy);
        }

        #[doc = "[`adam`] of one type of gradients and one of copies."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $adam(
            p: AdamParams,
            state: *const StepState,
            len: u64,
            g: *const $gradient,
            m: *mut f32,
            v: *mut f32,
            w: *mut f32,
            copy: *mut $type,
        ) {
            adam(&p, state, len, g, [m, v, w], copy);
        }

        kernel_table! { $sgd, $adam: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    };
}

entries!(f32, f32: optim_sgd_f32, optim_adam_f32);
entries!(F16, F16: optim_sgd_f16, optim_adam_f16);
entries!(Bf16, Bf16: optim_sgd_bf16, optim_adam_bf16);
entries!(f32, F16: optim_sgd_wide_f16, optim_adam_wide_f16);
entries!(f32, Bf16: optim_sgd_wide_bf16, optim_adam_wide_bf16);
