//! Activation functions and their derivatives.

use core_types::params::elementwise::Activation;

use crate::dev::numeric::{
    functions::{exp, normal_cdf, sigmoid, tanh},
    math::fma,
};

/// 2 sqrt(2 / pi).
const GELU_SCALE: f32 = 1.595_769;
const GELU_CUBIC: f32 = 0.044_715;
/// 1 / sqrt(2 pi).
const DENSITY: f32 = 0.398_942_3;

/// `x` held within `-bound..=bound`; NaN stays.
#[inline(always)]
fn clamp(x: f32, bound: f32) -> f32 {
    let x = if x < -bound { -bound } else { x };
    if x > bound { bound } else { x }
}

#[inline(always)]
fn gelu_sigmoid(x: f32) -> f32 {
    sigmoid(x * fma(x * x, GELU_SCALE * GELU_CUBIC, GELU_SCALE))
}

/// f(x).
#[inline(always)]
pub fn value(f: Activation, x: f32) -> f32 {
    match f {
        Activation::Identity => x,
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x // NaN stays
            }
        }
        Activation::Sigmoid => sigmoid(x),
        Activation::Tanh => tanh(x),
        Activation::GeluTanh => x * gelu_sigmoid(x),
        Activation::GeluErf => x * normal_cdf(x),
        Activation::Silu => x * sigmoid(x),
    }
}

/// `g f'(x)`, where `saved` is what [`Activation::saves_output`] names.
///
/// Beyond the clamps the derivative is constant to the last bit. For ReLU it is g itself or 0, so
/// that an infinite g does not meet a slope of 0; NaN stays.
#[inline(always)]
pub fn gradient(f: Activation, saved: f32, g: f32) -> f32 {
    let x = saved;
    match f {
        Activation::Identity => g,
        Activation::Relu => {
            if x > 0.0 {
                g
            } else if x <= 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::Sigmoid => g * fma(-x, x, x),
        Activation::Tanh => g * fma(-x, x, 1.0),
        Activation::GeluTanh => {
            let x = clamp(x, 30.0);
            let s = gelu_sigmoid(x);
            let inner = fma(x * x, GELU_SCALE * 3.0 * GELU_CUBIC, GELU_SCALE);
            g * fma(x * fma(-s, s, s), inner, s)
        }
        Activation::GeluErf => {
            let x = clamp(x, 30.0);
            g * fma(x, DENSITY * exp(x * x * -0.5), normal_cdf(x))
        }
        Activation::Silu => {
            let x = clamp(x, 100.0);
            let s = sigmoid(x);
            g * fma(x, fma(-s, s, s), s)
        }
    }
}
