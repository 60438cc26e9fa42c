//! Activation functions and their derivatives on vectors.
//!
//! With `s(x) = 1 / (1 + exp(-x))`, and for sigmoid and tanh the saved `y = f(x)`:
//! - sigmoid `s(x)` has the slope `y (1 - y)`, and tanh the slope `1 - y^2`,
//! - SiLU `x s(x)` has the slope `s(x) + x s(x) (1 - s(x))`,
//! - GeLU `x Φ(x)` has the slope `Φ(x) + x φ(x)`; its tanh form is
//!   `x s(2 sqrt(2/pi) (x + 0.044715 x^3))`.

use core_types::params::elementwise::Activation;

use super::vmath::{EXP_SCALE, exp, exp_scaled};
use crate::simd::{LaneKernel, floats::Floats};

/// A function with its derivative.
pub(super) trait ActivationFunction {
    /// f(x).
    fn value<L: Floats>(l: L, x: L::V) -> L::V;
    /// f'(x), from the value saved by the forward pass.
    fn slope<L: Floats>(l: L, saved: L::V) -> L::V;
    /// `g f'(x)`.
    #[inline(always)]
    fn gradient<L: Floats>(l: L, saved: L::V, g: L::V) -> L::V {
        l.mul(g, Self::slope(l, saved))
    }
}

pub(super) struct IdentityFunction;
pub(super) struct ReluFunction;
pub(super) struct SigmoidFunction;
pub(super) struct TanhFunction;
pub(super) struct GeluTanhFunction;
pub(super) struct GeluErfFunction;
pub(super) struct SiluFunction;

/// `x` clamped to `-bound..=bound`; NaN stays.
#[inline(always)]
fn clamp<L: Floats>(l: L, x: L::V, bound: f32) -> L::V {
    l.min(l.splat(bound), l.max(l.splat(-bound), x))
}

/// 1 / (1 + exp(-x)).
#[inline(always)]
pub(crate) fn sigmoid<L: Floats>(l: L, x: L::V) -> L::V {
    let one = l.splat(1.0);
    l.div(one, l.add(one, exp(l, l.sub(l.splat(0.0), x))))
}

/// tanh(x): the polynomial of Cephes' tanhf below 0.625, 1 - 2 / (exp(2x) + 1) above.
#[inline(always)]
pub(crate) fn tanh<L: Floats>(l: L, x: L::V) -> L::V {
    let z = l.mul(x, x);
    let mut p = l.splat(-5.704_988_7e-3);
    for c in [2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1] {
        p = l.mul_add(p, z, l.splat(c));
    }
    let near = l.mul_add(l.mul(p, z), x, x);
    let one = l.splat(1.0);
    let far = l.sub(one, l.div(l.splat(2.0), l.add(exp(l, l.add(x, x)), one)));
    let magnitude = l.max(x, l.sub(l.splat(0.0), x));
    l.select_gt(magnitude, l.splat(0.625), far, near)
}

/// The normal distribution function.
///
/// It uses the Chebyshev fit of erfc in Numerical Recipes (relative error 1.2e-7).
#[inline(always)]
fn normal_cdf<L: Floats>(l: L, x: L::V) -> L::V {
    let magnitude = l.max(x, l.sub(l.splat(0.0), x));
    let z = l.mul(magnitude, l.splat(core::f32::consts::FRAC_1_SQRT_2));
    let one = l.splat(1.0);
    let t = l.div(one, l.mul_add(z, l.splat(0.5), one));
    let mut p = l.splat(0.170_872_77);
    for c in [
        -0.822_152_23,
        1.488_515_9,
        -1.135_204,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_7,
        -1.265_512_2,
    ] {
        p = l.mul_add(p, t, l.splat(c));
    }
    let tail = l.mul(l.mul(t, l.splat(0.5 / EXP_SCALE)), exp_scaled(l, l.neg_mul_add(z, z, p)));
    l.select_gt(x, l.splat(0.0), l.sub(one, tail), tail)
}

/// 2 sqrt(2 / pi).
const GELU_SCALE: f32 = 1.595_769;
const GELU_CUBIC: f32 = 0.044_715;

#[inline(always)]
fn gelu_sigmoid<L: Floats>(l: L, x: L::V) -> L::V {
    let inner = l.mul_add(l.mul(x, x), l.splat(GELU_SCALE * GELU_CUBIC), l.splat(GELU_SCALE));
    sigmoid(l, l.mul(x, inner))
}

impl ActivationFunction for IdentityFunction {
    #[inline(always)]
    fn value<L: Floats>(_: L, x: L::V) -> L::V {
        x
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, _: L::V) -> L::V {
        l.splat(1.0)
    }
}

impl ActivationFunction for ReluFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        l.max(l.splat(0.0), x) // the bound first: NaN stays
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, x: L::V) -> L::V {
        Self::gradient(l, x, l.splat(1.0))
    }

    /// g itself or 0, so that an infinite g does not meet a slope of 0; NaN for NaN.
    #[inline(always)]
    fn gradient<L: Floats>(l: L, x: L::V, g: L::V) -> L::V {
        let positive = Self::value(l, x);
        l.select_gt(x, l.splat(0.0), g, l.sub(positive, positive))
    }
}

impl ActivationFunction for SigmoidFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        sigmoid(l, x)
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, y: L::V) -> L::V {
        l.neg_mul_add(y, y, y)
    }
}

impl ActivationFunction for TanhFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        tanh(l, x)
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, y: L::V) -> L::V {
        l.neg_mul_add(y, y, l.splat(1.0))
    }
}

impl ActivationFunction for GeluTanhFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        l.mul(x, gelu_sigmoid(l, x))
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, x: L::V) -> L::V {
        let x = clamp(l, x, 30.0); // constant to the last bit beyond
        let s = gelu_sigmoid(l, x);
        let inner = l.mul_add(l.mul(x, x), l.splat(GELU_SCALE * 3.0 * GELU_CUBIC), l.splat(GELU_SCALE));
        l.mul_add(l.mul(x, l.neg_mul_add(s, s, s)), inner, s)
    }
}

impl ActivationFunction for GeluErfFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        l.mul(x, normal_cdf(l, x))
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, x: L::V) -> L::V {
        let x = clamp(l, x, 30.0); // constant to the last bit beyond
        let density = l.mul(l.splat(0.398_942_3), exp(l, l.mul(l.mul(x, x), l.splat(-0.5)))); // 1 / sqrt(2 pi)
        l.mul_add(x, density, normal_cdf(l, x))
    }
}

impl ActivationFunction for SiluFunction {
    #[inline(always)]
    fn value<L: Floats>(l: L, x: L::V) -> L::V {
        l.mul(x, sigmoid(l, x))
    }

    #[inline(always)]
    fn slope<L: Floats>(l: L, x: L::V) -> L::V {
        let x = clamp(l, x, 100.0); // constant to the last bit beyond
        let s = sigmoid(l, x);
        l.mul_add(x, l.neg_mul_add(s, s, s), s)
    }
}

/// Calls `$body` with `$f` bound to the type of the function `$which`.
macro_rules! with_function {
    ($which:expr, $f:ident => $body:expr) => {
        with_function!($which, $f => $body, Identity: IdentityFunction, Relu: ReluFunction, Sigmoid: SigmoidFunction,
            Tanh: TanhFunction, GeluTanh: GeluTanhFunction, GeluErf: GeluErfFunction, Silu: SiluFunction)
    };
    ($which:expr, $f:ident => $body:expr, $($name:ident: $function:ident),*) => {
        match $which {
            $(Activation::$name => {
                type $f = $function;
                $body
            })*
        }
    };
}

/// `y = f(x)`; both slices have one length.
pub(super) struct ActivationMap<'a> {
    pub(super) f: Activation,
    pub(super) x: &'a [f32],
    pub(super) y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for ActivationMap<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        with_function!(self.f, F => map::<L, F>(l, self.x, self.y));
    }
}

#[inline(always)]
fn map<L: Floats, F: ActivationFunction>(l: L, x: &[f32], y: &mut [f32]) {
    let (mut xs, mut ys) = (x.chunks_exact(L::N), y.chunks_exact_mut(L::N));
    for (x, y) in (&mut xs).zip(&mut ys) {
        l.store(y, F::value(l, l.load(x)));
    }
    let x = xs.remainder();
    if !x.is_empty() {
        l.store_partial(ys.into_remainder(), F::value(l, l.load_partial(x, 0.0)));
    }
}

/// `y = f(y)`.
pub(super) struct InPlace<'a> {
    pub(super) f: Activation,
    pub(super) y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for InPlace<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        with_function!(self.f, F => in_place::<L, F>(l, self.y));
    }
}

#[inline(always)]
fn in_place<L: Floats, F: ActivationFunction>(l: L, y: &mut [f32]) {
    let mut ys = y.chunks_exact_mut(L::N);
    for y in &mut ys {
        l.store(y, F::value(l, l.load(y)));
    }
    let y = ys.into_remainder();
    if !y.is_empty() {
        l.store_partial(y, F::value(l, l.load_partial(y, 0.0)));
    }
}

/// `rows[r][c] = f(rows[r][c] + bias[c])`.
///
/// Rows have `bias.len()` elements and start every `stride` elements.
pub(super) struct BiasMap<'a> {
    pub(super) f: Activation,
    pub(super) bias: &'a [f32],
    pub(super) rows: &'a mut [f32],
    pub(super) stride: usize,
}

impl<L: Floats> LaneKernel<L> for BiasMap<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        with_function!(self.f, F => bias_map::<L, F>(l, self.bias, self.rows, self.stride));
    }
}

#[inline(always)]
fn bias_map<L: Floats, F: ActivationFunction>(l: L, bias: &[f32], rows: &mut [f32], stride: usize) {
    for row in rows.chunks_mut(stride) {
        let row = &mut row[..bias.len()];
        let (mut bs, mut ys) = (bias.chunks_exact(L::N), row.chunks_exact_mut(L::N));
        for (b, y) in (&mut bs).zip(&mut ys) {
            l.store(y, F::value(l, l.add(l.load(y), l.load(b))));
        }
        let (b, y) = (bs.remainder(), ys.into_remainder());
        if !b.is_empty() {
            let sum = l.add(l.load_partial(y, 0.0), l.load_partial(b, 0.0));
            l.store_partial(y, F::value(l, sum));
        }
    }
}

/// `dx = g f'(saved)`; all slices have one length.
pub(super) struct ActivationBackward<'a> {
    pub(super) f: Activation,
    pub(super) saved: &'a [f32],
    pub(super) g: &'a [f32],
    pub(super) dx: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for ActivationBackward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        with_function!(self.f, F => backward::<L, F>(l, self.saved, self.g, self.dx));
    }
}

#[inline(always)]
fn backward<L: Floats, F: ActivationFunction>(l: L, saved: &[f32], g: &[f32], dx: &mut [f32]) {
    let (mut xs, mut gs, mut ys) = (saved.chunks_exact(L::N), g.chunks_exact(L::N), dx.chunks_exact_mut(L::N));
    for ((x, g), y) in (&mut xs).zip(&mut gs).zip(&mut ys) {
        l.store(y, F::gradient(l, l.load(x), l.load(g)));
    }
    let (x, g) = (xs.remainder(), gs.remainder());
    if !x.is_empty() {
        let dx = F::gradient(l, l.load_partial(x, 0.0), l.load_partial(g, 0.0));
        l.store_partial(ys.into_remainder(), dx);
    }
}
