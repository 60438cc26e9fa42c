//! Gradients, compared with central differences of a model.

use crate::Failure;

/// A tensor of the inputs, and its gradient.
pub(super) type Slopes<I> = (&'static str, fn(&mut I) -> &mut [f32], Vec<f32>);

/// Compares each gradient with central differences of `value` around `inputs`.
pub(super) fn unless_differences<I: Clone>(
    inputs: &I,
    slopes: impl IntoIterator<Item = Slopes<I>>,
    value: impl Fn(&I) -> f64,
) -> Result<(), Failure> {
    for (what, tensor, slopes) in slopes {
        for (at, slope) in slopes.into_iter().enumerate() {
            let (mut above, mut below) = (inputs.clone(), inputs.clone());
            tensor(&mut above)[at] += 1e-3;
            tensor(&mut below)[at] -= 1e-3;
            let distance = f64::from(tensor(&mut above)[at]) - f64::from(tensor(&mut below)[at]);
            let (slope, expected) = (f64::from(slope), (value(&above) - value(&below)) / distance);
            if (slope - expected).abs() > 1e-4 * expected.abs().max(1.0) {
                return Err(Failure::Broken(format!("{what} {at}: {slope:e}, and differences are {expected:e}")));
            }
        }
    }
    Ok(())
}
