//! The accelerator: four calls on a device, each recorded once per shape.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use backend_api::{DType, Fork as _, Queue as _};
use nn_ops::{Functional as _, NnError, RssmSummary, Tensor, TrainingState, TrainingStates};
use runtime::{AnyQueue, ReplayCounts, Replays};

use crate::{
    backend::{DeviceInfo, GpuBackend, bytes, pool_bytes},
    compressed::CompressedGpuTensor,
    config::{AcceleratorConfig, FEATURES},
    error::AccelError,
    stages::{CompressStage, CycleStage, EncodeStage, PredictStage, copied},
    tensor::{GpuTensor, TypedElements},
    weights::{AcceleratorWeights, DeviceWeights},
};

/// Memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Bytes of all tensors and workspaces.
    pub allocated: usize,
    /// Bytes that the pool holds, in use or not; on the processor, which has none, the same.
    pub pool_size: usize,
    /// The most bytes ever allocated at once.
    pub peak_usage: usize,
}

/// The results of [`GpuAccelerator::predict`].
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Predicted codes, `[rows, steps, output]` for each tensor of `rows` codes.
    ///
    /// For a tensor of one axis, `[steps, output]`.
    pub states: Vec<GpuTensor>,
    /// The units' last states, `[members, batch, hidden]`.
    pub hidden: GpuTensor,
    trajectory: GpuTensor,
    entropy: GpuTensor,
}

impl Prediction {
    /// Waits and summarises the predicted losses of each row over the members.
    ///
    /// # Errors
    /// [`AccelError::Ops`] from the device.
    pub fn losses(&self) -> Result<Vec<RssmSummary>, AccelError> {
        let shape = self.trajectory.shape();
        let len = |axis: Option<&usize>| axis.copied().unwrap_or(0);
        let (members, steps) = (len(shape.first()), len(shape.last()).saturating_sub(1));
        Ok(RssmSummary::of_rows(members, steps, &self.trajectory.to_host()?, &self.entropy.to_host()?)?)
    }
}

/// The results of [`GpuAccelerator::cycle`].
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Codes of the trainings, `[batch, output]`.
    pub encoded: GpuTensor,
    /// Predicted codes, `[batch, steps, output]`.
    pub predicted: GpuTensor,
    /// The residual in factors.
    pub compressed: CompressedGpuTensor,
    /// Predicted codes plus the residual of low rank, `[batch, steps, output]`.
    pub corrected: GpuTensor,
}

/// Recordings of each call, by its shape.
struct Recordings {
    encode: Replays<AnyQueue, usize, EncodeStage>,
    predict: Replays<AnyQueue, [usize; 2], PredictStage>,
    compress: Replays<AnyQueue, [usize; 3], CompressStage>,
    cycle: Replays<AnyQueue, [usize; 3], CycleStage>,
}

impl Recordings {
    fn new(shapes: usize) -> Self {
        Self {
            encode: Replays::new(shapes),
            predict: Replays::new(shapes),
            compress: Replays::new(shapes),
            cycle: Replays::new(shapes),
        }
    }
}

/// The accelerator of hybrid-predict-trainer-rs.
///
/// Encoding, prediction and compression have separate memory for each shape. On a device, they are
/// recorded when a shape comes for the second time, and replayed as one submission from then on;
/// [`cycle`](Self::cycle) is all four calls in one recording. Results are copies, which later calls
/// do not overwrite.
///
/// Calls of one accelerator run one after the other; [`fork`](Self::fork) gives another stream.
///
/// ```
/// use hybrid_accel::{GpuAccelerator, TrainingState, TrefoilCpu};
///
/// let accelerator = GpuAccelerator::new(TrefoilCpu::default())?;
/// let mut state = TrainingState::new();
/// state.record_step(2.5, 1.2);
///
/// let encoded = accelerator.encode_state(&state)?;
/// assert_eq!(encoded.shape(), [1, 128]);
/// let predicted = accelerator.predict_batch(&[encoded], 10)?;
/// assert_eq!(predicted[0].shape(), [1, 10, 128]);
/// # Ok::<(), hybrid_accel::AccelError>(())
/// ```
pub struct GpuAccelerator<B: GpuBackend> {
    backend: B,
    queue: AnyQueue,
    device_info: DeviceInfo,
    config: AcceleratorConfig,
    weights: Arc<DeviceWeights>,
    recordings: Mutex<Recordings>,
}

impl<B: GpuBackend> GpuAccelerator<B> {
    /// An accelerator of the default sizes with random weights.
    ///
    /// # Errors
    /// [`AccelError::Unavailable`] if the device cannot be opened, [`AccelError::Ops`] if its
    /// memory is short.
    pub fn new(backend: B) -> Result<Self, AccelError> {
        Self::with_config(backend, AcceleratorConfig::default())
    }

    /// An accelerator of these sizes with random weights.
    ///
    /// # Errors
    /// As [`AcceleratorConfig::check`] and [`new`](Self::new).
    pub fn with_config(backend: B, config: AcceleratorConfig) -> Result<Self, AccelError> {
        let weights = AcceleratorWeights::random(&config)?;
        Self::with_weights(backend, config, &weights)
    }

    /// An accelerator of these sizes and weights.
    ///
    /// # Errors
    /// [`AccelError::Shape`] or [`AccelError::Ops`] for weights of other sizes, or beyond the range
    /// of f16 if that is their type; otherwise as [`with_config`](Self::with_config).
    pub fn with_weights(
        backend: B,
        config: AcceleratorConfig,
        weights: &AcceleratorWeights,
    ) -> Result<Self, AccelError> {
        config.check()?;
        let queue = backend.open()?;
        Ok(Self {
            device_info: DeviceInfo::of(&queue),
            weights: Arc::new(DeviceWeights::new(&queue, &config, weights)?),
            recordings: Mutex::new(Recordings::new(config.shapes)),
            backend,
            queue,
            config,
        })
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Facts on the device, as they were when it was opened.
    #[must_use]
    pub fn device_info(&self) -> &DeviceInfo {
        &self.device_info
    }

    /// The sizes.
    #[must_use]
    pub fn config(&self) -> &AcceleratorConfig {
        &self.config
    }

    /// The queue of the device, for tensors and operators of the caller.
    #[must_use]
    pub fn queue(&self) -> &AnyQueue {
        &self.queue
    }

    /// How often calls were recorded and replayed, all shapes together.
    #[must_use]
    pub fn replay_counts(&self) -> ReplayCounts {
        let recordings = self.recordings();
        let all = [
            recordings.encode.counts(),
            recordings.predict.counts(),
            recordings.compress.counts(),
            recordings.cycle.counts(),
        ];
        all.into_iter().fold(ReplayCounts::default(), |sum, counts| ReplayCounts {
            eager: sum.eager + counts.eager,
            fallbacks: sum.fallbacks + counts.fallbacks,
            recorded: sum.recorded + counts.recorded,
            replayed: sum.replayed + counts.replayed,
            evicted: sum.evicted + counts.evicted,
        })
    }

    /// Waits and returns the 64 features of a training, in f32 whatever the precision.
    ///
    /// [`TrainingFeatures`](backend_api::ops::correction::TrainingFeatures) lists them.
    ///
    /// # Errors
    /// [`AccelError::Ops`] from the device.
    pub fn compute_features(&self, state: &TrainingState) -> Result<Vec<f32>, AccelError> {
        let states = TrainingStates::new(&self.queue, core::slice::from_ref(state))?;
        let mut features = Tensor::<AnyQueue, f32>::alloc(&self.queue, &[1, FEATURES])?;
        states.features(&self.queue, features.at_mut())?;
        Ok(features.values(&self.queue)?)
    }

    /// Encodes a training: `relu(features W + b)`, `[1, output]`.
    ///
    /// A training without a step has features that are NaN, and so is its code.
    ///
    /// # Errors
    /// [`AccelError::Ops`] from the device.
    pub fn encode_state(&self, state: &TrainingState) -> Result<GpuTensor, AccelError> {
        self.encode_states(core::slice::from_ref(state))
    }

    /// Encodes a batch of trainings: `[batch, output]`.
    ///
    /// # Errors
    /// [`AccelError::Shape`] without a training; otherwise as
    /// [`encode_state`](Self::encode_state).
    pub fn encode_states(&self, states: &[TrainingState]) -> Result<GpuTensor, AccelError> {
        refuse_empty("encode_states", "the trainings", states.len())?;
        let (q, weights) = (&self.queue, &*self.weights);
        let mut recordings = self.recordings();
        let stage = recordings.encode.run(
            q,
            &states.len(),
            |q| EncodeStage::new(q, &self.config, states.len()),
            |q, stage| stage.load(q, states),
            |q, stage| stage.run(q, weights),
        )?;
        self.result(copied(q, &stage.codes)?)
    }

    /// Predicts the codes of the next steps from codes `[rows, output]` or `[output]`.
    ///
    /// Each step's code is read from the mean of the members' states. The result has a tensor
    /// `[rows, steps, output]` or `[steps, output]` for each of `encoded_states`. A row does not
    /// depend on the others.
    ///
    /// # Errors
    /// [`AccelError::Shape`] for a tensor of another shape, [`AccelError::OtherDevice`] for one on
    /// another device, [`AccelError::Config`] without a step, [`AccelError::Ops`] from the device.
    pub fn predict_batch(&self, encoded_states: &[GpuTensor], steps: usize) -> Result<Vec<GpuTensor>, AccelError> {
        if encoded_states.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows_of("predict_batch", encoded_states)?;
        let losses = vec![0.0; rows.iter().sum()];
        self.predicted("predict_batch", encoded_states, &losses, steps, |stage| self.split(stage, encoded_states))
    }

    /// [`predict_batch`](Self::predict_batch), with the units' last states and predicted losses.
    ///
    /// `losses` has the current loss of each row, for all tensors in turn. The predicted losses
    /// begin with it.
    ///
    /// # Errors
    /// [`AccelError::Shape`] for another number of losses and without codes; otherwise as
    /// [`predict_batch`](Self::predict_batch).
    pub fn predict(
        &self,
        encoded_states: &[GpuTensor],
        losses: &[f32],
        steps: usize,
    ) -> Result<Prediction, AccelError> {
        refuse_empty("predict", "the codes", encoded_states.len())?;
        let q = &self.queue;
        self.predicted("predict", encoded_states, losses, steps, |stage| {
            let of = |tensor: &Tensor<AnyQueue, f32>| Ok::<_, AccelError>(GpuTensor::new(q, copied(q, tensor)?));
            Ok(Prediction {
                states: self.split(stage, encoded_states)?,
                hidden: of(&stage.results.last)?,
                trajectory: of(&stage.results.trajectory)?,
                entropy: of(&stage.results.entropy)?,
            })
        })
    }

    /// Compresses residuals `[m, n]` to factors of rank `min(rank, m, n)`.
    ///
    /// Waits for the device, since a residual that is not finite has no factors. The factors are
    /// f32.
    ///
    /// # Errors
    /// [`AccelError::Shape`] for a tensor that is no matrix, [`AccelError::OtherDevice`] for one on
    /// another device, [`AccelError::Ops`] for a rank of 0 or above 1024, for an empty matrix, for
    /// an element that is not finite, and from the device.
    pub fn compress_residuals(&self, residuals: &GpuTensor, rank: usize) -> Result<CompressedGpuTensor, AccelError> {
        const CALL: &str = "compress_residuals";
        residuals.on(&self.queue, CALL, "the residuals")?;
        let &[m, n] = residuals.shape() else {
            return Err(AccelError::shape(CALL, "the residuals", "[m, n]", residuals.shape()));
        };
        let wide = residuals.widened()?;
        let q = &self.queue;
        let mut recordings = self.recordings();
        let stage = recordings.compress.run(
            q,
            &[m, n, rank],
            |q| CompressStage::new(q, [m, n, rank]),
            |q, stage| stage.load(q, &wide),
            |q, stage| stage.run(q),
        )?;
        self.compressed(stage)
    }

    /// Adds corrections to predictions of the same shape and type.
    ///
    /// # Errors
    /// [`AccelError::Shape`], [`AccelError::Elements`] or [`AccelError::OtherDevice`] for tensors
    /// that do not fit, [`AccelError::Ops`] from the device.
    pub fn apply_corrections(&self, predictions: &GpuTensor, corrections: &GpuTensor) -> Result<GpuTensor, AccelError> {
        const CALL: &str = "apply_corrections";
        let q = &self.queue;
        predictions.on(q, CALL, "the predictions")?;
        corrections.on(q, CALL, "the corrections")?;
        if predictions.shape() != corrections.shape() {
            let expected = format!("{:?}", predictions.shape());
            return Err(AccelError::shape(CALL, "the corrections", expected, corrections.shape()));
        }
        match (predictions.elements(), corrections.elements()) {
            (TypedElements::Single(a), TypedElements::Single(b)) => Ok(GpuTensor::new(q, q.add(&**a, &**b)?)),
            (TypedElements::Half(a), TypedElements::Half(b)) => Ok(GpuTensor::of_half(q, q.add(&**a, &**b)?)),
            _ => {
                let (expected, got) = (predictions.dtype(), corrections.dtype());
                Err(AccelError::Elements { call: CALL, tensor: "the corrections", expected, got })
            }
        }
    }

    /// Runs the four calls in one sequence, which is one recording on a device.
    ///
    /// The trainings are encoded and predicted for `steps` steps. `residuals` of earlier
    /// predictions are compressed to `rank`, reconstructed and added to the predictions. They are
    /// `[batch, steps, output]`, or the same as a matrix of `batch * steps` rows. Everything in
    /// between is f32; the results have the types and, in f32, the bits of the four calls.
    ///
    /// Waits for the device, as [`compress_residuals`](Self::compress_residuals).
    ///
    /// # Errors
    /// As the four calls.
    pub fn cycle(
        &self,
        states: &[TrainingState],
        residuals: &GpuTensor,
        steps: usize,
        rank: usize,
    ) -> Result<Cycle, AccelError> {
        const CALL: &str = "cycle";
        // All arguments are checked before anything is sent.
        refuse_empty(CALL, "the trainings", states.len())?;
        refuse_no_step(steps)?;
        residuals.on(&self.queue, CALL, "the residuals")?;
        let (batch, output) = (states.len(), self.config.encode.output_dim);
        let rows = batch.checked_mul(steps).ok_or(NnError::Overflow { op: CALL })?;
        if residuals.shape() != [batch, steps, output] && residuals.shape() != [rows, output] {
            let expected = format!("[{batch}, {steps}, {output}] or [{rows}, {output}]");
            return Err(AccelError::shape(CALL, "the residuals", expected, residuals.shape()));
        }
        let wide = residuals.widened()?;
        // One recording for all four calls.
        let (q, weights) = (&self.queue, &*self.weights);
        let mut recordings = self.recordings();
        let stage = recordings.cycle.run(
            q,
            &[batch, steps, rank],
            |q| CycleStage::new(q, &self.config, weights, [batch, steps, rank]),
            |q, stage| {
                stage.encode.load(q, states)?;
                stage.predict.load_losses(q, &vec![0.0; batch])?;
                stage.compress.load(q, &wide)
            },
            |q, stage| stage.run(q, weights),
        )?;
        Ok(Cycle {
            encoded: self.result(copied(q, &stage.encode.codes)?)?,
            predicted: self.result(copied(q, &stage.predict.predicted)?)?,
            compressed: self.compressed(&stage.compress)?,
            corrected: self.result(copied(q, &stage.corrected)?)?,
        })
    }

    /// An accelerator with the same weights on a second stream of the device.
    ///
    /// Its work may overlap with the work of `self`; tensors of both may be mixed freely.
    ///
    /// # Errors
    /// [`AccelError::Ops`] if the device cannot create a stream.
    pub fn fork(&self) -> Result<Self, AccelError>
    where
        B: Clone,
    {
        Ok(Self {
            backend: self.backend.clone(),
            queue: self.queue.fork()?,
            device_info: self.device_info.clone(),
            config: self.config.clone(),
            weights: Arc::clone(&self.weights),
            recordings: Mutex::new(Recordings::new(self.config.shapes)),
        })
    }

    /// Waits for all work of this accelerator.
    ///
    /// # Errors
    /// [`AccelError::Ops`] with the fault of a call that failed.
    pub fn synchronize(&self) -> Result<(), AccelError> {
        Ok(self.queue.finish()?)
    }

    /// Memory of the device that this accelerator, its forks and their tensors use.
    #[must_use]
    pub fn memory_usage(&self) -> MemoryUsage {
        let budget = self.queue.budget();
        let allocated = budget.live_bytes();
        MemoryUsage {
            allocated: bytes(allocated),
            pool_size: bytes(pool_bytes(&self.queue).unwrap_or(allocated)),
            peak_usage: bytes(budget.peak_bytes()),
        }
    }

    fn recordings(&self) -> MutexGuard<'_, Recordings> {
        // A call that panicked has dropped its entry.
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A result in the type of the configuration.
    fn result(&self, tensor: Tensor<AnyQueue, f32>) -> Result<GpuTensor, AccelError> {
        let tensor = GpuTensor::new(&self.queue, tensor);
        if self.config.precision == DType::F16 { tensor.to_f16() } else { Ok(tensor) }
    }

    /// The factors that a stage has computed.
    fn compressed(&self, stage: &CompressStage) -> Result<CompressedGpuTensor, AccelError> {
        let factors = stage.factors(&self.queue)?.map(|factor| GpuTensor::new(&self.queue, factor));
        Ok(CompressedGpuTensor::new(factors, stage.rank()))
    }

    /// The rows of each tensor of codes.
    fn rows_of(&self, call: &'static str, encoded: &[GpuTensor]) -> Result<Vec<usize>, AccelError> {
        const WHAT: &str = "an encoded state";
        let output = self.config.encode.output_dim;
        let rows = |tensor: &GpuTensor| {
            tensor.on(&self.queue, call, WHAT)?;
            match *tensor.shape() {
                [width] if width == output => Ok(1),
                [rows, width] if width == output => Ok(rows),
                _ => Err(AccelError::shape(call, WHAT, format!("[{output}] or [rows, {output}]"), tensor.shape())),
            }
        };
        encoded.iter().map(rows).collect()
    }

    /// Runs a prediction and reads its results.
    fn predicted<R>(
        &self,
        call: &'static str,
        encoded: &[GpuTensor],
        losses: &[f32],
        steps: usize,
        read: impl FnOnce(&PredictStage) -> Result<R, AccelError>,
    ) -> Result<R, AccelError> {
        // All arguments are checked before anything is sent.
        let batch = self.rows_of(call, encoded)?.iter().sum::<usize>();
        refuse_empty(call, "the rows of all codes", batch)?;
        refuse_no_step(steps)?;
        if losses.len() != batch {
            return Err(AccelError::shape(call, "the losses", format!("[{batch}]"), &[losses.len()]));
        }
        // The recording of this shape.
        let wide = encoded.iter().map(GpuTensor::widened).collect::<Result<Vec<_>, _>>()?;
        let (q, weights) = (&self.queue, &*self.weights);
        let mut recordings = self.recordings();
        let stage = recordings.predict.run(
            q,
            &[batch, steps],
            |q| PredictStage::new(q, &self.config, weights, [batch, steps]),
            |q, stage| stage.load(q, wide.iter().map(|tensor| &**tensor), losses),
            |q, stage| stage.run(q, weights),
        )?;
        read(&*stage)
    }

    /// The predicted codes of each tensor.
    fn split(&self, stage: &PredictStage, encoded: &[GpuTensor]) -> Result<Vec<GpuTensor>, AccelError> {
        let (mut first, mut parts) = (0, Vec::with_capacity(encoded.len()));
        for tensor in encoded {
            let (fresh, next) = stage.part(&self.queue, first, tensor.shape())?;
            first = next;
            parts.push(self.result(fresh)?);
        }
        Ok(parts)
    }
}

/// Refuses a list without elements.
fn refuse_empty(call: &'static str, what: &'static str, len: usize) -> Result<(), AccelError> {
    if len == 0 { Err(AccelError::shape(call, what, "[1 or more]", &[0])) } else { Ok(()) }
}

/// Refuses a prediction of nothing.
fn refuse_no_step(steps: usize) -> Result<(), AccelError> {
    if steps == 0 { Err(AccelError::config("steps", "1 or more", steps)) } else { Ok(()) }
}

impl<B: GpuBackend> fmt::Debug for GpuAccelerator<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuAccelerator")
            .field("backend", &self.backend.name())
            .field("device_info", &self.device_info)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
