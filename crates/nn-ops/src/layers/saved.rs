//! The state that a layer's forward pass saves for its backward pass.

use backend_api::{BackendError, BackendKind, Queue, Real};

use super::mode::Mode;
use crate::{
    error::{NnError, Result},
    tensor::Tensor,
};

/// The saved state of a layer's forward pass, which its backward pass takes by value.
///
/// It owns the values that the backward pass needs in addition to the operands of the forward pass,
/// and the kind of device that they are on.
pub struct Saved<Q: Queue, T: Real = f32> {
    device: BackendKind,
    state: State<Q, T>,
}

/// The saved values, by kind of layer.
pub(super) enum State<Q: Queue, T: Real> {
    /// A forward pass in [`Mode::Inference`] has saved nothing.
    Inference,
    /// A dense layer needs its operands only.
    Dense,
    /// An activation needs its operands only.
    Activation,
    /// The statistics of a layer norm's rows, `[2, rows]`.
    LayerNorm(Tensor<Q, f32>),
    /// The statistics of an RMS norm's rows, `[rows]`.
    RmsNorm(Tensor<Q, f32>),
    /// The training step whose mask a dropout applied.
    Dropout { step: u32 },
    /// See [`AttentionState`].
    Attention(Box<AttentionState<Q, T>>),
    /// Values of all steps of a recurrent unit, `[5, 1, steps, batch, hidden]`.
    Gru(Tensor<Q, f32>),
    /// The inputs of all layers but the first, and the state of each.
    Sequence { inputs: Vec<Tensor<Q, T>>, layers: Vec<Saved<Q, T>> },
}

/// The saved values of an attention layer.
pub(super) struct AttentionState<Q: Queue, T: Real> {
    /// Queries, keys and values, `[batch, rows, 3 width]`.
    pub(super) qkv: Tensor<Q, T>,
    /// The attention's result, `[batch, rows, width]`.
    pub(super) mixed: Tensor<Q, T>,
    /// The logarithms of the sums of exponentials, `[batch, heads, rows]`.
    pub(super) lse: Tensor<Q, f32>,
    /// The training step whose mask a dropout applied.
    pub(super) step: u32,
}

impl<Q: Queue, T: Real> Saved<Q, T> {
    /// The state of a pass on `q`; nothing in [`Mode::Inference`].
    pub(super) fn new(q: &Q, mode: Mode, state: State<Q, T>) -> Self {
        let state = if mode.is_training() { state } else { State::Inference };
        Self { device: q.caps().kind, state }
    }

    /// The state, for a backward pass `op` on `q`.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] if the forward pass ran on another kind of device,
    /// [`NnError::NoGradient`] if it was in [`Mode::Inference`].
    pub(super) fn open(self, q: &Q, op: &'static str) -> Result<State<Q, T>> {
        if self.device != q.caps().kind {
            return Err(BackendError::MixedBackend { op }.into());
        }
        match self.state {
            State::Inference => Err(NnError::NoGradient { op, why: "the forward pass was in inference mode" }),
            state => Ok(state),
        }
    }
}

/// The refusal of the saved state of another kind of layer.
pub(super) fn other(op: &'static str) -> NnError {
    NnError::OtherPlan { op, what: "saved state" }
}

debug_fields!(Saved<Q: Queue, T: Real> device);
