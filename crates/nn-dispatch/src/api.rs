//! The ops of RSI-ML on slices.

use crate::{
    adam::AdamState,
    args::{Affine, LayerNormGradients, LinearGradients, MatmulGradients, SoftmaxMask},
    error::Result,
    handle::Operand,
    product::Product,
    saved::Saved,
};

/// The ops of RSI-ML: slices and handles in, slices out.
///
/// Tensors are row-major f32. A result's previous contents do not matter, except for the tables,
/// gradients and weights that an op is documented to add to or update. A forward pass returns a
/// [`Saved`] for its backward pass. The backward pass takes the operands of the forward pass again,
/// with unchanged values: the CPU reads them, and a device reads the copies in [`Saved`].
///
/// # Errors
/// Every op returns [`DispatchError::Op`](crate::DispatchError::Op) for lengths that do not fit the
/// shape, numbers outside their domain, and failures of the device. Backward passes return
/// [`DispatchError::OtherPass`](crate::DispatchError::OtherPass) for the saved result of another
/// op, and [`DispatchError::Mixed`](crate::DispatchError::Mixed) for one of another device,
/// generation or precision. Lengths and tags are checked before any work.
///
/// After an error of a device with its own memory, no slice of the call has changed: all results
/// are copied to the host, or none. The CPU writes in place.
#[allow(clippy::upper_case_acronyms, reason = "the name that RSI-ML's plan gives it")]
pub trait TensorOpsAPI {
    /// `C = op(A) op(B)` for each product of a batch.
    ///
    /// [`Product`] has the shapes: `a` and `b` as they are stored, and `c` with `[m, n]` for each
    /// product.
    ///
    /// # Errors
    /// As the trait.
    fn matmul(&self, a: Operand<'_>, b: Operand<'_>, product: Product, c: &mut [f32]) -> Result<Saved>;

    /// The gradients of [`matmul`](Self::matmul) for `g`, the gradient of C, stored as C is.
    ///
    /// # Errors
    /// As the trait.
    fn matmul_backward(
        &self,
        saved: &Saved,
        a: Operand<'_>,
        b: Operand<'_>,
        g: Operand<'_>,
        gradients: MatmulGradients<'_>,
    ) -> Result<()>;

    /// `Y = X W + b` for X `[m, k]`, W `[k, n]` and b `[n]`, where `shape` is `[m, k, n]`.
    ///
    /// Y is `[m, n]`. Without `bias`, b is zero.
    ///
    /// # Errors
    /// As the trait.
    fn linear(
        &self,
        x: Operand<'_>,
        w: Operand<'_>,
        bias: Option<Operand<'_>>,
        shape: [usize; 3],
        y: &mut [f32],
    ) -> Result<Saved>;

    /// The gradients of [`linear`](Self::linear) for `g`, the gradient of Y, `[m, n]`.
    ///
    /// # Errors
    /// As the trait.
    fn linear_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        w: Operand<'_>,
        g: Operand<'_>,
        gradients: LinearGradients<'_>,
    ) -> Result<()>;

    /// `y_c = exp(x_c) / sum_j exp(x_j)` along axis `dim` of `shape`, the shape of x and y.
    ///
    /// # Errors
    /// As the trait.
    fn softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved>;

    /// The gradient of [`softmax`](Self::softmax), `dx = y (g - sum_j g_j y_j)`.
    ///
    /// `y` is the result of the forward pass.
    ///
    /// # Errors
    /// As the trait.
    fn softmax_backward(&self, saved: &Saved, y: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()>;

    /// `y_c = x_c - ln sum_j exp(x_j)` along axis `dim` of `shape`, the shape of x and y.
    ///
    /// # Errors
    /// As the trait.
    fn log_softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved>;

    /// The gradient of [`log_softmax`](Self::log_softmax), `dx = g - exp(y) sum_j g_j`.
    ///
    /// `y` is the result of the forward pass. Elements with y = -inf are constant: their dx is 0,
    /// and their g is left out of the sum.
    ///
    /// # Errors
    /// As the trait.
    fn log_softmax_backward(&self, saved: &Saved, y: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()>;

    /// `y = (x - mean) / sqrt(variance + eps) gamma + beta` for each row of `[rows, columns]`.
    ///
    /// `shape` is `[rows, columns]`, the shape of x and y.
    /// The variance is the biased one. Mean and deviation of the rows are in the saved result.
    ///
    /// # Errors
    /// As the trait.
    fn layer_norm(
        &self,
        x: Operand<'_>,
        affine: Affine<'_>,
        shape: [usize; 2],
        eps: f32,
        y: &mut [f32],
    ) -> Result<Saved>;

    /// The gradients of [`layer_norm`](Self::layer_norm) for `g`, the gradient of y.
    ///
    /// `g` has the shape of y. `gamma` is given exactly if the forward pass had it.
    ///
    /// # Errors
    /// As the trait.
    fn layer_norm_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        gamma: Option<Operand<'_>>,
        g: Operand<'_>,
        gradients: LayerNormGradients<'_>,
    ) -> Result<()>;

    /// `y = x Phi(x)` by the tanh approximation (Hendrycks, Gimpel, arXiv 1606.08415).
    ///
    /// It is computed for each element; x and y have the same length.
    ///
    /// # Errors
    /// As the trait.
    fn gelu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved>;

    /// The gradient of [`gelu`](Self::gelu) for `g`, the gradient of y; all lengths are equal.
    ///
    /// # Errors
    /// As the trait.
    fn gelu_backward(&self, saved: &Saved, x: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()>;

    /// `y = max(x, 0)` for each element; x and y have the same length. NaN stays NaN.
    ///
    /// # Errors
    /// As the trait.
    fn relu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved>;

    /// The gradient of [`relu`](Self::relu) for `g`, the gradient of y. The slope at 0 is 0.
    ///
    /// # Errors
    /// As the trait.
    fn relu_backward(&self, saved: &Saved, x: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()>;

    /// Row i of y is row `indices[i]` of the table.
    ///
    /// `shape` is the table's, `[rows, width]`; y is `[indices.len(), width]`.
    ///
    /// # Errors
    /// As the trait; [`NnError::Index`](nn_ops::NnError::Index) names the first index that is not
    /// below `rows`.
    fn embedding(&self, table: Operand<'_>, shape: [usize; 2], indices: &[u32], y: &mut [f32]) -> Result<Saved>;

    /// Adds row i of `g` to row `indices[i]` of `dtable`, the gradient of the table.
    ///
    /// `g` has the shape of y, and `dtable` the shape of the table.
    ///
    /// # Errors
    /// As the trait.
    fn embedding_backward(&self, saved: &Saved, g: Operand<'_>, dtable: &mut [f32]) -> Result<()>;

    /// The mean over the rows of `-sum_j t_j log_softmax(x)_j` for target probabilities t.
    ///
    /// Both operands are `[rows, classes]`. The saved result has the gradient of the logits
    /// already, `(softmax(x) sum_j t_j - t) / rows`.
    ///
    /// # Errors
    /// As the trait, and for no rows.
    fn cross_entropy(&self, logits: Operand<'_>, targets: Operand<'_>, shape: [usize; 2]) -> Result<(f32, Saved)>;

    /// `g` times the gradient of [`cross_entropy`](Self::cross_entropy) for the logits.
    ///
    /// `dlogits` is `[rows, classes]`, and `g` is the gradient of the mean loss, usually 1.
    ///
    /// # Errors
    /// As the trait.
    fn cross_entropy_backward(&self, saved: &Saved, g: f32, dlogits: &mut [f32]) -> Result<()>;

    /// `w = w - rate g`.
    ///
    /// # Errors
    /// As the trait.
    fn sgd_step(&self, w: &mut [f32], g: Operand<'_>, rate: f32) -> Result<()>;

    /// A step of Adam or AdamW on `w`; see [`AdamOptions`](crate::AdamOptions).
    ///
    /// `w` and its gradient `g` have the length of `state`, which counts the step.
    ///
    /// # Errors
    /// As the trait; [`DispatchError::Mixed`](crate::DispatchError::Mixed) if the moments of
    /// `state` are on another device.
    fn adam_step(&self, w: &mut [f32], g: Operand<'_>, state: &mut AdamState) -> Result<()>;
}
