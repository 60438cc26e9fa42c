//! Seeded dropout: which elements a training step drops.

use backend_api::{Real, ops::linalg};
use core_types::params::{elementwise::DropoutParams, recurrent::StateMask};

use super::activation::ElementwisePlan;
use crate::{
    ElementwiseOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    optim::Optimizer,
    tensor::{TensorMut, TensorRef},
};

const OP: &str = "dropout";
const IN_PLACE: &str = "dropout_in_place";

/// Seeded dropout, `y = x keep / (1 - p)`.
///
/// Each element is kept with probability `1 - p`.
///
/// The mask is a function of seed, site, step and the row-major index of the element: the same on
/// every device, for every number of threads and in the backward pass. Element i is kept iff word i
/// of the Philox4x32-10 sequence of (seed, site, step) is at least `floor(p 2^32)`. Two integers
/// are all the state there is to save.
///
/// ```
/// use nn_ops::{Dropout, Tensor};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (Tensor::from_values(&q, &[64], &[1.0f32; 64])?, Tensor::alloc(&q, &[64])?);
/// Dropout::new(0.5, 42)?.apply(&q, 0, 7, x.at(), y.at_mut())?;
/// assert!(y.values(&q)?.iter().all(|&y| y == 0.0 || y == 2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    p: f64,
    seed: u64,
}

/// A [`Dropout`] at one place in a network, as [`Dropout::at`] makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutSite {
    /// Probability and seed.
    pub dropout: Dropout,
    /// The place: each site of a network drops other elements.
    pub site: u32,
}

impl Dropout {
    /// Dropout with drop probability `p`.
    ///
    /// # Errors
    /// [`NnError::Parameter`] unless `0 <= p <= 1`.
    pub fn new(p: f64, seed: u64) -> Result<Self> {
        if !(0.0..=1.0).contains(&p) {
            return Err(NnError::parameter(OP, "p", "in 0..=1", p));
        }
        Ok(Self { p, seed })
    }

    /// The drop probability.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.p
    }

    /// The key of the generator.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// This dropout at the place `site` of a network.
    #[must_use]
    pub fn at(&self, site: u32) -> DropoutSite {
        DropoutSite { dropout: *self, site }
    }

    /// Drops elements of x; see [`ElementwisePlan::dropout`].
    ///
    /// `site` names the place in the network, `step` the training step; the same call on the
    /// gradient is the backward pass.
    ///
    /// # Errors
    /// As [`ElementwisePlan::dropout`].
    pub fn apply<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        site: u32,
        step: u32,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        ElementwisePlan::new(x.layout().shape())?.dropout(q, self.at(site), step, x, y)
    }

    /// The mask of states of a site and a step.
    pub(crate) fn mask(&self, site: u32, step: u32) -> StateMask {
        let DropoutParams { seed, threshold, scale, .. } = self.params(site, step);
        StateMask { seed, threshold, site, step, scale, reserved: 0 }
    }

    /// The launch record of a site and a step.
    fn params(&self, site: u32, step: u32) -> DropoutParams {
        DropoutParams {
            seed: self.seed,
            site,
            step,
            first: 0,
            threshold: (self.p * 4_294_967_296.0) as u64, // exact scaling, then floor
            scale: if self.p == 1.0 { 0.0 } else { (1.0 / (1.0 - self.p)) as f32 },
        }
    }
}

impl ElementwisePlan {
    /// Drops elements of x by the mask of a site and a training step: see [`Dropout`].
    ///
    /// The same call on the gradient is the backward pass.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn dropout<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        at: DropoutSite,
        step: u32,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (mut x, y) = (x.fit(OP, "x", self.layout())?, y.fit(OP, "y", self.layout())?);
        let mut result = Unpacked::new();
        let (len, x, y) = (self.layout().numel(), Some(x.view(q)?), result.target(q, y)?);
        let params = at.dropout.params(at.site, step);
        q.dropout(linalg::Dropout { params: &params, state: None, len, x, y })?;
        result.finish(q)
    }

    /// Drops elements of x by the mask of a site and a training step, and keeps the results in x.
    ///
    /// They have the bits of [`dropout`](Self::dropout).
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn dropout_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        at: DropoutSite,
        step: u32,
        x: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (len, x) = (self.layout().numel(), x.fit(IN_PLACE, "x", self.layout())?);
        let (params, mut result) = (at.dropout.params(at.site, step), Unpacked::new());
        let y = result.updated(q, x)?;
        q.dropout(linalg::Dropout { params: &params, state: None, len, x: None, y })?;
        result.finish(q)
    }

    /// Drops elements of x by the mask of a site and of an optimizer's current step.
    ///
    /// The current step is the number of steps that the optimizer has ended, taken or left out: 0
    /// before the end of its first step. The number is read on the device, so that a recorded step
    /// of a training drops other elements in each replay. Until [`Optimizer::step`] all calls have
    /// one mask, so that the same call on the gradient is the backward pass.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn training_dropout<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        at: DropoutSite,
        optimizer: &Optimizer<Q>,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (mut x, y) = (x.fit(OP, "x", self.layout())?, y.fit(OP, "y", self.layout())?);
        let mut result = Unpacked::new();
        let (len, x, y) = (self.layout().numel(), Some(x.view(q)?), result.target(q, y)?);
        let params = at.dropout.params(at.site, 0);
        q.dropout(linalg::Dropout { params: &params, state: Some(optimizer.record()), len, x, y })?;
        result.finish(q)
    }

    /// [`training_dropout`](Self::training_dropout) with the results in x.
    ///
    /// # Errors
    /// As [`dropout_in_place`](Self::dropout_in_place).
    pub fn training_dropout_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        at: DropoutSite,
        optimizer: &Optimizer<Q>,
        x: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (len, x) = (self.layout().numel(), x.fit(IN_PLACE, "x", self.layout())?);
        let (params, mut result) = (at.dropout.params(at.site, 0), Unpacked::new());
        let y = result.updated(q, x)?;
        q.dropout(linalg::Dropout { params: &params, state: Some(optimizer.record()), len, x: None, y })?;
        result.finish(q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        optim::{OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable},
        tensor::Tensor,
    };

    #[test]
    fn masks_of_a_training_are_those_of_the_steps_it_has_ended() {
        let q = runtime::cpu().unwrap();
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[1])]).unwrap();
        let gradients = ParameterArena::<_, f32>::zeros(&q, &table).unwrap();
        let mut weights = ParameterArena::<_, f32>::zeros(&q, &table).unwrap();
        let mut optimizer = Optimizer::new(&q, OptimizerConfig::sgd(0.1, 0.0), &table).unwrap();
        let (plan, at) = (ElementwisePlan::new(&[256]).unwrap(), Dropout::new(0.5, 42).unwrap().at(3));
        let x = Tensor::from_values(&q, &[256], &[1.0f32; 256]).unwrap();
        for step in 0..3 {
            let mut y = Tensor::<_, f32>::alloc(&q, &[256]).unwrap();
            plan.dropout(&q, at, step, x.at(), y.at_mut()).unwrap();
            let expected = y.values(&q).unwrap();
            plan.training_dropout(&q, at, &optimizer, x.at(), y.at_mut()).unwrap();
            assert_eq!(y.values(&q).unwrap(), expected, "step {step}");
            let [mut of_step, mut of_record] =
                [(); 2].map(|()| Tensor::from_values(&q, &[256], &[1.0f32; 256]).unwrap());
            plan.dropout_in_place(&q, at, step, of_step.at_mut()).unwrap();
            plan.training_dropout_in_place(&q, at, &optimizer, of_record.at_mut()).unwrap();
            assert_eq!([of_step, of_record].map(|x| x.values(&q).unwrap()), [expected.clone(), expected]);
            optimizer.step(&q, gradients.view(), weights.view_mut(), None).unwrap();
        }
    }
}
