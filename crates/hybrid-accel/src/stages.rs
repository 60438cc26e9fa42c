//! The four calls as sequences of operators on memory of one shape, which can be recorded.

use backend_api::{Buffer as _, Queue as _};
use nn_ops::{
    Activation, Binary, CompressedResidual, EncoderPlan, EncoderResults, Feedback, Functional as _, LinearOperands,
    NnError, Reduction, ResidualPlan, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors, SvdOptions,
    SvdWorkspace, Tensor, TrainingState, TrainingStates, binary, copy, linear, matmul, reduce,
};
use runtime::AnyQueue;

use crate::{
    config::AcceleratorConfig,
    weights::{DeviceWeights, Units},
};

type DeviceTensor = Tensor<AnyQueue, f32>;

/// A copy of a tensor, which later runs do not overwrite.
pub(crate) fn copied(q: &AnyQueue, tensor: &DeviceTensor) -> Result<DeviceTensor, NnError> {
    let mut fresh = DeviceTensor::alloc(q, tensor.layout().shape())?;
    q.copy(tensor.buffer().view(), fresh.buffer_mut().view_mut())?;
    Ok(fresh)
}

/// Codes of a batch of trainings.
pub(crate) struct EncodeStage {
    plan: EncoderPlan,
    states: TrainingStates<AnyQueue>,
    /// `[batch, output]`.
    pub(crate) codes: DeviceTensor,
}

impl EncodeStage {
    pub(crate) fn new(q: &AnyQueue, config: &AcceleratorConfig, batch: usize) -> Result<Self, NnError> {
        let output = config.encode.output_dim;
        Ok(Self {
            plan: EncoderPlan::new(batch, output)?,
            states: TrainingStates::new(q, &vec![TrainingState::new(); batch])?,
            codes: DeviceTensor::alloc(q, &[batch, output])?,
        })
    }

    pub(crate) fn load(&mut self, q: &AnyQueue, states: &[TrainingState]) -> Result<(), NnError> {
        self.states.write(q, states)
    }

    pub(crate) fn run(&mut self, q: &AnyQueue, weights: &DeviceWeights) -> Result<(), NnError> {
        let results = EncoderResults { features: None, codes: self.codes.at_mut() };
        self.plan.run(q, &self.states, weights.encoder.at(), weights.encoder_bias.at(), results)
    }
}

/// Predicted codes of a batch.
///
/// The codes are the first inputs of the units, whose states begin with zeros.
pub(crate) struct PredictStage {
    plan: RssmPlan,
    /// Whether the state head makes the inputs of later steps.
    feeds_states: bool,
    /// `[batch, output]`.
    pub(crate) codes: DeviceTensor,
    /// Zeros, `[members, batch, hidden]`.
    first: DeviceTensor,
    /// `[members, batch]`.
    losses: DeviceTensor,
    pub(crate) results: RssmTensors<AnyQueue>,
    /// Mean of the members' states after every step, `[steps, batch, hidden]`.
    mean: DeviceTensor,
    /// `[steps, batch, output]`.
    read: DeviceTensor,
    /// `[batch, steps, output]`.
    pub(crate) predicted: DeviceTensor,
}

impl PredictStage {
    pub(crate) fn new(
        q: &AnyQueue,
        config: &AcceleratorConfig,
        weights: &DeviceWeights,
        [batch, steps]: [usize; 2],
    ) -> Result<Self, NnError> {
        let (members, hidden, output) = (config.members, config.gru.hidden_dim, config.encode.output_dim);
        let (stochastic, feedback) = (config.stochastic, config.feedback);
        let spec = RssmSpec { batch, steps, stochastic, feedback, ..RssmSpec::default() };
        let plan = match &weights.units {
            Units::Single(units) => RssmPlan::new(units, spec)?,
            Units::Half(units) => RssmPlan::new(units, spec)?,
        };
        let states = [members, batch, hidden];
        Ok(Self {
            codes: DeviceTensor::alloc(q, &[batch, output])?,
            first: DeviceTensor::from_buffer(q.zeros(states.iter().product())?, &states)?,
            losses: DeviceTensor::alloc(q, &[members, batch])?,
            results: RssmTensors::with_states(q, &plan)?,
            mean: DeviceTensor::alloc(q, &[steps, batch, hidden])?,
            read: DeviceTensor::alloc(q, &[steps, batch, output])?,
            predicted: DeviceTensor::alloc(q, &[batch, steps, output])?,
            feeds_states: feedback == Feedback::State,
            plan,
        })
    }

    /// Joins the rows of `encoded`, and takes the current loss of each row.
    pub(crate) fn load<'t>(
        &mut self,
        q: &AnyQueue,
        encoded: impl IntoIterator<Item = &'t DeviceTensor>,
        losses: &[f32],
    ) -> Result<(), NnError> {
        let mut first = 0;
        for tensor in encoded {
            let range = first..first + tensor.buffer().len();
            first = range.end;
            q.copy(tensor.buffer().view(), self.codes.buffer_mut().slice_mut(range)?)?;
        }
        self.load_losses(q, losses)
    }

    /// Takes the current loss of each row.
    pub(crate) fn load_losses(&mut self, q: &AnyQueue, losses: &[f32]) -> Result<(), NnError> {
        let members = self.losses.layout().shape().first().copied().unwrap_or(0);
        Ok(q.write(&losses.repeat(members), self.losses.buffer_mut().view_mut())?)
    }

    pub(crate) fn run(&mut self, q: &AnyQueue, weights: &DeviceWeights) -> Result<(), NnError> {
        // All steps of all members.
        let back = self.feeds_states.then(|| [weights.state_head.at(), weights.state_bias.at()]);
        let head = RssmHead { back, ..RssmHead::new(weights.loss_head.at()) };
        let operands = RssmOperands { features: self.codes.at(), first: self.first.at(), losses: self.losses.at() };
        match &weights.units {
            Units::Single(units) => self.plan.run(q, units, head, operands, self.results.at_mut())?,
            Units::Half(units) => self.plan.run(q, units, head, operands, self.results.at_mut())?,
        }
        // The head is linear, so it reads the mean of the members' states.
        if let Some(states) = &self.results.states {
            reduce(q, Reduction::Mean, states.at(), &[0], self.mean.at_mut())?;
        }
        let operands =
            LinearOperands { x: self.mean.at(), w: weights.state_head.at(), bias: Some(weights.state_bias.at()) };
        linear(q, operands, Activation::Identity, self.read.at_mut())?;
        copy(q, self.read.at().permuted(&[1, 0, 2])?, self.predicted.at_mut())
    }

    /// A copy of the predictions from row `first` on, for codes of this shape; and the row after.
    ///
    /// Codes `[rows, output]` have predictions `[rows, steps, output]`, a code `[output]` has
    /// `[steps, output]`.
    pub(crate) fn part(&self, q: &AnyQueue, first: usize, codes: &[usize]) -> Result<(DeviceTensor, usize), NnError> {
        let (leading, of_row) = (&codes[..codes.len().saturating_sub(1)], &self.predicted.layout().shape()[1..]);
        let next = first + leading.iter().product::<usize>();
        let mut fresh = DeviceTensor::alloc(q, &[leading, of_row].concat())?;
        let row = of_row.iter().product::<usize>();
        q.copy(self.predicted.buffer().slice(first * row..next * row)?, fresh.buffer_mut().view_mut())?;
        Ok((fresh, next))
    }
}

/// A residual `[m, n]` in factors.
pub(crate) struct CompressStage {
    plan: ResidualPlan,
    residual: DeviceTensor,
    pub(crate) compressed: CompressedResidual<AnyQueue>,
    workspace: SvdWorkspace<AnyQueue>,
}

impl CompressStage {
    pub(crate) fn new(q: &AnyQueue, [m, n, rank]: [usize; 3]) -> Result<Self, NnError> {
        let plan = ResidualPlan::new(m, n, rank, SvdOptions::default())?;
        Ok(Self {
            residual: DeviceTensor::alloc(q, &[m, n])?,
            compressed: plan.compressed(q)?,
            workspace: plan.workspace(q)?,
            plan,
        })
    }

    /// The rank of the factors.
    pub(crate) fn rank(&self) -> usize {
        self.plan.svd().rank()
    }

    pub(crate) fn load(&mut self, q: &AnyQueue, residual: &DeviceTensor) -> Result<(), NnError> {
        Ok(q.copy(residual.buffer().view(), self.residual.buffer_mut().view_mut())?)
    }

    pub(crate) fn run(&mut self, q: &AnyQueue) -> Result<(), NnError> {
        self.plan.compress(q, self.residual.at(), &mut self.compressed, &mut self.workspace)
    }

    /// Copies of U, S and V.
    ///
    /// Waits, and refuses factors of a residual that is not finite.
    pub(crate) fn factors(&self, q: &AnyQueue) -> Result<[DeviceTensor; 3], NnError> {
        let factors = self.compressed.factors();
        factors.rank(q)?;
        Ok([q.packed(&factors.u())?, q.packed(&factors.s())?, q.packed(&factors.v())?])
    }
}

/// The four calls in one sequence: predictions plus low-rank corrections.
pub(crate) struct CycleStage {
    pub(crate) encode: EncodeStage,
    pub(crate) predict: PredictStage,
    pub(crate) compress: CompressStage,
    /// `[batch steps, rank]`.
    scaled: DeviceTensor,
    /// `[batch steps, output]`.
    correction: DeviceTensor,
    /// `[batch, steps, output]`.
    pub(crate) corrected: DeviceTensor,
}

impl CycleStage {
    pub(crate) fn new(
        q: &AnyQueue,
        config: &AcceleratorConfig,
        weights: &DeviceWeights,
        [batch, steps, rank]: [usize; 3],
    ) -> Result<Self, NnError> {
        const OP: &str = "cycle";
        let rows = batch.checked_mul(steps).ok_or(NnError::Overflow { op: OP })?;
        let output = config.encode.output_dim;
        let compress = CompressStage::new(q, [rows, output, rank])?;
        Ok(Self {
            encode: EncodeStage::new(q, config, batch)?,
            predict: PredictStage::new(q, config, weights, [batch, steps])?,
            scaled: DeviceTensor::alloc(q, &[rows, compress.rank()])?,
            correction: DeviceTensor::alloc(q, &[rows, output])?,
            corrected: DeviceTensor::alloc(q, &[batch, steps, output])?,
            compress,
        })
    }

    pub(crate) fn run(&mut self, q: &AnyQueue, weights: &DeviceWeights) -> Result<(), NnError> {
        // Codes, and predictions from them.
        self.encode.run(q, weights)?;
        q.copy(self.encode.codes.buffer().view(), self.predict.codes.buffer_mut().view_mut())?;
        self.predict.run(q, weights)?;
        // The residual of earlier predictions, of low rank.
        self.compress.run(q)?;
        let factors = self.compress.compressed.factors();
        binary(q, Binary::Mul, factors.u(), factors.s(), self.scaled.at_mut())?;
        matmul(q, self.scaled.at(), factors.v().transposed()?, self.correction.at_mut())?;
        // Corrected predictions.
        let shape = *self.corrected.layout();
        let correction = self.correction.at().reshaped(shape.shape())?;
        binary(q, Binary::Add, self.predict.predicted.at(), correction, self.corrected.at_mut())
    }
}
