//! The optimizer: its record and its moments, on a device.

use std::sync::Arc;

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, DType, Mut, Queue, Real, Ref,
    ops::optim::{AdamStep, AdvanceStep, ScaleLoss, SgdStep, SquareSums},
};
use core_types::params::optim::{AdvanceParams, PART, StepState};

use super::{
    arena::ParameterArena,
    config::{OptimizerConfig, Rule, StepParams},
    table::ParameterTable,
};
use crate::{
    OptimOps,
    error::{NnError, Result},
};

const OP: &str = "optimizer";

/// An optimizer that steps all weights of a model in one or two launches.
///
/// The number of launches does not depend on the number of tensors.
///
/// The number of the step, its rate, the norm of the gradients and the loss scale are a record on
/// the device, which every step advances: nothing waits, and a recorded step
/// ([`Record`](backend_api::Record)) goes on with the schedule at every replay. See
/// [`ParameterArena`] for an example.
pub struct Optimizer<Q: Queue> {
    config: OptimizerConfig,
    table: Arc<ParameterTable>,
    advance: AdvanceParams,
    step: StepParams,
    pub(super) state: Q::Buf<StepState>,
    /// Sums of squares of the gradients, if they are measured.
    sums: Option<Q::Buf<f64>>,
    /// The running sum, or both moments.
    pub(super) moments: Vec<ParameterArena<Q, f32>>,
}

impl<Q: Queue> Optimizer<Q> {
    /// An optimizer before its first step, for the tensors of `table`.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for numbers that make no step, [`NnError::Backend`] if memory is
    /// short.
    pub fn new(q: &Q, config: OptimizerConfig, table: &Arc<ParameterTable>) -> Result<Self> {
        config.check()?;
        let moments = match config.rule {
            Rule::Sgd { momentum: 0.0, .. } => 0,
            Rule::Sgd { .. } => 1,
            Rule::Adam { .. } => 2,
        };
        let sums = config.measures().then(|| q.alloc(table.len().div_ceil(PART))).transpose()?;
        Ok(Self {
            advance: config.advance(),
            step: config.step(table.decayed()),
            state: q.upload(&[StepState::new(config.loss_scale.map_or(1.0, |scale| scale.initial))])?,
            sums,
            moments: (0..moments).map(|_| ParameterArena::zeros(q, table)).collect::<Result<_, _>>()?,
            table: table.clone(),
            config,
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &OptimizerConfig {
        &self.config
    }

    /// Waits and returns the record.
    ///
    /// It has the steps taken and left out, the last rate and norm, and the loss scale.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn state(&self, q: &Q) -> Result<StepState> {
        Ok(q.download(&self.state)?.first().copied().unwrap_or(StepState::new(1.0)))
    }

    /// The record where it is, for ops that read it.
    pub(crate) fn record(&self) -> Ref<'_, Q, StepState> {
        self.state.view()
    }
}

impl<Q: OptimOps> Optimizer<Q> {
    /// Takes a step along gradients of type `T`, divided by the loss scale.
    ///
    /// Gradients and weights are all elements of arenas of the table ([`ParameterArena::view`]).
    /// `copy`, an optional copy of the updated weights if `T` has 16 bits, is rounded to `T`.
    ///
    /// # Errors
    /// [`NnError::Length`] if the length of a view differs from the table, [`NnError::Backend`]
    /// from the device, also for a copy in f32. Nothing has changed then, unless the device failed
    /// or a view is of another one: then a step may have been counted.
    pub fn step<T: Real>(
        &mut self,
        q: &Q,
        gradients: Ref<'_, Q, T>,
        weights: Mut<'_, Q, f32>,
        copy: Option<Mut<'_, Q, T>>,
    ) -> Result<()> {
        self.admit(gradients.len(), weights.len(), copy.as_ref())?;
        self.measure(q, q.shorten(gradients))?;
        self.update(q, Some(gradients), None, weights, copy)
    }

    /// [`step`](Self::step) along gradients in f32, with a copy of the weights in 16 bits.
    pub(crate) fn step_wide<T: Real>(
        &mut self,
        q: &Q,
        gradients: Ref<'_, Q, f32>,
        weights: Mut<'_, Q, f32>,
        copy: Mut<'_, Q, T>,
    ) -> Result<()> {
        self.admit(gradients.len(), weights.len(), Some(&copy))?;
        self.measure(q, q.shorten(gradients))?;
        self.update(q, None, Some(gradients), weights, Some(copy))
    }

    /// Advances the record to the next step, by the norm of the gradients if it is measured.
    fn measure<T: Real>(&mut self, q: &Q, gradients: Ref<'_, Q, T>) -> Result<()> {
        if let Some(sums) = &mut self.sums {
            q.square_sums(SquareSums { g: q.shorten(gradients), sums: sums.view_mut() })?;
        }
        let sums = self.sums.as_ref().map(Buffer::view);
        Ok(q.advance_step(AdvanceStep { params: &self.advance, sums, state: self.state.view_mut() })?)
    }

    /// Updates the weights by the record, along gradients in `T` or in f32.
    fn update<T: Real>(
        &mut self,
        q: &Q,
        own: Option<Ref<'_, Q, T>>,
        wide: Option<Ref<'_, Q, f32>>,
        weights: Mut<'_, Q, f32>,
        copy: Option<Mut<'_, Q, T>>,
    ) -> Result<()> {
        let (state, g, wide) = (self.state.view(), own.map(|g| q.shorten(g)), wide.map(|g| q.shorten(g)));
        let (w, copy) = (q.shorten_mut(weights), copy.map(|copy| q.shorten_mut(copy)));
        match (&self.step, &mut self.moments[..]) {
            (StepParams::Sgd(params), moments) => {
                let v = moments.first_mut().map(ParameterArena::view_mut);
                Ok(q.sgd_step(SgdStep { params, state, g, wide, v, w, copy })?)
            }
            (StepParams::Adam(params), [m, v]) => {
                let (m, v) = (m.view_mut(), v.view_mut());
                Ok(q.adam_step(AdamStep { params, state, g, wide, m, v, w, copy })?)
            }
            (StepParams::Adam(_), moments) => {
                Err(NnError::Length { op: OP, tensor: "moments", expected: 2, got: moments.len() })
            }
        }
    }

    /// `y = scale x` with the loss scale, rounded to `T`.
    ///
    /// This is the gradient of a loss, with which a backward pass in 16 bits begins.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device, also for views of different lengths.
    pub fn scale_loss<T: Real>(&self, q: &Q, x: Ref<'_, Q, f32>, y: Mut<'_, Q, T>) -> Result<()> {
        let (x, y) = (q.shorten(x), q.shorten_mut(y));
        Ok(q.scale_loss(ScaleLoss { state: self.state.view(), x, y })?)
    }

    /// Refuses views of other lengths than the table's, and a copy in f32.
    fn admit<T: Real>(&self, gradients: usize, weights: usize, copy: Option<&Mut<'_, Q, T>>) -> Result<()> {
        let expected = self.table.len();
        let copied = copy.map_or(expected, |copy| copy.len());
        let views = [("gradients", gradients), ("weights", weights), ("copy", copied)];
        if let Some(&(tensor, got)) = views.iter().find(|&&(_, got)| got != expected) {
            return Err(NnError::Length { op: OP, tensor, expected, got });
        }
        if copy.is_some() && T::DTYPE == DType::F32 {
            return Err(BackendError::Unsupported {
                op: OP,
                why: "f32 weights have neither wide gradients nor a rounded copy",
            }
            .into());
        }
        Ok(())
    }
}

debug_fields!(Optimizer<Q: Queue> config);
