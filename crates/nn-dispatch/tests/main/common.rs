//! Dispatchers, values, and comparisons with f64.

use nn_dispatch::{BackendDispatcher, Selection};
use runtime::Choice;

/// Error of a result of a few roundings, relative to 1 and the result.
pub(crate) const CLOSE: f64 = 2e-5;

pub(crate) fn on(device: Choice) -> BackendDispatcher {
    BackendDispatcher::with(Selection::new(device)).unwrap()
}

/// Runs `check` on the processor and on the simulated device.
pub(crate) fn each(check: impl Fn(&BackendDispatcher)) {
    for device in [Choice::Cpu, Choice::Sim] {
        check(&on(device));
    }
}

/// Values within -1..1, odd multiples of 2^-20.
pub(crate) fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 44) as f32 + 0.5) / 524_288.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// Holds results to f64 within `bound`, relative to 1 and the result.
pub(crate) fn close(name: &str, got: &[f32], expected: &[f64], bound: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let got = f64::from(got);
        let is_close = got == expected || (got - expected).abs() <= bound * (1.0 + expected.abs());
        assert!(is_close, "{name}, element {at}: {got:e} instead of {expected:e}");
    }
}

/// The gradient of `sum_j g_j f(x)_j` by central differences; results of -inf are constants.
pub(crate) fn slopes(f: impl Fn(&[f64]) -> Vec<f64>, x: &[f64], g: &[f32]) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let sum = |x: &[f64]| -> f64 {
        let y = f(x);
        assert_eq!(y.len(), g.len());
        y.iter().zip(g).filter(|(y, _)| y.is_finite()).map(|(y, &g)| y * f64::from(g)).sum()
    };
    let mut x = x.to_vec();
    (0..x.len())
        .map(|at| {
            let value = x[at];
            x[at] = value + STEP;
            let above = sum(&x);
            x[at] = value - STEP;
            let below = sum(&x);
            x[at] = value;
            (above - below) / (2.0 * STEP)
        })
        .collect()
}
