//! Eight lanes in an array; the compiler vectorises what the baseline target allows.

use super::Floats;
use crate::simd::Portable;

const N: usize = 8;

#[inline(always)]
fn zip(a: [f32; N], b: [f32; N], f: impl Fn(f32, f32) -> f32) -> [f32; N] {
    core::array::from_fn(|i| f(a[i], b[i]))
}

impl Floats for Portable {
    const N: usize = N;
    type V = [f32; N];

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
    fn prefetch(self, _: &[f32], _: usize) {}

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
    fn sum(self, v: [f32; N]) -> f32 {
        let h: [f32; 4] = core::array::from_fn(|i| v[i] + v[i + 4]);
        (h[0] + h[2]) + (h[1] + h[3])
    }

    #[inline(always)]
    fn greatest(self, v: [f32; N]) -> f32 {
        v.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}
