use backend_api::{
    BufferMut, BufferRef, Mut, Real, Ref,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};

use crate::{Layout, NnError, Shape, TensorMut, TensorRef};

const OP: &str = "matmul";

/// A checked batch of matrix products `C = A B`.
///
/// A is `[.., m, k]`, B is `[.., k, n]`, C is `[.., m, n]`. Leading axes of A and B broadcast by the rules of NumPy. Each
/// matrix has a stride of 1 along its rows or along its columns, so a transposed operand is a layout and not a copy. A sum
/// over `k = 0` terms is zero; an empty C is left alone.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{GemmPlan, Layout};
///
/// let q = runtime::cpu()?;
/// let a = q.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut c = q.zeros::<f32>(4)?;
/// let layout = Layout::contiguous(&[2, 3])?;
/// let plan = GemmPlan::new(&layout, &layout.transposed()?, &Layout::contiguous(&[2, 2])?)?; // A A^T
/// plan.run(&q, a.view(), a.view(), c.view_mut())?;
/// assert_eq!(q.download(&c)?, [14.0, 32.0, 32.0, 77.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GemmPlan {
    params: GemmParams,
    spans: [usize; 3],
}

impl GemmPlan {
    /// Checks the layouts of A, B and C.
    ///
    /// # Errors
    /// [`NnError::Rank`] below two axes, [`NnError::ShapeMismatch`] if the shapes do not fit,
    /// [`NnError::InvalidStride`] if a matrix has no stride of 1 or elements of C overlap.
    pub fn new(a: &Layout, b: &Layout, c: &Layout) -> Result<Self, NnError> {
        let plan = Self::build(a, b, c, false)?;
        if !c.is_injective() {
            return Err(overlap(c));
        }
        Ok(plan)
    }

    /// A plan for `C += A B`. Leading axes of C may have length 1 or be missing where those of A and B do not: C then
    /// receives the sum of the products along them, which is the gradient of a broadcast operand.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn accumulating(a: &Layout, b: &Layout, c: &Layout) -> Result<Self, NnError> {
        if !c.is_injective() {
            return Err(overlap(c));
        }
        Self::build(a, b, c, true)
    }

    fn build(a: &Layout, b: &Layout, c: &Layout, accumulate: bool) -> Result<Self, NnError> {
        for layout in [a, b, c] {
            if layout.rank() < 2 {
                return Err(NnError::Rank { op: OP, expected: 2, got: layout.rank() });
            }
        }
        let [(a_lead, m, k), (b_lead, b_k, n), (c_lead, c_m, c_n)] = [a, b, c].map(split);
        if k != b_k {
            return Err(NnError::ShapeMismatch { op: OP, lhs: a.into(), rhs: b.into() });
        }
        let lead = broadcast_shape(a_lead, b_lead).ok_or_else(|| NnError::ShapeMismatch {
            op: OP,
            lhs: a.into(),
            rhs: b.into(),
        })?;
        let mut wanted = lead.clone();
        wanted.extend([m, n]);
        let mismatch = || NnError::ShapeMismatch { op: OP, lhs: Shape::from(&wanted[..]), rhs: c.into() };
        if (c_m, c_n) != (m, n) || (!accumulate && c_lead != lead) {
            return Err(mismatch());
        }
        let wide = |layout: &Layout, rows: usize, cols: usize| {
            let mut shape = lead.clone();
            shape.extend([rows, cols]);
            layout.broadcast(&shape).map_err(|_| mismatch())
        };
        let wide = [wide(a, m, k)?, wide(b, k, n)?, wide(c, m, n)?];
        let [a_mat, b_mat, c_mat] = [matrix(&wide[0])?, matrix(&wide[1])?, matrix(&wide[2])?];
        let axes = merged_axes(&lead, &wide);
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
            activation: Activation::Identity,
        };
        Ok(Self { params, spans: [a.span(), b.span(), c.span()] })
    }

    /// Runs the products.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`] if a view is shorter than its layout, [`NnError::Backend`] from the device.
    pub fn run<Q: GemmOps, T: Real>(
        &self,
        q: &Q,
        a: Ref<'_, Q, T>,
        b: Ref<'_, Q, T>,
        c: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        self.launch(q, a, b, None, Activation::Identity, c)
    }

    pub(crate) fn launch<Q: GemmOps, T: Real>(
        &self,
        q: &Q,
        a: Ref<'_, Q, T>,
        b: Ref<'_, Q, T>,
        bias: Option<Ref<'_, Q, T>>,
        activation: Activation,
        c: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        for (expected, got) in self.spans.into_iter().zip([a.len(), b.len(), c.len()]) {
            if got < expected {
                return Err(NnError::ViewTooShort { expected, got });
            }
        }
        Ok(q.gemm(Gemm {
            params: &GemmParams { activation, ..self.params },
            a: q.shorten(a),
            b: q.shorten(b),
            bias: bias.map(|bias| q.shorten(bias)),
            c: q.shorten_mut(c),
        })?)
    }
}

fn overlap(c: &Layout) -> NnError {
    NnError::InvalidStride { op: OP, strides: c.strides().to_vec(), why: "elements of the result overlap" }
}

/// Leading axes, rows and columns of a layout of at least two axes.
fn split(layout: &Layout) -> (&[usize], usize, usize) {
    let shape = layout.shape();
    let (lead, last) = shape.split_at(shape.len() - 2);
    (lead, last[0], last[1])
}

/// The strides of the last two axes, of which one is 1 unless its axis has one element.
fn matrix(layout: &Layout) -> Result<MatrixStrides, NnError> {
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
            op: OP,
            strides: layout.strides().to_vec(),
            why: "neither rows nor columns of the matrix are contiguous",
        });
    }
    Ok(MatrixStrides { batch: [0; BATCH_AXES], row: row as u64, col: col as u64 })
}

/// The common shape of two lists of leading axes.
fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let axis = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    (0..rank)
        .map(|i| match (axis(a, i), axis(b, i)) {
            (x, y) if x == y => Some(x),
            (1, x) | (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// Leading axes with their strides in A, B and C, outermost first; neighbours that walk evenly in all three are one axis.
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
pub fn matmul<Q: GemmOps, T: Real>(
    q: &Q,
    a: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    c: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    GemmPlan::new(a.layout(), b.layout(), c.layout())?.run(q, a.view(), b.view(), c.into_view())
}

/// The gradient of `C = A B` with respect to A: `dA += G B^T`, where G is the gradient of C. Axes along which A was
/// broadcast are summed.
///
/// # Errors
/// As [`matmul`].
pub fn matmul_backward_lhs<Q: GemmOps, T: Real>(
    q: &Q,
    g: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    da: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    let plan = GemmPlan::accumulating(g.layout(), &b.layout().transposed()?, da.layout())?;
    plan.run(q, g.view(), b.view(), da.into_view())
}

/// The gradient of `C = A B` with respect to B: `dB += A^T G`, where G is the gradient of C. Axes along which B was
/// broadcast are summed.
///
/// # Errors
/// As [`matmul`].
pub fn matmul_backward_rhs<Q: GemmOps, T: Real>(
    q: &Q,
    a: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    db: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    let plan = GemmPlan::accumulating(&a.layout().transposed()?, g.layout(), db.layout())?;
    plan.run(q, a.view(), g.view(), db.into_view())
}
