//! The weights of one gated recurrent unit, on the host.

use crate::{
    GruVariant,
    error::{NnError, Result},
};

/// The matrices of one gated recurrent unit, with columns of z, r and c in this order.
///
/// The default is a unit without states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GruColumns {
    /// Weights of the inputs, row-major `[input, 3 hidden]`.
    pub w: Vec<f32>,
    /// Weights of the state, row-major `[hidden, 3 hidden]`.
    pub u: Vec<f32>,
    /// Biases, `[3 hidden]`.
    pub b: Vec<f32>,
    /// Biases within the reset, `[hidden]`, if it comes after the product.
    pub bu: Option<Vec<f32>>,
}

/// The weights of one gated recurrent unit.
///
/// Its gates are z, r and c of [`GruForward`](backend_api::ops::recurrent::GruForward).
///
/// ```
/// use nn_ops::{GruMember, GruRows};
///
/// // one input, one unit; of each gate the weight of the input, of the state, and the bias
/// let [z, r, c] = [[0.5f32, 1.0, 0.0], [-0.5, 1.0, 0.0], [2.0, 1.0, 0.1]];
/// let of = |i: usize| [vec![z[i]], vec![r[i]], vec![c[i]]];
/// let unit = GruMember::from_rows(1, 1, &GruRows { w: of(0), u: of(1), b: of(2) })?;
/// assert_eq!((unit.w(), unit.b()), (&[0.5, -0.5, 2.0][..], &[0.0, 0.0, 0.1][..]));
/// assert_eq!(unit.to_rows()?.u, of(1));
/// # Ok::<(), nn_ops::NnError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GruMember {
    input: usize,
    hidden: usize,
    columns: GruColumns,
}

impl GruMember {
    /// Creates a unit of `input` features and `hidden` states from its weights.
    ///
    /// # Errors
    /// [`NnError::Length`] for another number of values; [`NnError::Overflow`] if the expected
    /// number does not fit.
    pub fn new(input: usize, hidden: usize, columns: GruColumns) -> Result<Self> {
        const OP: &str = "gru_member";
        let GruColumns { w, u, b, bu } = &columns;
        let width = size(OP, hidden, 3)?;
        expect(OP, "w", w, size(OP, input, width)?)?;
        expect(OP, "u", u, size(OP, hidden, width)?)?;
        expect(OP, "b", b, width)?;
        bu.iter().try_for_each(|bu| expect(OP, "bu", bu, hidden))?;
        Ok(Self { input, hidden, columns })
    }

    /// Features of an input.
    #[must_use]
    pub fn input(&self) -> usize {
        self.input
    }

    /// Features of the state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Where the state is reset.
    #[must_use]
    pub fn variant(&self) -> GruVariant {
        if self.columns.bu.is_some() { GruVariant::ResetAfter } else { GruVariant::ResetBefore }
    }

    /// Weights of the inputs, row-major `[input, 3 hidden]`.
    #[must_use]
    pub fn w(&self) -> &[f32] {
        &self.columns.w
    }

    /// Weights of the state, row-major `[hidden, 3 hidden]`.
    #[must_use]
    pub fn u(&self) -> &[f32] {
        &self.columns.u
    }

    /// Biases, `[3 hidden]`.
    #[must_use]
    pub fn b(&self) -> &[f32] {
        &self.columns.b
    }

    /// Biases within the reset, `[hidden]`, if it comes after the product.
    #[must_use]
    pub fn bu(&self) -> Option<&[f32]> {
        self.columns.bu.as_deref()
    }
}

/// `a b` elements.
pub(super) fn size(op: &'static str, a: usize, b: usize) -> Result<usize> {
    a.checked_mul(b).ok_or(NnError::Overflow { op })
}

/// Refuses values that are not `expected` in number.
pub(super) fn expect(op: &'static str, tensor: &'static str, values: &[f32], expected: usize) -> Result<()> {
    let got = values.len();
    if got == expected { Ok(()) } else { Err(NnError::Length { op, tensor, expected, got }) }
}
