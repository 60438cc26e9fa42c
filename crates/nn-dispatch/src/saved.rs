//! Saved results: the state that a backward pass takes from its forward pass.

use core::fmt;
use std::sync::Arc;

use nn_ops::{Activation, Indices, Layout};
use runtime::{AnyBuf, AnyQueue};

use crate::{error::DispatchError, product::Product, tag::Tag};

/// A copy that stayed on a device; `None` on the CPU, where nothing is copied.
pub(crate) type SavedBuf = Option<Arc<AnyBuf<f32>>>;

/// The saved result of a forward pass.
///
/// It has the pass's shapes and [`Tag`], the statistics of a norm or the gradient of a loss, and on
/// a device the copies of operands and results that the backward pass reads again. On the CPU the
/// backward pass reads those from the slices of its call.
pub struct Saved {
    pub(crate) tag: Tag,
    /// The device of the forward pass, for transfers.
    pub(crate) queue: AnyQueue,
    pub(crate) pass: SavedPass,
}

/// The forward passes with a backward pass.
pub(crate) enum SavedPass {
    Matmul { product: Product, a: SavedBuf, b: SavedBuf },
    Linear { shape: [usize; 3], x: SavedBuf, w: SavedBuf },
    Softmax { is_log: bool, layout: Layout, dim: usize, y: SavedBuf },
    LayerNorm { shape: [usize; 2], eps: f32, x: SavedBuf, has_gamma: bool, gamma: SavedBuf, stats: Arc<AnyBuf<f32>> },
    Activation { f: Activation, len: usize, x: SavedBuf },
    Embedding { shape: [usize; 2], indices: Vec<u32>, placed: Indices<AnyQueue> },
    CrossEntropy { len: usize, gradient: Arc<AnyBuf<f32>> },
}

impl Saved {
    /// Where and in which precision the forward pass ran.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Name of the forward pass.
    fn op(&self) -> &'static str {
        match &self.pass {
            SavedPass::Matmul { .. } => "matmul",
            SavedPass::Linear { .. } => "linear",
            SavedPass::Softmax { is_log: false, .. } => "softmax",
            SavedPass::Softmax { is_log: true, .. } => "log_softmax",
            SavedPass::LayerNorm { .. } => "layer_norm",
            SavedPass::Activation { f: Activation::Relu, .. } => "relu",
            SavedPass::Activation { .. } => "gelu",
            SavedPass::Embedding { .. } => "embedding",
            SavedPass::CrossEntropy { .. } => "cross_entropy",
        }
    }

    /// The refusal by `op`, which belongs to the forward pass `expected`.
    pub(crate) fn refused(&self, op: &'static str, expected: &'static str) -> DispatchError {
        DispatchError::OtherPass { op, expected, got: self.op() }
    }
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saved").field("op", &self.op()).field("tag", &self.tag).finish_non_exhaustive()
    }
}
