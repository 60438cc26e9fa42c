//! Arguments of the ops: masks, optional operands, and where gradients go.

use crate::handle::Operand;

/// The elements that a softmax leaves out.
///
/// Their results are 0, or -inf in a log-softmax, also if a row has no other element. Their
/// gradients are 0.
#[derive(Clone, Copy, Debug, Default)]
pub enum SoftmaxMask<'a> {
    /// Nothing.
    #[default]
    None,
    /// Added to the elements before the softmax; elements with -inf are left out.
    ///
    /// It has the shape of the input, or that shape without some leading axes before the softmax
    /// axis; it repeats then.
    Additive(Operand<'a>),
    /// Elements above a shifted diagonal.
    ///
    /// Element `k` of the softmax axis is left out of row `q` of the axis before it if
    /// `k > q + offset`.
    Causal {
        /// How far the diagonal is shifted; 0 without a cache of earlier keys.
        offset: i64,
    },
}

/// The factors and addends of the columns of a layer norm, `[columns]` each.
///
/// Missing factors are ones, and missing addends zeros.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affine<'a> {
    /// The factors.
    pub gamma: Option<Operand<'a>>,
    /// The addends.
    pub beta: Option<Operand<'a>>,
}

/// Where the gradients of a matrix product go; those left out are not computed.
#[derive(Debug, Default)]
pub struct MatmulGradients<'a> {
    /// Gradient of A, stored as A is.
    pub a: Option<&'a mut [f32]>,
    /// Gradient of B, stored as B is.
    pub b: Option<&'a mut [f32]>,
}

/// Where the gradients of a linear layer go; optional ones left out are not computed.
#[derive(Debug)]
pub struct LinearGradients<'a> {
    /// Gradient of x, `[m, k]`.
    pub x: Option<&'a mut [f32]>,
    /// Gradient of the weights, `[k, n]`.
    pub w: &'a mut [f32],
    /// Gradient of the bias, `[n]`.
    pub bias: Option<&'a mut [f32]>,
}

/// Where the gradients of a layer norm go; optional ones left out are not computed.
#[derive(Debug)]
pub struct LayerNormGradients<'a> {
    /// Gradient of x, `[rows, columns]`.
    pub x: &'a mut [f32],
    /// Gradient of the factors, `[columns]`.
    pub gamma: Option<&'a mut [f32]>,
    /// Gradient of the addends, `[columns]`.
    pub beta: Option<&'a mut [f32]>,
}
