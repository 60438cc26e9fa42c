//! Batches of matrix products with broadcasting, and their gradients.

use backend_api::{Mut, Real, Ref, ops::linalg::Gemm};
use core_types::params::gemm::{BATCH_AXES, GemmParams, MatrixStrides};

use crate::{
    Activation, GemmOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    tensor::{Layout, Planned, TensorMut, TensorRef, broadcast_shape},
};

const OP: &str = "matmul";

/// A checked batch of matrix products `C = alpha A B`.
///
/// A is `[.., m, k]`, B is `[.., k, n]`, C is `[.., m, n]`. Leading axes of A and B broadcast by
/// the rules of NumPy. Each matrix has a stride of 1 along its rows or along its columns, so a
/// transposed operand is a layout, not a copy. A sum over `k = 0` terms is zero; an empty C is left
/// alone. alpha is 1 unless [`with_alpha`](Self::with_alpha) sets it.
///
/// ```
/// use nn_ops::{GemmPlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let a = Tensor::from_values(&q, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut c = Tensor::alloc(&q, &[2, 2])?;
/// let plan = GemmPlan::new(a.layout(), &a.layout().transposed()?, c.layout())?; // A A^T
/// plan.run(&q, a.at(), a.at().transposed()?, c.at_mut())?;
/// assert_eq!(c.values(&q)?, [14.0, 32.0, 32.0, 77.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GemmPlan {
    op: &'static str,
    params: GemmParams,
    pub(super) a: Layout,
    pub(super) b: Layout,
    pub(super) c: Layout,
    /// Whether the products are added to a row-major copy of C.
    packs: bool,
}

/// A layout with the name of the tensor that has it, for errors.
pub(crate) type NamedLayout<'a> = (&'static str, &'a Layout);

impl GemmPlan {
    /// Checks the layouts of A, B and C.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] below two axes, [`NnError::ShapeMismatch`] if the shapes do not fit,
    /// [`NnError::Broadcast`] if leading axes do not, [`NnError::InvalidStride`] if a matrix has no
    /// stride of 1 or elements of C overlap.
    pub fn new(a: &Layout, b: &Layout, c: &Layout) -> Result<Self> {
        Self::build(OP, [("a", a), ("b", b), ("c", c)], Activation::Identity, false)
    }

    /// A plan for `C += A B`.
    ///
    /// Leading axes of C may have length 1 or be missing where the axes of A and B do not: C then
    /// receives the sum of the products along them, which is the gradient of a broadcast operand.
    ///
    /// C has any layout. If its matrices have no stride of 1, it is packed by a copy.
    ///
    /// # Errors
    /// As [`Self::new`], but of C's strides only those are refused whose elements overlap.
    pub fn accumulating(a: &Layout, b: &Layout, c: &Layout) -> Result<Self> {
        Self::adding(OP, [("a", a), ("b", b), ("c", c)])
    }

    /// A plan for `C += A B`, C of any layout, on behalf of an operator.
    fn adding(op: &'static str, [a, b, (c_name, c)]: [NamedLayout<'_>; 3]) -> Result<Self> {
        let add = |c: &Layout| Self::build(op, [a, b, (c_name, c)], Activation::Identity, true);
        if is_factor(c) {
            return add(c);
        }
        let plan = add(&Layout::of(op, c.shape())?)?;
        if c.is_injective() { Ok(Self { c: *c, packs: true, ..plan }) } else { Err(overlapping(op, (c_name, c))) }
    }

    /// The same plan with each product multiplied by `alpha`, which is 1 before.
    ///
    /// The factor is applied to the f32 sums, before the one rounding and before what C held is
    /// added, and takes no extra pass. For infinities, NaN and factors that make them, see
    /// [`GemmParams::alpha`].
    ///
    /// ```
    /// use nn_ops::{GemmPlan, Tensor};
    ///
    /// let q = runtime::cpu()?;
    /// let a = Tensor::from_values(&q, &[1, 2], &[1.0f32, 2.0])?;
    /// let mut c = Tensor::from_values(&q, &[1, 1], &[100.0f32])?;
    /// let plan = GemmPlan::accumulating(a.layout(), &a.layout().transposed()?, c.layout())?.with_alpha(-0.5);
    /// plan.run(&q, a.at(), a.at().transposed()?, c.at_mut())?; // C -= A A^T / 2
    /// assert_eq!(c.values(&q)?, [97.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_alpha(mut self, alpha: f32) -> Self {
        self.params.alpha = alpha;
        self
    }

    /// A plan for `C = f(A B)` or `C += f(A B)` on behalf of an operator.
    pub(crate) fn build(
        op: &'static str,
        [(a_name, a), (b_name, b), (c_name, c)]: [NamedLayout<'_>; 3],
        activation: Activation,
        accumulate: bool,
    ) -> Result<Self> {
        let whole = product_shape(op, a, (b_name, b))?;
        if c.rank() < 2 {
            return Err(NnError::TooFewAxes { op, min: 2, got: c.rank() });
        }
        let [(_, m, k), (_, _, n), (c_lead, c_m, c_n)] = [a, b, c].map(split);
        let lead = &whole[..whole.len() - 2];
        if (c_m, c_n) != (m, n) || (!accumulate && c_lead != lead) {
            return Err(NnError::shape(op, c_name, &whole[..], c));
        }
        let stretched = |layout: &Layout| {
            let (own, rows, cols) = split(layout);
            if own == lead { Ok(*layout) } else { layout.broadcast_by(op, &[lead, &[rows, cols]].concat()) }
        };
        let wide = [stretched(a)?, stretched(b)?, stretched(c)?];
        let [a_mat, b_mat, c_mat] =
            [matrix(op, (a_name, &wide[0]))?, matrix(op, (b_name, &wide[1]))?, matrix(op, (c_name, &wide[2]))?];
        if !c.is_injective() {
            return Err(overlapping(op, (c_name, c)));
        }
        let axes = merged_axes(lead, &wide);
        let mut batch = [1; BATCH_AXES];
        let mut batch_strides = [[0; BATCH_AXES]; 3];
        for (slot, (len, strides)) in (BATCH_AXES - axes.len()..).zip(axes) {
            batch[slot] = len as u64;
            (0..3).for_each(|t| batch_strides[t][slot] = strides[t] as u64);
        }
        let with_batch = |m: MatrixStrides, t: usize| MatrixStrides { batch: batch_strides[t], ..m };
        let params = GemmParams {
            batch,
            m: m as u64,
            n: n as u64,
            k: k as u64,
            a: with_batch(a_mat, 0),
            b: with_batch(b_mat, 1),
            c: with_batch(c_mat, 2),
            accumulate: u32::from(accumulate),
            activation,
            alpha: 1.0,
            reserved: 0,
        };
        Ok(Self { op, params, a: *a, b: *b, c: *c, packs: false })
    }

    /// Runs the products on tensors with the layouts of the plan.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn run<Q: GemmOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        a: TensorRef<'_, Q, T>,
        b: TensorRef<'_, Q, T>,
        c: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (a, b) = (a.planned(self.op, "a", &self.a)?, b.planned(self.op, "b", &self.b)?);
        if !self.packs {
            return self.launch(q, a, b, None, c.planned(self.op, "c", &self.c)?);
        }
        self.c.admit(self.op, "c", c.layout())?;
        let (c, mut result) = (c.fit(self.op, "c", &self.c)?, Unpacked::new());
        self.launch(q, a, b, None, result.updated(q, c)?)?;
        result.finish(q)
    }

    /// Runs the products on views that reach as far as the layouts; `bias` is added to each row.
    ///
    /// C is not packed: the plan is one of [`build`](Self::build).
    pub(crate) fn launch<Q: GemmOps, T: Real>(
        &self,
        q: &Q,
        a: Ref<'_, Q, T>,
        b: Ref<'_, Q, T>,
        bias: Option<Ref<'_, Q, T>>,
        c: Mut<'_, Q, T>,
    ) -> Result<()> {
        Ok(q.gemm(Gemm {
            params: &self.params,
            a: q.shorten(a),
            b: q.shorten(b),
            bias: bias.map(|bias| q.shorten(bias)),
            c: q.shorten_mut(c),
        })?)
    }
}

/// Leading axes, rows and columns of a layout of at least two axes.
fn split(layout: &Layout) -> (&[usize], usize, usize) {
    let shape = layout.shape();
    let (lead, last) = shape.split_at(shape.len() - 2);
    (lead, last[0], last[1])
}

/// The error for a result whose elements overlap.
fn overlapping(op: &'static str, (tensor, layout): NamedLayout<'_>) -> NnError {
    NnError::InvalidStride { op, tensor, strides: layout.strides().to_vec(), why: "its elements overlap" }
}

/// The strides of the last two axes; one of them is 1, unless its axis has one element.
fn matrix(op: &'static str, (tensor, layout): NamedLayout<'_>) -> Result<MatrixStrides> {
    let (_, rows, cols) = split(layout);
    let last = &layout.strides()[layout.rank() - 2..];
    let (mut row, mut col) = (last[0], last[1]);
    // The stride of an axis of one element is never used; give it the value of a matrix without gaps.
    match (rows <= 1, cols <= 1) {
        (true, true) => (row, col) = (1, 1),
        (true, false) if col == 1 => row = cols,
        (true, false) => row = 1,
        (false, true) if row == 1 => col = rows,
        (false, true) => col = 1,
        _ => {}
    }
    if row != 1 && col != 1 && layout.numel() > 0 {
        return Err(NnError::InvalidStride {
            op,
            tensor,
            strides: layout.strides().to_vec(),
            why: "neither rows nor columns of the matrix are contiguous",
        });
    }
    Ok(MatrixStrides { batch: [0; BATCH_AXES], row: row as u64, col: col as u64 })
}

/// Whether a product reads tensors of this layout as they lie.
///
/// A layout of fewer than two axes counts, so that the product refuses it.
pub(crate) fn is_factor(layout: &Layout) -> bool {
    layout.rank() < 2 || matrix(OP, ("a factor", layout)).is_ok()
}

/// The shape of `A B`, whose inner lengths are equal and whose leading axes broadcast.
pub(crate) fn product_shape(op: &'static str, a: &Layout, (b_name, b): NamedLayout<'_>) -> Result<Vec<usize>> {
    for layout in [a, b] {
        if layout.rank() < 2 {
            return Err(NnError::TooFewAxes { op, min: 2, got: layout.rank() });
        }
    }
    let ((a_lead, rows, inner), (b_lead, b_inner, columns)) = (split(a), split(b));
    if inner != b_inner {
        return Err(NnError::shape(op, b_name, &[b_lead, &[inner, columns]].concat()[..], b));
    }
    let apart = || NnError::Broadcast { op, lhs: a.into(), rhs: b.into() };
    Ok([&broadcast_shape(a_lead, b_lead).ok_or_else(apart)?[..], &[rows, columns]].concat())
}

/// Leading axes with their strides in A, B and C, outermost first.
///
/// Neighbouring axes that can be walked as one in all three are merged.
fn merged_axes(lead: &[usize], wide: &[Layout; 3]) -> Vec<(usize, [usize; 3])> {
    let mut axes: Vec<(usize, [usize; 3])> = Vec::new();
    for (axis, &len) in lead.iter().enumerate().filter(|&(_, &len)| len != 1) {
        let strides = [0, 1, 2].map(|t| wide[t].strides()[axis]);
        match axes.last_mut() {
            Some((outer_len, outer)) if (0..3).all(|t| outer[t] == strides[t] * len) => {
                *outer_len *= len;
                *outer = strides;
            }
            _ => axes.push((len, strides)),
        }
    }
    axes
}

/// `C = A B`; see [`GemmPlan`].
///
/// # Errors
/// As [`GemmPlan::new`] and [`GemmPlan::run`].
pub fn matmul<Q: GemmOps + TensorOps, T: Real>(
    q: &Q,
    a: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    c: TensorMut<'_, Q, T>,
) -> Result<()> {
    GemmPlan::new(a.layout(), b.layout(), c.layout())?.run(q, a, b, c)
}

/// The gradient of `C = A B` with respect to A: `dA += G B^T`, where G is the gradient of C.
///
/// Axes along which A was broadcast are summed. dA has any layout.
///
/// # Errors
/// As [`GemmPlan::accumulating`] and [`GemmPlan::run`].
pub fn matmul_backward_lhs<Q: GemmOps + TensorOps, T: Real>(
    q: &Q,
    g: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    da: TensorMut<'_, Q, T>,
) -> Result<()> {
    let b = b.transposed()?;
    let layouts = [("g", g.layout()), ("b transposed", b.layout()), ("da", da.layout())];
    GemmPlan::adding("matmul_backward_lhs", layouts)?.run(q, g, b, da)
}

/// The gradient of `C = A B` with respect to B: `dB += A^T G`, where G is the gradient of C.
///
/// Axes along which B was broadcast are summed. dB has any layout.
///
/// # Errors
/// As [`GemmPlan::accumulating`] and [`GemmPlan::run`].
pub fn matmul_backward_rhs<Q: GemmOps + TensorOps, T: Real>(
    q: &Q,
    a: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    db: TensorMut<'_, Q, T>,
) -> Result<()> {
    let a = a.transposed()?;
    let layouts = [("a transposed", a.layout()), ("g", g.layout()), ("db", db.layout())];
    GemmPlan::adding("matmul_backward_rhs", layouts)?.run(q, a, g, db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_that_a_product_cannot_use_are_refused_with_the_tensor() {
        let dense = Layout::contiguous(&[2, 2]).unwrap();
        let (gaps, row) = (Layout::strided(&[2, 2], &[4, 2]).unwrap(), Layout::strided(&[2, 2], &[0, 1]).unwrap());
        let refused = |a, b, c| match GemmPlan::new(a, b, c) {
            Err(NnError::InvalidStride { op: "matmul", tensor, .. }) => tensor,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&gaps, &dense, &dense), "a");
        assert_eq!(refused(&dense, &gaps, &dense), "b");
        assert_eq!(refused(&dense, &dense, &gaps), "c");
        assert_eq!(refused(&dense, &dense, &row), "c");
        // A result that is added to is packed unless its elements overlap.
        assert!(GemmPlan::accumulating(&dense, &dense, &gaps).unwrap().packs);
        assert!(!GemmPlan::accumulating(&dense, &dense, &dense).unwrap().packs);
        let overlapping = GemmPlan::accumulating(&dense, &dense, &row);
        assert!(matches!(overlapping, Err(NnError::InvalidStride { tensor: "c", .. })), "{overlapping:?}");
        let text = "`matmul` cannot use b with strides [4, 2]: neither rows nor columns of the matrix are contiguous";
        assert_eq!(GemmPlan::new(&dense, &gaps, &dense).unwrap_err().to_string(), text);
    }

    #[test]
    fn a_single_row_or_column_may_have_any_stride() {
        for (shape, strides, expected) in [
            ([1, 3], [7, 1], [3, 1]),
            ([1, 3], [7, 2], [1, 2]),
            ([3, 1], [1, 7], [1, 3]),
            ([3, 1], [2, 7], [2, 1]),
            ([1, 1], [7, 5], [1, 1]),
            ([3, 2], [1, 4], [1, 4]),
        ] {
            let found = matrix(OP, ("a", &Layout::strided(&shape, &strides).unwrap())).unwrap();
            assert_eq!([found.row, found.col], expected, "{shape:?} {strides:?}");
        }
    }
}
