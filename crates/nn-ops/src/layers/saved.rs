//! The state that a layer's forward pass saves for its backward pass.

use backend_api::{BackendError, BackendKind, Queue};

use super::mode::Mode;
use crate::{
    error::{NnError, Result},
    tensor::Tensor,
};

/// The saved state of a layer's forward pass, which its backward pass takes by value.
///
/// It owns the values that the backward pass needs in addition to the operands of the forward pass,
/// and the kind of device that they are on.
pub struct Saved<Q: Queue> {
    device: BackendKind,
    state: State<Q>,
}

/// The saved values, by kind of layer.
pub(super) enum State<Q: Queue> {
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
    Attention(Box<AttentionState<Q>>),
    /// Values of all steps of a recurrent unit, `[5, 1, steps, batch, hidden]`.
    Gru(Tensor<Q, f32>),
    /// The inputs of all layers but the first, and the state of each.
    Sequence { inputs: Vec<Tensor<Q, f32>>, layers: Vec<Saved<Q>> },
}

/// The saved values of an attention layer.
pub(super) struct AttentionState<Q: Queue> {
    /// Queries, keys and values, `[batch, rows, 3 width]`.
    pub(super) qkv: Tensor<Q, f32>,
    /// The attention's result, `[batch, rows, width]`.
    pub(super) mixed: Tensor<Q, f32>,
    /// The logarithms of the sums of exponentials, `[batch, heads, rows]`.
    pub(super) lse: Tensor<Q, f32>,
    /// The training step whose mask a dropout applied.
    pub(super) step: u32,
}

impl<Q: Queue> Saved<Q> {
    /// The state of a pass on `q`; nothing in [`Mode::Inference`].
    pub(super) fn new(q: &Q, mode: Mode, state: State<Q>) -> Self {
        let state = if mode.is_training() { state } else { State::Inference };
        Self { device: q.caps().kind, state }
    }

    /// The state, for a backward pass `op` on `q`.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] if the forward pass ran on another kind of device,
    /// [`NnError::NoGradient`] if it was in [`Mode::Inference`].
    pub(super) fn open(self, q: &Q, op: &'static str) -> Result<State<Q>> {
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

debug_fields!(Saved<Q: Queue> device);
