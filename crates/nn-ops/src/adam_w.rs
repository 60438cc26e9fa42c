//! The AdamW optimiser.

use backend_api::ops::linalg::{self, ElementwiseOps};
use core_types::params::elementwise::AdamWParams;

use crate::{Layout, NnError, TensorMut, TensorRef};

/// Adam with decoupled weight decay (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2, with a
/// schedule of 1).
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{AdamW, TensorMut, TensorRef};
///
/// let q = runtime::cpu()?;
/// let (adam, shape) = (AdamW::default(), [3]);
/// let (gradient, mut weights) = (q.upload(&[1.0f32, -2.0, 0.0])?, q.upload(&[1.0f32, 1.0, 1.0])?);
/// let (mut m, mut v) = (q.zeros::<f32>(3)?, q.zeros::<f32>(3)?);
/// let moments = [TensorMut::contiguous(m.view_mut(), &shape)?, TensorMut::contiguous(v.view_mut(), &shape)?];
/// let weights_view = TensorMut::contiguous(weights.view_mut(), &shape)?;
/// adam.step(&q, 1, TensorRef::contiguous(gradient.view(), &shape)?, moments, weights_view)?;
/// // the first step is of the size of the rate, whatever the gradient is
/// let expected = [1.0 - 0.001 * 1.01, 1.0 + 0.001 * 0.99, 1.0 - 0.001 * 0.01];
/// for (weight, expected) in q.download(&weights)?.into_iter().zip(expected) {
///     assert!((weight - expected).abs() < 1e-6);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Step size.
    pub rate: f32,
    /// Share of the first moment that a step keeps, in `0..1`.
    pub beta1: f32,
    /// Share of the second moment that a step keeps, in `0..1`.
    pub beta2: f32,
    /// Added to the root of the second moment; greater than 0.
    pub eps: f32,
    /// Part of each weight that a step takes away, in units of the rate; 0 for none.
    pub decay: f32,
}

impl Default for AdamW {
    /// The values of the paper's experiments: a rate of 0.001, shares of 0.9 and 0.999, an `eps` of 10^-8 and a decay
    /// of 0.01.
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 }
    }
}

impl AdamW {
    /// Takes step `t`, the first of which is 1, along the gradient `g`: updates both moments, which begin as zeros, and the
    /// weights. All have one shape and are row-major.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a rate or a decay that is not finite, for shares outside `0..1`, for an `eps` that is not
    /// positive and finite, and for step 0; [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] if a tensor does not fit;
    /// [`NnError::Backend`] from the device.
    pub fn step<Q: ElementwiseOps>(
        &self,
        q: &Q,
        t: u32,
        g: TensorRef<'_, Q, f32>,
        moments: [TensorMut<'_, Q, f32>; 2],
        w: TensorMut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        const OP: &str = "adam_w";
        let layout = Layout::contiguous(g.layout().shape())?;
        let params = self.params(OP, t)?;
        let [m, v] = moments;
        let (g, m, v) = (g.planned(OP, "g", &layout)?, m.planned(OP, "m", &layout)?, v.planned(OP, "v", &layout)?);
        let w = w.planned(OP, "w", &layout)?;
        let (g, m, v, w) = (q.shorten(g), q.shorten_mut(m), q.shorten_mut(v), q.shorten_mut(w));
        Ok(q.adam_w(linalg::AdamW { params: &params, g, m, v, w })?)
    }

    /// The parameters of step `t`.
    fn params(&self, op: &'static str, t: u32) -> Result<AdamWParams, NnError> {
        let &Self { rate, beta1, beta2, eps, decay } = self;
        let share = |x: f32| (0.0..1.0).contains(&x);
        let rules = [
            ("rate", "finite", rate, rate.is_finite()),
            ("beta1", "at least 0 and less than 1", beta1, share(beta1)),
            ("beta2", "at least 0 and less than 1", beta2, share(beta2)),
            ("eps", "positive and finite", eps, eps > 0.0 && eps.is_finite()),
            ("decay", "finite", decay, decay.is_finite()),
            ("t", "at least 1", t as f32, t > 0),
        ];
        if let Some(&(name, domain, value, _)) = rules.iter().find(|(.., holds)| !holds) {
            return Err(NnError::Parameter { op, name, domain, value: f64::from(value) });
        }
        // in f64, since the powers are near 1
        let correction = |beta: f32| (1.0 / (1.0 - f64::from(beta).powf(f64::from(t)))) as f32;
        let (mean, square) = (correction(beta1), correction(beta2));
        Ok(AdamWParams { rate, beta1, beta2, eps, decay, mean, square, reserved: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_step_is_refused_by_name() {
        let adam = AdamW::default();
        let refused = |adam: AdamW, t| match adam.params("adam_w", t) {
            Err(NnError::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(AdamW { rate: f32::NAN, ..adam }, 1), "rate");
        assert_eq!(refused(AdamW { beta1: 1.0, ..adam }, 1), "beta1");
        assert_eq!(refused(AdamW { beta2: -0.1, ..adam }, 1), "beta2");
        assert_eq!(refused(AdamW { eps: 0.0, ..adam }, 1), "eps");
        assert_eq!(refused(AdamW { decay: f32::INFINITY, ..adam }, 1), "decay");
        assert_eq!(refused(adam, 0), "t");
    }

    #[test]
    fn corrections_undo_the_bias_of_moments_that_began_as_zeros() {
        let first = AdamW::default().params("adam_w", 1).unwrap();
        assert!((first.mean - 10.0).abs() < 1e-5 && (first.square - 1000.0).abs() < 0.02, "{first:?}");
        let late = AdamW::default().params("adam_w", 1_000_000).unwrap();
        assert_eq!((late.mean, late.square), (1.0, 1.0));
    }
}
