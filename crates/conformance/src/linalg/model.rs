//! f64 models and seeded inputs.

use backend_api::{DType, Real};
use nn_ops::Activation;

/// A seeded source of inputs.
pub(crate) struct InputSource(u64);

impl InputSource {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A source that starts in this state.
    pub(crate) fn of_state(state: u64) -> Self {
        Self(state)
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// Multiples of 2^-12 in -1..1, rounded to `T`.
    pub(crate) fn reals<T: Real>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| T::from_f32((self.word() % 8192) as f32 / 4096.0 - 1.0)).collect()
    }
}

/// Relative error of rounding to a narrow `T`.
///
/// It is 0 for f32, since the bounds on f32 arithmetic already include its rounding.
pub(crate) fn rounding<T: Real>() -> f64 {
    match T::DTYPE {
        DType::F16 => 2f64.powi(-11),
        DType::Bf16 => 2f64.powi(-8),
        _ => 0.0,
    }
}

/// The greatest finite value of `T`.
pub(crate) fn greatest<T: Real>() -> f32 {
    match T::DTYPE {
        DType::F16 => half::f16::MAX.to_f32(),
        DType::Bf16 => half::bf16::MAX.to_f32(),
        _ => f32::MAX,
    }
}

/// The exact values.
pub(crate) fn wide<T: Real>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.to_f32()).collect()
}

/// The values rounded to `T`.
pub(crate) fn narrow<T: Real>(x: &[f32]) -> Vec<T> {
    x.iter().map(|&x| T::from_f32(x)).collect()
}

/// The patterns of elements, all NaN alike.
pub(crate) fn bits<T: Real>(x: &[T]) -> Vec<u32> {
    wide(x).into_iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// Pads `axes` to six with `fill`.
pub(crate) fn six(axes: &[u64], fill: u64) -> [u64; 6] {
    core::array::from_fn(|i| axes.get(i).copied().unwrap_or(fill))
}

/// The places of all indices of a shape.
pub(crate) fn places(shape: &[u64], strides: &[u64]) -> Vec<usize> {
    let mut places = vec![0];
    for (&len, &stride) in shape.iter().zip(strides) {
        places = places.iter().flat_map(|&place| (0..len).map(move |i| place + (i * stride) as usize)).collect();
    }
    places
}

/// The slopes of `f` along every element of `x`.
pub(super) fn central_differences(x: &[f64], step: f64, f: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let slope = |i: usize| {
        let [(above, high), (below, low)] = [step, -step].map(|step| {
            let mut moved = x.to_vec();
            moved[i] += step;
            (f(&moved), moved[i])
        });
        (above - below) / (high - low)
    };
    (0..x.len()).map(slope).collect()
}

/// f(x) by its definition.
pub(super) fn activation(f: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match f {
        Activation::Identity => x,
        Activation::Relu => {
            if x > 0.0 || x.is_nan() {
                x
            } else {
                0.0
            }
        }
        Activation::Sigmoid => sigmoid(x),
        Activation::Tanh => x.tanh(),
        Activation::GeluTanh => {
            let inner = (2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
        Activation::GeluErf => x * normal_cdf(x),
        Activation::Silu => x * sigmoid(x),
    }
}

/// The normal distribution function.
///
/// Near 0 it is the Taylor series of the integral; beyond, the continued fraction of the tail.
fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * core::f64::consts::PI).sqrt();
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for i in 1..100 {
            term *= x * x / f64::from(2 * i + 1);
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let z = x.abs();
    let fraction = (1..200).rev().fold(z, |f, i| z + f64::from(i) / f);
    let tail = density / fraction;
    if x > 0.0 { 1.0 - tail } else { tail }
}
