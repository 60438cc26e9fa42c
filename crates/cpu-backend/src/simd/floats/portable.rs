//! Eight lanes in an array.
//!
//! This is the portable level of processors other than x86-64, and with the feature `arrays` of
//! x86-64 too. Tests use it everywhere.

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::Floats;
#[cfg(any(feature = "arrays", not(target_arch = "x86_64")))]
use crate::simd::Portable as Arrays;
#[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
use crate::simd::tokens::plain_token;

const N: usize = 8;

/// The token of this level in tests on processors whose portable level is another.
#[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
#[derive(Clone, Copy)]
pub(crate) struct Arrays;

#[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
plain_token!(Arrays);

#[inline(always)]
fn zip(a: [f32; N], b: [f32; N], f: impl Fn(f32, f32) -> f32) -> [f32; N] {
    core::array::from_fn(|i| f(a[i], b[i]))
}

impl Floats for Arrays {
    const N: usize = N;
    const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 16 } else { 8 };
    type V = [f32; N];
    type W = [f64; N];

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; N] {
        [x; N]
    }

    #[inline(always)]
    fn load(self, s: &[f32]) -> [f32; N] {
        core::array::from_fn(|i| s[i])
    }

    #[inline(always)]
    fn load_partial(self, s: &[f32], fill: f32) -> [f32; N] {
        core::array::from_fn(|i| s.get(i).copied().unwrap_or(fill))
    }

    #[inline(always)]
    fn store(self, s: &mut [f32], v: [f32; N]) {
        s[..N].copy_from_slice(&v);
    }

    #[inline(always)]
    fn store_partial(self, s: &mut [f32], v: [f32; N]) {
        for (s, v) in s.iter_mut().zip(v) {
            *s = v;
        }
    }

    #[inline(always)]
    fn load_bf16(self, s: &[bf16]) -> [f32; N] {
        core::array::from_fn(|i| s[i].to_f32())
    }

    #[inline(always)]
    fn store_bf16(self, s: &mut [bf16], v: [f32; N]) {
        s[..N].convert_from_f32_slice(&v);
    }

    #[inline(always)]
    fn load_f16(self, s: &[f16]) -> [f32; N] {
        let mut v = [0.0; N];
        s[..N].convert_to_f32_slice(&mut v);
        v
    }

    #[inline(always)]
    fn store_f16(self, s: &mut [f16], v: [f32; N]) {
        s[..N].convert_from_f32_slice(&v);
    }

    #[inline(always)]
    fn widened(self, s: &[f32]) -> [f64; N] {
        core::array::from_fn(|i| f64::from(s[i]))
    }

    #[inline(always)]
    fn load_wide(self, s: &[f64]) -> [f64; N] {
        core::array::from_fn(|i| s[i])
    }

    #[inline(always)]
    fn store_wide(self, s: &mut [f64], w: [f64; N]) {
        s[..N].copy_from_slice(&w);
    }

    #[inline(always)]
    fn add_wide(self, a: [f64; N], b: [f64; N]) -> [f64; N] {
        core::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn prefetch(self, _: &[f32], _: usize) {}

    #[inline(always)]
    fn prefetch_l2(self, _: &[f32], _: usize) {}

    #[inline(always)]
    fn add(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; N], b: [f32; N], c: [f32; N]) -> [f32; N] {
        core::array::from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn neg_mul_add(self, a: [f32; N], b: [f32; N], c: [f32; N]) -> [f32; N] {
        core::array::from_fn(|i| c[i] - a[i] * b[i])
    }

    #[inline(always)]
    fn max(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: [f32; N], b: [f32; N]) -> [f32; N] {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn shift_exponent(self, v: [f32; N], t: [f32; N]) -> [f32; N] {
        zip(v, t, |v, t| f32::from_bits(v.to_bits().wrapping_add(t.to_bits() << 23)))
    }

    #[inline(always)]
    fn select_gt(self, a: [f32; N], b: [f32; N], x: [f32; N], y: [f32; N]) -> [f32; N] {
        core::array::from_fn(|i| if a[i] > b[i] { x[i] } else { y[i] })
    }

    #[inline(always)]
    fn transpose(self, from: &[[f32; 16]; 16], to: &mut [[f32; 16]; 16]) {
        for (i, row) in from.iter().enumerate() {
            for (&x, to) in row.iter().zip(&mut *to) {
                to[i] = x;
            }
        }
    }

    #[inline(always)]
    fn sum(self, v: [f32; N]) -> f32 {
        let h: [f32; 4] = core::array::from_fn(|i| v[i] + v[i + 4]);
        (h[0] + h[2]) + (h[1] + h[3])
    }

    #[inline(always)]
    fn greatest(self, v: [f32; N]) -> f32 {
        v.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}
