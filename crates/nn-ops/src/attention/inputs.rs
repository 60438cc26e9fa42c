//! Shapes, options and operands of attention.

use backend_api::{Queue, Real};

use crate::{
    elementwise::DropoutSite,
    optim::Optimizer,
    tensor::{TensorMut, TensorRef},
};

/// The sizes of an attention.
///
/// Queries and results have the shape `[batch, queries, heads, dim]`, keys and values the shape
/// `[batch, keys, kv_heads, dim]`. Any size may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionShape {
    /// Batches.
    pub batch: usize,
    /// Heads of queries and results.
    pub heads: usize,
    /// Heads of keys and values, a divisor of `heads`.
    ///
    /// Head h of the queries reads head `h kv_heads / heads` of keys and values. `kv_heads = heads`
    /// is multi-head attention, 1 is multi-query attention, others are grouped-query attention.
    pub kv_heads: usize,
    /// Rows of queries and results in a head.
    pub queries: usize,
    /// Rows of keys and values in a head.
    pub keys: usize,
    /// Elements in a row, at most 128.
    pub dim: usize,
}

/// Scale, causal mask and dropout of an attention.
///
/// The default scales by `1 / sqrt(dim)` and has neither of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttentionOptions {
    /// Factor of the products of queries and keys; `1 / sqrt(dim)` if not given.
    pub scale: Option<f32>,
    /// The shift of a causal mask, if there is one.
    ///
    /// Query t reads keys `0..=t + shift`. With a cache of n earlier keys, the shift is n.
    pub causal: Option<i64>,
    /// Dropout of the weights after the softmax, if there is any.
    pub dropout: Option<DropoutSite>,
}

/// The keys that queries leave out, or numbers that are added to their scores.
///
/// A mask is broadcast to `[batch, heads, queries, keys]` by the rules of NumPy, so that
/// `[queries, keys]` serves all heads and `[batch, 1, 1, keys]` all queries of a batch. Keys have
/// unit stride.
pub enum AttentionMask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Keys with `false` are left out, whatever their values: NaN among them does not spread.
    Keep(TensorRef<'a, Q, bool>),
    /// Added to the scores; keys with -inf are left out.
    Additive(TensorRef<'a, Q, f32>),
}

impl<'a, Q: Queue + 'a> core::fmt::Debug for AttentionMask<'a, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Keep(keep) => f.debug_tuple("Keep").field(keep).finish(),
            Self::Additive(addend) => f.debug_tuple("Additive").field(addend).finish(),
        }
    }
}

/// The training step, on which the weights that dropout drops depend.
pub enum DropoutStep<'a, Q: Queue + 'a> {
    /// This step.
    At(u32),
    /// The number of steps that the optimizer has ended, read on the device.
    ///
    /// A recorded step of a training drops other weights in each replay. The backward pass comes
    /// before the optimizer's step.
    Training(&'a Optimizer<Q>),
}

impl<'a, Q: Queue + 'a> core::fmt::Debug for DropoutStep<'a, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::At(step) => f.debug_tuple("At").field(step).finish(),
            Self::Training(_) => f.write_str("Training(..)"),
        }
    }
}

/// The operands of an attention, the same in the forward and the backward pass.
///
/// The strides of batches, rows and heads are free: a row-major `[batch, heads, rows, dim]` tensor
/// is given with its axes permuted, and a packed projection as its parts. Elements of a row have
/// unit stride.
pub struct AttentionInputs<'a, Q: Queue + 'a, T: Real> {
    /// The queries, `[batch, queries, heads, dim]`.
    pub q: TensorRef<'a, Q, T>,
    /// The keys, `[batch, keys, kv_heads, dim]`.
    pub k: TensorRef<'a, Q, T>,
    /// The values, `[batch, keys, kv_heads, dim]`.
    pub v: TensorRef<'a, Q, T>,
    /// The keys that are left out, in addition to a causal mask.
    pub mask: AttentionMask<'a, Q>,
    /// The number of leading keys of each batch, `[batch]`; all keys if not given.
    ///
    /// A greater number counts as all.
    pub key_lens: Option<TensorRef<'a, Q, u32>>,
    /// The training step, for a plan with dropout.
    pub step: DropoutStep<'a, Q>,
}

impl<'a, Q: Queue + 'a, T: Real> AttentionInputs<'a, Q, T> {
    /// Queries, keys and values without a mask, at training step 0.
    #[must_use]
    pub fn new(q: TensorRef<'a, Q, T>, k: TensorRef<'a, Q, T>, v: TensorRef<'a, Q, T>) -> Self {
        Self { q, k, v, mask: AttentionMask::None, key_lens: None, step: DropoutStep::At(0) }
    }
}

impl<'a, Q: Queue + 'a, T: Real> core::fmt::Debug for AttentionInputs<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AttentionInputs")
            .field("q", &self.q)
            .field("k", &self.k)
            .field("v", &self.v)
            .field("mask", &self.mask)
            .field("key_lens", &self.key_lens)
            .field("step", &self.step)
            .finish()
    }
}

/// Results of the forward pass that the backward pass reads.
pub struct AttentionSaved<'a, Q: Queue + 'a, T: Real> {
    /// The result.
    pub y: TensorRef<'a, Q, T>,
    /// The logarithms of the sums, `[batch, heads, queries]`.
    pub lse: TensorRef<'a, Q, f32>,
}

impl<'a, Q: Queue + 'a, T: Real> core::fmt::Debug for AttentionSaved<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AttentionSaved").field("y", &self.y).field("lse", &self.lse).finish()
    }
}

copied_views!(AttentionMask<'a, Q: Queue>, DropoutStep<'a, Q: Queue>);
copied_views!(AttentionInputs<'a, Q: Queue, T: Real>, AttentionSaved<'a, Q: Queue, T: Real>);

/// Where the gradients of an attention go.
///
/// Each has the shape and the strides of the tensor whose gradient it is.
#[derive(Debug)]
pub struct AttentionGradients<'a, Q: Queue + 'a, T: Real> {
    /// The gradient of the queries.
    pub q: TensorMut<'a, Q, T>,
    /// The gradient of the keys.
    pub k: TensorMut<'a, Q, T>,
    /// The gradient of the values.
    pub v: TensorMut<'a, Q, T>,
}
