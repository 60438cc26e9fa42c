//! The training of a perceptron: its optimizer, and memory for steps.

use backend_api::{Buffer as _, BufferMut as _, DType, Queue, Real};

use super::{layers::DenseLayers, pass::MlpPass};
use crate::{
    LinalgOps, TensorOps,
    error::{NnError, Result},
    movement::widen,
    optim::{Optimizer, OptimizerConfig, ParameterArena, Precision, wide_mut, wide_ref},
    rows::{CrossEntropyPlan, CrossEntropyResults},
    tensor::{TensorMut, TensorRef},
};

/// The optimizer of an [`Mlp`](super::Mlp), and the workspace of its steps.
///
/// The workspace is made once for all steps. Passes are in `T`: with f16 or bf16, weights stay in
/// f32 and a copy in `T` goes through the layers.
pub struct MlpTraining<Q: Queue, T: Real = f32> {
    pub(super) optimizer: Optimizer<Q>,
    pub(super) pass: MlpPass<Q, T>,
    /// The weights in `T`; empty for f32.
    pub(super) copy: ParameterArena<Q, T>,
    /// Rows of the last step, 0 where none has ended well.
    rows: usize,
    loss: CrossEntropyPlan,
    losses: Q::Buf<f32>,
    /// The logits in f32, unless they are in the first place.
    logits: Q::Buf<f32>,
    /// Their gradient before it is scaled; empty where it is not.
    unscaled: Q::Buf<f32>,
}

impl<Q: Queue, T: Real> MlpTraining<Q, T> {
    /// The mean cross-entropy of the batch in the last step, from before it. Waits for that step.
    ///
    /// A replay of a recorded step does not count as such a call: read its loss after the first
    /// replay, and before a batch of another size comes in between.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] before the first step and after one that failed,
    /// [`NnError::Backend`].
    pub fn loss(&self, q: &Q) -> Result<f32> {
        if self.rows == 0 {
            return Err(NnError::EmptyReduction { op: "mlp.loss" });
        }
        let sum: f64 = q.read(self.losses.slice(0..self.rows)?)?.into_iter().map(f64::from).sum();
        Ok((sum / self.rows as f64) as f32)
    }

    /// The optimizer.
    #[must_use]
    pub fn optimizer(&self) -> &Optimizer<Q> {
        &self.optimizer
    }
}

impl<Q: LinalgOps + TensorOps, T: Real> MlpTraining<Q, T> {
    pub(super) fn new(
        q: &Q,
        layers: &DenseLayers,
        rows: usize,
        config: OptimizerConfig,
        copy: ParameterArena<Q, T>,
    ) -> Result<Self> {
        let pass = MlpPass::new(q, layers, rows)?;
        let (logits, wide) = (rows * layers.classes(), T::DTYPE != DType::F32);
        let only = |needed: bool| q.alloc(if needed { logits } else { 0 });
        Ok(Self {
            optimizer: Optimizer::new(q, config, &layers.table)?,
            pass,
            rows: 0,
            loss: CrossEntropyPlan::new(rows, layers.classes())?,
            losses: q.alloc(rows)?,
            logits: only(wide)?,
            unscaled: only(wide || config.loss_scale.is_some())?,
            copy,
        })
    }

    /// Starts a step of `op` on `rows` rows. Until it has [ended](Self::end), there is no loss.
    pub(super) fn begin(&mut self, op: &'static str, layers: &DenseLayers, rows: usize) -> Result<()> {
        self.pass.begin(op, layers, rows)?;
        if self.loss.logits().shape() != [rows, layers.classes()] {
            self.loss = CrossEntropyPlan::new(rows, layers.classes())?;
        }
        self.rows = 0;
        Ok(())
    }

    /// Ends a step.
    pub(super) fn end(&mut self) {
        self.rows = self.pass.plans.rows.numel();
    }
}

impl<Q: LinalgOps + TensorOps, T: Precision> MlpTraining<Q, T> {
    /// Computes the losses of the batch in f32, and the gradient of the logits in `T`.
    ///
    /// The gradient is multiplied by the loss scale.
    pub(super) fn differentiate_loss(&mut self, q: &Q, targets: TensorRef<'_, Q, u32>) -> Result<()> {
        let (rows, share) = (self.pass.plans.rows, 1.0 / self.pass.plans.rows.numel() as f32);
        let layout = *self.loss.logits();
        let (logits, gradient) = self.pass.loss();
        let logits = match wide_ref(TensorRef::new(logits, layout)?) {
            Ok(logits) => logits,
            Err(logits) => {
                widen(q, logits, TensorMut::new(self.logits.view_mut(), layout)?)?;
                TensorRef::new(self.logits.view(), layout)?
            }
        };
        let mut gradient = TensorMut::new(gradient, layout)?;
        let losses = TensorMut::new(self.losses.view_mut(), rows)?;
        // Neither a rounding nor a factor: the loss writes the gradient itself.
        if self.optimizer.config().loss_scale.is_none()
            && let Ok(dlogits) = wide_mut(gradient.reborrow())
        {
            return self.loss.cross_entropy(q, share, logits, targets, CrossEntropyResults { losses, dlogits });
        }
        let dlogits = TensorMut::new(self.unscaled.view_mut(), layout)?;
        self.loss.cross_entropy(q, share, logits, targets, CrossEntropyResults { losses, dlogits })?;
        // Both have room for more rows than the batch may have.
        let elements = 0..layout.numel();
        self.optimizer.scale_loss(q, self.unscaled.slice(elements.clone())?, gradient.into_view().slice(elements)?)
    }
}

debug_fields!(MlpTraining<Q: Queue, T: Real> optimizer);
