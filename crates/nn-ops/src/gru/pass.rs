//! A forward and a backward pass with all the memory that they need.

use backend_api::Queue;

use super::{
    backward::{GruGradients, GruUpstream},
    gradients::{GruGradientPlan, GruGradientWorkspace, GruPassValues},
    plan::{GruPlan, GruResults},
    weights::GruWeights,
};
use crate::{
    ElementwiseOps, GemmOps, RecurrentOps,
    error::Result,
    tensor::{Layout, Tensor, TensorRef},
};

/// Reusable memory for passes of a [`GruPlan`]: states, saved values, and gradients.
///
/// ```
/// use nn_ops::{GruInputs, GruPlan, GruVariant, GruWeights, Tensor, axpby};
///
/// let q = runtime::cpu()?;
/// let mut weights = GruWeights::random(&q, 1, [2, 3], GruVariant::ResetBefore, 42)?;
/// let plan = GruPlan::new(&weights, 1, 2, GruInputs::Sequence)?; // one row, two steps
/// let x = Tensor::from_values(&q, &[2, 1, 2], &[0.5f32, -1.0, 0.25, 1.0])?;
/// let mut pass = plan.pass(&q, &weights)?;
/// let sum = |values: Vec<f32>| values.into_iter().sum::<f32>();
///
/// pass.forward(&q, &weights, x.at(), None)?;
/// let before = sum(pass.last().values(&q)?);
/// let of_last = Tensor::from_values(&q, &[1, 1, 3], &[1.0f32; 3])?; // the gradient of the sum
/// pass.backward(&q, &weights, x.at(), of_last.at())?;
/// axpby(&q, 0.1, pass.of_weights().at()?, 1.0, weights.at_mut()?)?; // up the slope
/// pass.forward(&q, &weights, x.at(), None)?;
/// assert!(sum(pass.last().values(&q)?) > before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GruPass<Q: Queue> {
    plan: GruPlan,
    gradients: GruGradientPlan,
    workspace: GruGradientWorkspace<Q>,
    last: Tensor<Q, f32>,
    saved: Tensor<Q, f32>,
    of_gates: Tensor<Q, f32>,
    of_first: Tensor<Q, f32>,
    of_weights: GruWeights<Q>,
}

impl GruPlan {
    /// Memory for passes of this plan over `weights`, or weights of the same sizes.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) for weights of another ensemble
    /// than the plan was made for; [`NnError::Backend`](crate::NnError::Backend) if memory is
    /// short.
    pub fn pass<Q: Queue>(&self, q: &Q, weights: &GruWeights<Q>) -> Result<GruPass<Q>> {
        self.admit("gru_pass", weights)?;
        let gradients = GruGradientPlan::new(self, 1.0)?;
        let room = |layout: &Layout| Tensor::alloc(q, layout.shape());
        Ok(GruPass {
            workspace: gradients.workspace(q)?,
            last: room(&self.state)?,
            saved: room(&self.saved)?,
            of_gates: room(&self.gates)?,
            of_first: room(&self.state)?,
            of_weights: weights.like(q)?,
            gradients,
            plan: *self,
        })
    }
}

impl<Q: Queue> GruPass<Q> {
    /// Runs all steps on inputs `x`, from the states `first` or from zeros.
    ///
    /// `first` is `[members, batch, hidden]`.
    ///
    /// # Errors
    /// As [`GruPlan::forward`].
    pub fn forward(
        &mut self,
        q: &Q,
        weights: &GruWeights<Q>,
        x: TensorRef<'_, Q, f32>,
        first: Option<TensorRef<'_, Q, f32>>,
    ) -> Result<()>
    where
        Q: RecurrentOps,
    {
        let results = GruResults { states: None, last: self.last.at_mut(), saved: Some(self.saved.at_mut()) };
        self.plan.forward(q, weights, x, first, results)
    }

    /// The states after the last step, `[members, batch, hidden]`.
    #[must_use]
    pub fn last(&self) -> &Tensor<Q, f32> {
        &self.last
    }

    /// Computes the gradients of weights and of the first states.
    ///
    /// `of_last` are the gradients of the last states. The weights and the inputs are the same as
    /// in the forward pass.
    ///
    /// # Errors
    /// As [`GruPlan::backward`] and [`GruGradientPlan::weights`].
    pub fn backward(
        &mut self,
        q: &Q,
        weights: &GruWeights<Q>,
        x: TensorRef<'_, Q, f32>,
        of_last: TensorRef<'_, Q, f32>,
    ) -> Result<()>
    where
        Q: RecurrentOps + GemmOps + ElementwiseOps,
    {
        let Self { plan, gradients, workspace, saved, of_gates, of_first, of_weights, .. } = self;
        let upstream = GruUpstream { states: None, last: Some(of_last) };
        let of_sums = GruGradients { gates: of_gates.at_mut(), first: of_first.at_mut() };
        plan.backward(q, weights, saved.at(), upstream, of_sums)?;
        let values = GruPassValues { x: x.shorten(), saved: saved.at(), gates: of_gates.at() };
        gradients.weights(q, workspace, values, of_weights)
    }

    /// The gradients of the weights, in their form.
    #[must_use]
    pub fn of_weights(&self) -> &GruWeights<Q> {
        &self.of_weights
    }

    /// The gradients of the first states, `[members, batch, hidden]`.
    #[must_use]
    pub fn of_first(&self) -> &Tensor<Q, f32> {
        &self.of_first
    }
}

debug_fields!(GruPass<Q: Queue> plan);
