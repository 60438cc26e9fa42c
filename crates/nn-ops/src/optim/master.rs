//! The weights of mixed precision: a model in f32, and the rounded copy that layers read.

use backend_api::Queue;

use super::{
    arena::ParameterArena,
    optimizer::Optimizer,
    precision::{Precision, layer_copy, layer_copy_mut, layer_weights},
};
use crate::{OptimOps, TensorOps, error::Result};

/// Weights in f32, and the copy of them in `T` that layers read.
///
/// Micikevicius et al., "Mixed Precision Training", 2018, section 3.1; PyTorch's `autocast` casts
/// in each pass instead. With f32 there is no copy: layers read the weights.
///
/// ```
/// use backend_api::Queue as _;
/// use half::bf16;
/// use nn_ops::{
///     Dense, MasterWeights, Mode, Optimizer, OptimizerConfig, ParameterArena, ParameterTable, Parameters as _, Tape,
///     Tensor, io::Checkpoint,
/// };
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&Dense::specs("layer", [2, 2]))?;
/// let layer = Dense::find(&table, "layer")?;
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// layer.initialize(&q, &mut values, 42)?;
/// let mut weights = MasterWeights::<_, bf16>::new(&q, values)?;
/// let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.1), &table)?;
/// let x = Tensor::from_values(&q, &[2, 2], &[0.0, 1.0, 1.0, 0.0].map(bf16::from_f32))?;
/// let (targets, mut losses) = (Tensor::from_values(&q, &[2], &[0u32, 1])?, Vec::new());
/// for step in 0..50 {
///     let mut tape = Tape::new(&q, weights.layers(), Mode::Training { step }); // values in bf16
///     let input = tape.input(x.at());
///     let logits = tape.layer(layer, input)?;
///     let loss = tape.cross_entropy(logits, targets.at())?; // in f32
///     losses.extend(tape.values(loss)?);
///     q.clear(gradients.view_mut())?; // a backward pass adds to the gradients
///     tape.backward_scaled(loss, &optimizer, &mut gradients)?; // with the loss scale, if there is one
///     weights.step(&q, &mut optimizer, &gradients)?;
/// }
/// assert!(losses[49] < 0.1);
///
/// // Saved, and resumed with the same bits.
/// let mut checkpoint = Checkpoint::default();
/// weights.values().export(&q, "", &mut checkpoint.tensors)?;
/// optimizer.save(&q, &mut checkpoint)?;
/// let mut values = ParameterArena::zeros(&q, &table)?;
/// values.import(&q, "", &checkpoint.tensors, table.ids())?;
/// let resumed = (MasterWeights::<_, bf16>::new(&q, values)?, Optimizer::resume(&q, &table, &checkpoint)?);
/// # let bias = layer.bias();
/// # assert_eq!(resumed.0.layers().values(&q, bias)?, weights.layers().values(&q, bias)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MasterWeights<Q: Queue, T: Precision = f32> {
    values: ParameterArena<Q, f32>,
    /// Empty for f32.
    copy: ParameterArena<Q, T>,
}

impl<Q: Queue, T: Precision> MasterWeights<Q, T> {
    /// The weights that layers read, in `T`.
    #[must_use]
    pub fn layers(&self) -> &ParameterArena<Q, T> {
        layer_weights(&self.values, &self.copy)
    }

    /// The weights in f32, for example for a checkpoint.
    #[must_use]
    pub fn values(&self) -> &ParameterArena<Q, f32> {
        &self.values
    }

    /// The weights in f32, without the copy.
    ///
    /// To load other weights, take these, [`import`](ParameterArena::import) into them and make the
    /// copy again by [`new`](Self::new).
    #[must_use]
    pub fn into_values(self) -> ParameterArena<Q, f32> {
        self.values
    }
}

impl<Q: TensorOps, T: Precision> MasterWeights<Q, T> {
    /// Rounds `values` to `T` for the layers.
    ///
    /// Waits for the device if `T` has 16 bits.
    ///
    /// # Errors
    /// [`NnError::Range`](crate::NnError::Range) for weights beyond the range of `T`,
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    pub fn new(q: &Q, values: ParameterArena<Q, f32>) -> Result<Self> {
        let copy = layer_copy(q, &values)?;
        Ok(Self { values, copy })
    }
}

impl<Q: OptimOps, T: Precision> MasterWeights<Q, T> {
    /// Takes a step of `optimizer` along gradients, which are divided by its loss scale.
    ///
    /// The step writes the copy too. A weight that leaves the range of `T` becomes infinite in the
    /// copy. The step waits for nothing, so it can be recorded.
    ///
    /// # Errors
    /// As [`Optimizer::step`].
    pub fn step(&mut self, q: &Q, optimizer: &mut Optimizer<Q>, gradients: &ParameterArena<Q, f32>) -> Result<()> {
        let weights = self.values.view_mut();
        match layer_copy_mut(&mut self.copy) {
            None => optimizer.step(q, gradients.view(), weights, None),
            Some(copy) => optimizer.step_wide(q, gradients.view(), weights, copy),
        }
    }
}

debug_fields!(MasterWeights<Q: Queue, T: Precision> values);
