//! The trait of the operators that return their result.

use std::collections::BTreeMap;

use backend_api::{Queue, Real};

use super::nested::Nested;
use crate::{
    Activation, Binary, Reduction, StridedElement,
    attention::AttentionOptions,
    elementwise::{DropoutSite, Map},
    error::Result,
    io::weights::Tensors,
    movement::Overflow,
    rows::Mask,
    tensor::{Operand, Tensor, TensorRef},
};

/// A normalised tensor, and the statistics of its rows.
pub type Normed<Q, T> = (Tensor<Q, T>, Tensor<Q, f32>);

/// A sum, its normalised rows, and their statistics.
pub type NormedSum<Q, T> = (Tensor<Q, T>, Tensor<Q, T>, Tensor<Q, f32>);

/// The result of an attention, and the logarithms of its sums.
pub type Attended<Q, T> = (Tensor<Q, T>, Tensor<Q, f32>);

/// The loss of each row of logits, and the gradient of the logits.
pub type RowLosses<Q, T> = (Tensor<Q, f32>, Tensor<Q, T>);

/// Operators on operands of any layout that return a new row-major tensor, or write to one.
///
/// An operand is a [`Tensor`] or a view of one ([`TensorRef`]): transposed, permuted, sliced or
/// broadcast. If the op does not read its layout, a packed copy is made on the device first; the
/// result has the same bits either way. Results and copies are allocations of the queue, which
/// keeps freed blocks; a plan writes its results to memory of the caller.
///
/// Every queue with the op sets has these methods. Some op sets have methods of the same names:
/// code that is generic over the queue takes `Q: Functional`, or calls
/// `Functional::softmax(q, &x, 1)`.
///
/// ```
/// use nn_ops::{Activation, Functional};
///
/// let q = runtime::cpu()?;
/// let x = q.tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
/// let w = q.tensor([[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]])?; // [outputs, inputs]
/// let y = q.linear(&x, &w.transposed()?, None, Activation::Identity)?;
/// assert_eq!(y.values(&q)?, [1.0, 2.0, 3.0, 3.0, 4.0, 7.0]);
/// let p = q.softmax(&y.transposed()?, 1)?;
/// assert_eq!(p.layout().shape(), [3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All methods: errors of the plans named, before the op runs (operands may have been packed by
/// then), and [`NnError::Backend`](crate::NnError::Backend) from the device and for memory.
pub trait Functional: Queue {
    /// A tensor of the values of an array of arrays, or of one number.
    ///
    /// # Errors
    /// As [`Tensor::from_values`].
    fn tensor<N: Nested>(&self, values: N) -> Result<Tensor<Self, N::Element>>;

    /// The tensors of a file on the device, by name.
    ///
    /// # Errors
    /// [`NnError::NamedTensor`](crate::NnError::NamedTensor) with the error of
    /// [`Tensor::from_values`].
    fn named_tensors(&self, file: &Tensors) -> Result<BTreeMap<String, Tensor<Self, f32>>>;

    /// A tensor of `shape` with `value` everywhere, rounded to `T`.
    ///
    /// # Errors
    /// As [`Tensor::alloc`].
    fn filled<T: Real>(&self, shape: &[usize], value: f32) -> Result<Tensor<Self, T>>;

    /// A row-major copy, of floats, booleans, u32 or u64.
    ///
    /// # Errors
    /// As [`copy`](crate::copy).
    fn packed<T: StridedElement>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>>;

    /// `f(x)`.
    ///
    /// # Errors
    /// As [`activate`](crate::activate).
    fn activate<T: Real>(&self, f: Activation, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>>;

    /// The gradient of [`activate`](Self::activate), `g f'(x)`.
    ///
    /// `saved` is the result for functions with [`Activation::saves_output`] and x for the others.
    ///
    /// # Errors
    /// As [`activate_backward`](crate::activate_backward).
    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>>;

    /// `f(x)` for another function.
    ///
    /// # Errors
    /// As [`map`](crate::map).
    fn map<T: Real>(&self, f: Map, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>>;

    /// `a op b`, both broadcast to their common shape by the rules of NumPy.
    ///
    /// The op reads both as they lie, without copies.
    ///
    /// # Errors
    /// [`NnError::Broadcast`](crate::NnError::Broadcast) if there is no common shape; otherwise as
    /// [`binary`](crate::binary).
    fn binary<T: Real>(
        &self,
        op: Binary,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>>;

    /// `x op value`, with `value` rounded to `T`, in one pass over x.
    ///
    /// # Errors
    /// As [`binary_scalar`](crate::binary_scalar).
    fn binary_scalar<T: Real>(&self, op: Binary, x: &impl Operand<Self, T>, value: f32) -> Result<Tensor<Self, T>>;

    /// `a + b`; see [`binary`](Self::binary).
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    fn add<T: Real>(&self, a: &impl Operand<Self, T>, b: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        self.binary(Binary::Add, a, b)
    }

    /// `a - b`; see [`binary`](Self::binary).
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    fn sub<T: Real>(&self, a: &impl Operand<Self, T>, b: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        self.binary(Binary::Sub, a, b)
    }

    /// `a b`; see [`binary`](Self::binary).
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    fn mul<T: Real>(&self, a: &impl Operand<Self, T>, b: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        self.binary(Binary::Mul, a, b)
    }

    /// `a / b`; see [`binary`](Self::binary).
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    fn div<T: Real>(&self, a: &impl Operand<Self, T>, b: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        self.binary(Binary::Div, a, b)
    }

    /// `alpha x`, with `alpha` in f32 and one rounding.
    ///
    /// # Errors
    /// As [`axpby`](crate::axpby).
    fn scaled<T: Real>(&self, x: &impl Operand<Self, T>, alpha: f32) -> Result<Tensor<Self, T>>;

    /// x without the elements that the mask of a site and a step drops.
    ///
    /// The mask is indexed as the row-major copy is. The same call on the gradient is the
    /// backward pass.
    ///
    /// # Errors
    /// As [`ElementwisePlan::dropout`](crate::ElementwisePlan::dropout).
    fn dropout<T: Real>(&self, x: &impl Operand<Self, T>, at: DropoutSite, step: u32) -> Result<Tensor<Self, T>>;

    /// [`dropout`](Self::dropout) with the results in x.
    ///
    /// # Errors
    /// As [`ElementwisePlan::dropout_in_place`](crate::ElementwisePlan::dropout_in_place).
    fn dropout_in_place<T: Real>(&self, x: &mut Tensor<Self, T>, at: DropoutSite, step: u32) -> Result<()>;

    /// a where `mask` is true and b where it is not.
    ///
    /// a and b are broadcast to the shape of the mask.
    ///
    /// # Errors
    /// [`NnError::Broadcast`](crate::NnError::Broadcast) if a or b does not broadcast; otherwise as
    /// [`select`](crate::select).
    fn select<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>>;

    /// a stays where `mask` is true and becomes b where it is not.
    ///
    /// b is broadcast to the shape of the mask, which is the shape of a.
    ///
    /// # Errors
    /// [`NnError::Broadcast`](crate::NnError::Broadcast) if b does not broadcast; otherwise as
    /// [`select_in_place`](crate::select_in_place).
    fn select_in_place<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &mut Tensor<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<()>;

    /// Softmax along `axis`.
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn softmax<T: Real>(&self, x: &impl Operand<Self, T>, axis: usize) -> Result<Tensor<Self, T>> {
        self.masked_softmax(x, axis, Mask::None)
    }

    /// Softmax along `axis` of the elements that the mask keeps.
    ///
    /// A mask of addends or booleans is broadcast to the shape of x.
    ///
    /// # Errors
    /// As [`SoftmaxPlan::softmax`](crate::SoftmaxPlan::softmax).
    fn masked_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>>;

    /// [`softmax`](Self::softmax) with the results in x.
    ///
    /// ```
    /// use nn_ops::Functional;
    ///
    /// let q = runtime::cpu()?;
    /// let mut x = q.tensor([[1.0f32, 1.0], [2.0, 2.0]])?;
    /// q.softmax_in_place(&mut x, 1)?;
    /// assert_eq!(x.values(&q)?, [0.5; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn softmax_in_place<T: Real>(&self, x: &mut Tensor<Self, T>, axis: usize) -> Result<()> {
        self.masked_softmax_in_place(x, axis, Mask::None)
    }

    /// [`masked_softmax`](Self::masked_softmax) with the results in x.
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn masked_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<()>;

    /// The logarithm of [`softmax`](Self::softmax).
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn log_softmax<T: Real>(&self, x: &impl Operand<Self, T>, axis: usize) -> Result<Tensor<Self, T>> {
        self.masked_log_softmax(x, axis, Mask::None)
    }

    /// The logarithm of [`masked_softmax`](Self::masked_softmax).
    ///
    /// # Errors
    /// As [`SoftmaxPlan::log_softmax`](crate::SoftmaxPlan::log_softmax).
    fn masked_log_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>>;

    /// [`log_softmax`](Self::log_softmax) with the results in x.
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn log_softmax_in_place<T: Real>(&self, x: &mut Tensor<Self, T>, axis: usize) -> Result<()> {
        self.masked_log_softmax_in_place(x, axis, Mask::None)
    }

    /// [`masked_log_softmax`](Self::masked_log_softmax) with the results in x.
    ///
    /// # Errors
    /// As [`masked_softmax`](Self::masked_softmax).
    fn masked_log_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<()>;

    /// The gradient of [`softmax`](Self::softmax), masked or not, from its result y.
    ///
    /// # Errors
    /// As [`SoftmaxPlan::softmax_backward`](crate::SoftmaxPlan::softmax_backward).
    fn softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>>;

    /// The gradient of [`log_softmax`](Self::log_softmax), masked or not, from its result y.
    ///
    /// # Errors
    /// As [`SoftmaxPlan::log_softmax_backward`](crate::SoftmaxPlan::log_softmax_backward).
    fn log_softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>>;

    /// Layer norm along the last axis, and its statistics, `[2, rows]`.
    ///
    /// # Errors
    /// As [`NormPlan::layer_norm`](crate::NormPlan::layer_norm).
    fn layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>>;

    /// [`layer_norm`](Self::layer_norm) with the results in x, for inference.
    ///
    /// The gradients need x, which is overwritten, and the statistics, which are not kept.
    ///
    /// # Errors
    /// As [`NormPlan::layer_norm_in_place`](crate::NormPlan::layer_norm_in_place).
    fn layer_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<()>;

    /// The sum `x + r` and its [`layer_norm`](Self::layer_norm), and the statistics, `[2, rows]`.
    ///
    /// # Errors
    /// As [`NormPlan::add_layer_norm`](crate::NormPlan::add_layer_norm).
    fn add_layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        r: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<NormedSum<Self, T>>;

    /// The gradients of [`layer_norm`](Self::layer_norm) with respect to x, gamma and beta.
    ///
    /// # Errors
    /// As [`NormPlan::layer_norm_backward`](crate::NormPlan::layer_norm_backward).
    fn layer_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]>;

    /// RMS norm along the last axis, and its statistics, `[rows]`.
    ///
    /// # Errors
    /// As [`NormPlan::rms_norm`](crate::NormPlan::rms_norm).
    fn rms_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>>;

    /// [`rms_norm`](Self::rms_norm) with the results in x, for inference.
    ///
    /// It has no gradients, like [`layer_norm_in_place`](Self::layer_norm_in_place).
    ///
    /// # Errors
    /// As [`NormPlan::rms_norm_in_place`](crate::NormPlan::rms_norm_in_place).
    fn rms_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<()>;

    /// The gradients of [`rms_norm`](Self::rms_norm) with respect to x and gamma.
    ///
    /// # Errors
    /// As [`NormPlan::rms_norm_backward`](crate::NormPlan::rms_norm_backward).
    fn rms_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 2]>;

    /// The reduction of x over `axes`, without them.
    ///
    /// # Errors
    /// As [`reduce`](crate::reduce).
    fn reduce<T: Real>(
        &self,
        reduction: Reduction,
        x: &impl Operand<Self, T>,
        axes: &[usize],
    ) -> Result<Tensor<Self, T>>;

    /// Where x is greatest along `axis`, without that axis.
    ///
    /// # Errors
    /// As [`arg_max`](crate::arg_max).
    fn arg_max<T: Real>(&self, x: &impl Operand<Self, T>, axis: usize) -> Result<Tensor<Self, u32>>;

    /// The losses of the rows of logits, and the gradient of the logits times `scale`.
    ///
    /// Targets are class numbers, `[rows]`.
    ///
    /// # Errors
    /// As [`cross_entropy`](crate::cross_entropy).
    fn cross_entropy<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        targets: &impl Operand<Self, u32>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>>;

    /// [`cross_entropy`](Self::cross_entropy) against probabilities, `[rows, classes]`.
    ///
    /// # Errors
    /// As [`cross_entropy_probs`](crate::cross_entropy_probs).
    fn cross_entropy_probs<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        probs: &impl Operand<Self, T>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>>;

    /// `a b`, whose leading axes broadcast.
    ///
    /// A factor is copied if neither its rows nor its columns are contiguous.
    ///
    /// # Errors
    /// As [`matmul`](crate::matmul).
    fn matmul<T: Real>(&self, a: &impl Operand<Self, T>, b: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        self.matmul_scaled(a, b, 1.0)
    }

    /// `alpha a b`, in the pass of the product.
    ///
    /// See [`GemmPlan::with_alpha`](crate::GemmPlan::with_alpha).
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn matmul_scaled<T: Real>(
        &self,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
        alpha: f32,
    ) -> Result<Tensor<Self, T>>;

    /// `f(x w + bias)` in one pass, for x `[.., k]` of two axes or more and w `[k, n]`.
    ///
    /// # Errors
    /// As [`linear`](crate::linear).
    fn linear<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        w: &impl Operand<Self, T>,
        bias: Option<TensorRef<'_, Self, T>>,
        f: Activation,
    ) -> Result<Tensor<Self, T>>;

    /// The gradients of `x w + bias` with respect to x, w and the bias.
    ///
    /// g is the gradient of the result; for another function than the identity,
    /// [`activate_backward`](Self::activate_backward) computes it.
    ///
    /// # Errors
    /// As [`LinearBackwardPlan`](crate::LinearBackwardPlan).
    fn linear_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        w: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]>;

    /// Attention of queries `[batch, queries, heads, dim]` to keys and values.
    ///
    /// Keys and values are `[batch, keys, kv_heads, dim]`. The result has the shape of the queries;
    /// the logarithms of the sums, `[batch, heads, queries]`, are for the gradients. An operand is
    /// copied if its last axis does not have unit stride. Masks, lengths of keys and dropout need
    /// an [`AttentionPlan`](crate::AttentionPlan).
    ///
    /// # Errors
    /// [`NnError::Rank`](crate::NnError::Rank) for queries or keys without four axes,
    /// [`NnError::Parameter`](crate::NnError::Parameter) for options with dropout; otherwise as
    /// [`AttentionPlan::new`](crate::AttentionPlan::new) and
    /// [`AttentionPlan::forward`](crate::AttentionPlan::forward).
    fn attention<T: Real>(
        &self,
        q: &impl Operand<Self, T>,
        k: &impl Operand<Self, T>,
        v: &impl Operand<Self, T>,
        options: AttentionOptions,
    ) -> Result<Attended<Self, T>>;

    /// The gradients of [`attention`](Self::attention) with respect to q, k and v.
    ///
    /// `saved` is its result, and g the gradient of the first part. Operands that are not row-major
    /// are copied, since gradients have the strides of their operands.
    ///
    /// # Errors
    /// As [`attention`](Self::attention) and
    /// [`AttentionPlan::backward`](crate::AttentionPlan::backward).
    fn attention_backward<T: Real>(
        &self,
        q: &impl Operand<Self, T>,
        k: &impl Operand<Self, T>,
        v: &impl Operand<Self, T>,
        options: AttentionOptions,
        saved: &Attended<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]>;

    /// The rows of a table `[rows, ..]` that `indices` name.
    ///
    /// [`Indices`](crate::Indices) are uploaded once for many tables, and have the gradient.
    ///
    /// # Errors
    /// As [`Indices::new`](crate::Indices::new) and [`Indices::gather`](crate::Indices::gather).
    fn gather<T: Real>(&self, table: &impl Operand<Self, T>, indices: &[u32]) -> Result<Tensor<Self, T>>;

    /// The parts, of floats, booleans or u32, one after the other along `axis`.
    ///
    /// # Errors
    /// As [`concat`](crate::concat).
    fn concat<T: StridedElement>(&self, axis: usize, parts: &[TensorRef<'_, Self, T>]) -> Result<Tensor<Self, T>>;

    /// x in f32, exactly.
    ///
    /// # Errors
    /// As [`widen`](crate::widen).
    fn widen<T: Real>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, f32>>;

    /// x rounded to `T`.
    ///
    /// # Errors
    /// As [`narrow`](crate::narrow).
    fn narrow<T: Real>(&self, x: &impl Operand<Self, f32>, overflow: Overflow) -> Result<Tensor<Self, T>>;
}
