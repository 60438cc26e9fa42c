//! The plan of a singular value decomposition.
//!
//! It is a randomized one, or a direct one if a side of the matrix is short.
//!
//! With a tall A and random signs Ω: `Y = A Ω`, and in each iteration `Y = A orth(A^T orth(Y))`.
//! Then `Q = orth(Y)`, `Z = A^T Q`, `Z^T Z = W S^2 W^T`, `U = Q W` and `V = Z W S^-1` (Halko,
//! Martinsson, Tropp, SIAM Review 2011, algorithms 4.4 and 5.1). The direct one has
//! `A^T A = V S^2 V^T` and `U = A V S^-1`.

use backend_api::{
    Buffer, Queue, Ref,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, SignSketch, TallGram, TallProduct,
    },
};
use core_types::params::factor::{
    ColumnPairParams, JacobiParams, MAX_SIDE, MatrixParams, SHARED_SIDE, SketchParams, TallParams,
};

use super::{
    factors::SvdFactors,
    options::SvdOptions,
    workspace::{Lengths, SvdWorkspace},
};
use crate::{
    FactorOps, GemmOps,
    error::{NnError, Result},
    products::GemmPlan,
    tensor::{Layout, Planned, TensorRef},
};

const OP: &str = "svd";
/// Most columns of a sketch, and the longest side that is decomposed directly.
const MOST: usize = MAX_SIDE as usize;
/// Longest side that is decomposed directly if the sketch is wide.
///
/// A wide sketch has at least half that number of columns.
const MEDIUM: usize = SHARED_SIDE as usize;
/// Sides up to this are decomposed directly whatever the rank is.
const SHORT: usize = 64;
/// Most power iterations: far fewer already eliminate small components.
const MOST_ITERATIONS: usize = 64;
/// Columns of a sketch are a multiple of this.
///
/// Its lines are then whole multiples of 16 bytes.
const GRANULE: usize = 4;

/// A checked truncated singular value decomposition `A ~ U diag(S) V^T`.
///
/// It computes the `k` greatest singular values of `[m, n]` matrices of f32, with their vectors.
///
/// The decomposition is exact up to rounding, from the eigenvectors of the Gram matrix in f64, if
/// the shorter side has at most 64 elements, or at most 96 and at most twice the columns of a
/// sketch, or no more than the columns of a sketch. Otherwise it is randomized (Halko, Martinsson,
/// Tropp, "Finding Structure with Randomness", 2011): the range of A is sketched by a product with
/// random signs, sharpened by power iterations with an orthonormal basis in between, and the small
/// remainder is decomposed in f64.
///
/// U and V are orthonormal within 1e-5. Singular values are right within 1e-5 of the greatest where
/// they fall tenfold over the oversampled columns. Where they fall like 1/j, the error in the
/// Frobenius norm exceeds the best by at most
///
/// | rank, up to | one power iteration | two |
/// | --- | --- | --- |
/// | 40 | 2 % | 0.5 % |
/// | 64 | 4 % | 1 % |
/// | 128 | 6 % | 2 % |
/// | 256 | 10 % | 4.5 % |
/// | 512 | 14 % | 7 % |
/// | 1014 | 16 % | 8 % |
/// | 1024 | 20 % | 12 % |
///
/// with 10 oversampled columns; a sketch has at most 1024 columns, so that above rank 1014 there
/// are fewer. Singular values up to 2^-20 of the greatest count as zero, and their vectors complete
/// the others to an orthonormal set. Results depend on the seed, and on no other chance.
///
/// The time grows with the cube of the columns of a sketch: up to 96 columns a block of a GPU has
/// the small matrices in shared memory, beyond that in global memory, where the step takes far
/// longer.
///
/// All steps run on the device and nothing waits: a decomposition can be recorded, and what was
/// found out about the matrix is read with the result ([`SvdFactors::rank`]).
///
/// ```
/// use backend_api::Queue;
/// use nn_ops::{SvdOptions, SvdPlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let a = Tensor::from_values(&q, &[3, 2], &[0.0f32, 2.0, -3.0, 0.0, 0.0, 0.0])?;
/// let plan = SvdPlan::new(3, 2, 2, SvdOptions::default())?;
/// let (mut factors, mut workspace) = (plan.factors(&q)?, plan.workspace(&q)?);
/// plan.run(&q, a.at(), &mut factors, &mut workspace)?;
/// assert_eq!(factors.rank(&q)?, 2);
/// assert_eq!(q.read(factors.s().view())?, [3.0, 2.0]);
/// assert_eq!(q.read(factors.u().view())?, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
/// assert_eq!(q.read(factors.v().view())?, [-1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SvdPlan {
    layout: Layout,
    shapes: [Layout; 3],
    /// Whether A has fewer rows than columns; the steps then work on its transpose.
    is_wide: bool,
    long: usize,
    short: usize,
    rank: usize,
    route: Route,
    seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Route {
    Direct {
        /// Row-major A^T, as a product with the unit matrix.
        transposition: Box<GemmPlan>,
    },
    Sketched {
        columns: usize,
        iterations: usize,
        /// Products of the tall matrix and of its transpose with a basis.
        products: Box<[GemmPlan; 2]>,
    },
}

impl SvdPlan {
    /// A plan for `[m, n]` matrices and the `rank` greatest singular values.
    ///
    /// If there are fewer, it is for all of them.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a rank of 0, one above 1024 if both sides are longer, and for
    /// more than 64 power iterations; [`NnError::EmptyReduction`] for a side of 0;
    /// [`NnError::Overflow`] if the elements cannot be counted or a side has 2^31 or more.
    pub fn new(m: usize, n: usize, rank: usize, options: SvdOptions) -> Result<Self> {
        let layout = Layout::of(OP, &[m, n])?;
        if m == 0 || n == 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        let iterations = options.power.iterations();
        if iterations > MOST_ITERATIONS {
            return Err(NnError::parameter(OP, "the number of power iterations", "at most 64", iterations as f64));
        }
        // The steps work on the tall one of A and its transpose.
        let (is_wide, long, short) = (m < n, m.max(n), m.min(n));
        if long >= 1 << 31 {
            return Err(NnError::Overflow { op: OP });
        }
        // The sketch has the rank and the oversampling, rounded up and bounded.
        let rank = rank.min(short);
        let wanted = rank.saturating_add(options.oversample);
        let columns = wanted.checked_next_multiple_of(GRANULE).unwrap_or(MOST).min(MOST).min(short);
        let is_direct = short <= SHORT || (short <= MEDIUM && short <= 2 * columns) || short == columns;
        if rank == 0 || rank > MOST {
            return Err(NnError::parameter(OP, "rank", "at least 1, and at most 1024", rank as f64));
        }
        // Products that the route takes.
        let tall = if is_wide { layout.transposed()? } else { layout };
        let route = if is_direct {
            let (unit, result) = (Layout::of(OP, &[short, short])?, Layout::of(OP, &[long, short])?);
            Route::Direct { transposition: Box::new(GemmPlan::new(&tall, &unit, &result)?) }
        } else {
            let (up, down) = (Layout::of(OP, &[long, columns])?, Layout::of(OP, &[short, columns])?);
            let products = [GemmPlan::new(&tall, &down, &up)?, GemmPlan::new(&tall.transposed()?, &up, &down)?];
            Route::Sketched { columns, iterations, products: Box::new(products) }
        };
        let shapes = [Layout::of(OP, &[m, rank])?, Layout::of(OP, &[rank])?, Layout::of(OP, &[n, rank])?];
        Ok(Self { layout, shapes, is_wide, long, short, rank, route, seed: options.seed })
    }

    /// How many singular values there will be: `min(rank, m, n)`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether the decomposition is not randomized.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.route, Route::Direct { .. })
    }

    /// The layout of the matrices: row-major.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Allocates memory for the factors of a matrix.
    ///
    /// Its contents are unspecified before [`run`](Self::run).
    ///
    /// # Errors
    /// [`NnError::Backend`] for lack of memory.
    pub fn factors<Q: Queue>(&self, q: &Q) -> Result<SvdFactors<Q>> {
        let [u, s, v] = self.shapes.map(|shape| q.alloc(shape.numel()));
        Ok(SvdFactors { shapes: self.shapes, u: u?, s: s?, v: v?, peak: q.alloc(1)?, rank: q.alloc(1)? })
    }

    /// Memory for the steps between.
    ///
    /// # Errors
    /// [`NnError::Backend`] for lack of memory.
    pub fn workspace<Q: Queue>(&self, q: &Q) -> Result<SvdWorkspace<Q>> {
        let mut workspace = SvdWorkspace::new(q, self.lengths())?;
        if self.is_direct() {
            let unit: Vec<f32> = (0..self.short * self.short).map(|i| f32::from(i % (self.short + 1) == 0)).collect();
            q.write(&unit, workspace.short[0].view_mut())?;
        }
        Ok(workspace)
    }

    /// Elements of the buffers of a workspace.
    fn lengths(&self) -> Lengths {
        let &Self { long, short, rank, .. } = self;
        match self.route {
            Route::Direct { .. } => {
                let copy = if self.is_wide { long * short } else { 0 };
                [copy, long * rank, short * short, 0, short * short, short * rank]
            }
            Route::Sketched { columns, .. } => {
                let (of_long, of_short) = (long * columns, short * columns);
                [of_long, of_long, of_short, of_short, columns * columns, columns * rank]
            }
        }
    }

    /// Refuses factors and a workspace of a plan with other shapes.
    pub(crate) fn admit<Q: Queue>(&self, factors: &SvdFactors<Q>, workspace: &SvdWorkspace<Q>) -> Result<()> {
        let [u, _, v] = &factors.shapes;
        for (tensor, expected, got) in [
            ("u", self.shapes[0].shape(), u.shape()),
            ("v", self.shapes[2].shape(), v.shape()),
            ("a workspace", &self.lengths(), &workspace.lengths()),
        ] {
            if expected != got {
                return Err(NnError::shape(OP, tensor, expected, got));
            }
        }
        Ok(())
    }

    /// Decomposes `a`.
    ///
    /// Factors and workspace are of this plan, or one with the same shapes and options. Does not
    /// wait.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a matrix, factors or a
    /// workspace of another shape, [`NnError::Backend`] from the device.
    pub fn run<Q: FactorOps + GemmOps>(
        &self,
        q: &Q,
        a: TensorRef<'_, Q, f32>,
        factors: &mut SvdFactors<Q>,
        workspace: &mut SvdWorkspace<Q>,
    ) -> Result<()> {
        let a = a.planned(OP, "a", &self.layout)?;
        self.admit(factors, workspace)?;
        q.matrix_peak(MatrixPeak { a: q.shorten(a), peak: factors.peak.view_mut() })?;
        match &self.route {
            Route::Direct { transposition } => self.direct(q, a, transposition, factors, workspace)?,
            Route::Sketched { columns, iterations, products } => {
                self.sketched(q, a, [*columns, *iterations], products, factors, workspace)?;
            }
        }
        let params = ColumnPairParams {
            rows: self.shapes[0].shape()[0] as u64,
            other_rows: self.shapes[2].shape()[0] as u64,
            cols: self.rank as u64,
        };
        for (rows, x) in [(params.rows, &mut factors.u), (params.other_rows, &mut factors.v)] {
            let matrix = MatrixParams { rows, cols: params.cols };
            q.complete_columns(CompleteColumns { params: &matrix, rank: factors.rank.view(), x: x.view_mut() })?;
        }
        Ok(q.orient_columns(OrientColumns { params: &params, u: factors.u.view_mut(), v: factors.v.view_mut() })?)
    }

    /// Eigenvectors of the Gram matrix of the tall matrix.
    fn direct<Q: FactorOps + GemmOps>(
        &self,
        q: &Q,
        a: Ref<'_, Q, f32>,
        transposition: &GemmPlan,
        factors: &mut SvdFactors<Q>,
        workspace: &mut SvdWorkspace<Q>,
    ) -> Result<()> {
        let SvdWorkspace { long: [tall, vectors], short: [unit, _], gram, inverse, vectors: small } = workspace;
        // A tall row-major copy of a wide matrix.
        let tall = if self.is_wide {
            transposition.launch(q, a, unit.view(), None, tall.view_mut())?;
            tall.view()
        } else {
            q.shorten(a)
        };
        // Eigenvectors of the Gram matrix.
        let matrix = MatrixParams { rows: self.long as u64, cols: self.short as u64 };
        q.tall_gram(TallGram { params: &matrix, x: q.shorten(tall), gram: gram.view_mut() })?;
        let [unscaled, divided] = small;
        let params = JacobiParams { side: self.short as u64, kept: self.rank as u64 };
        q.jacobi_eigen(JacobiEigen {
            params: &params,
            gram: gram.view(),
            peak: None,
            vectors: unscaled.view_mut(),
            inverse: divided.view_mut(),
            sigma: factors.s.view_mut(),
            rank: factors.rank.view_mut(),
        })?;
        // Short vectors are the eigenvectors, long ones the products with A over sigma.
        let (of_long, of_short) = sides(self.is_wide, &mut factors.u, &mut factors.v);
        let params = TallParams { rows: self.short as u64, inner: self.short as u64, cols: self.rank as u64 };
        q.tall_product(TallProduct { params: &params, x: unit.view(), c: unscaled.view(), y: of_short.view_mut() })?;
        let params = TallParams { rows: self.long as u64, ..params };
        q.tall_product(TallProduct { params: &params, x: q.shorten(tall), c: divided.view(), y: vectors.view_mut() })?;
        // Columns of singular values far below the greatest have lost digits.
        let nearly = Basis::<Q> { rows: self.long, cols: self.rank, scale: None };
        nearly.orthonormal(q, vectors.view(), gram, inverse, of_long)
    }

    /// A randomized decomposition, by products of the matrix and of its transpose with a basis.
    fn sketched<Q: FactorOps + GemmOps>(
        &self,
        q: &Q,
        a: Ref<'_, Q, f32>,
        [columns, iterations]: [usize; 2],
        [down, up]: &[GemmPlan; 2],
        factors: &mut SvdFactors<Q>,
        workspace: &mut SvdWorkspace<Q>,
    ) -> Result<()> {
        let &Self { long, short, rank, .. } = self;
        let SvdWorkspace { long: [y, basis], short: [z, dual], gram, inverse, vectors: small } = workspace;
        let SvdFactors { u, s, v, peak, rank: found, .. } = factors;
        // A sketch of the range by random signs.
        let matrix = MatrixParams { rows: short as u64, cols: columns as u64 };
        let params = SketchParams { matrix, seed: self.seed };
        q.sign_sketch(SignSketch { params: &params, peak: peak.view(), omega: dual.view_mut() })?;
        down.launch(q, a, dual.view(), None, y.view_mut())?;
        // Each power iteration has an orthonormal basis before each product.
        for _ in 0..iterations {
            let scaled = |rows| Basis::<Q> { rows, cols: columns, scale: Some(&*peak) };
            scaled(long).orthonormal(q, y.view(), gram, inverse, basis)?;
            up.launch(q, a, basis.view(), None, z.view_mut())?;
            scaled(short).orthonormal(q, z.view(), gram, inverse, dual)?;
            down.launch(q, a, dual.view(), None, y.view_mut())?;
        }
        // The basis of the range twice, then A in that basis.
        Basis::<Q> { rows: long, cols: columns, scale: None }.orthonormal(q, y.view(), gram, inverse, basis)?;
        let scaled = Basis::<Q> { rows: long, cols: columns, scale: Some(&*peak) };
        scaled.orthonormal(q, basis.view(), gram, inverse, y)?;
        up.launch(q, a, y.view(), None, z.view_mut())?;
        // The small remainder is decomposed by the eigenvectors of its Gram matrix.
        q.tall_gram(TallGram { params: &matrix, x: z.view(), gram: gram.view_mut() })?;
        let [vectors, divided] = small;
        let params = JacobiParams { side: columns as u64, kept: rank as u64 };
        q.jacobi_eigen(JacobiEigen {
            params: &params,
            gram: gram.view(),
            peak: Some(peak.view()),
            vectors: vectors.view_mut(),
            inverse: divided.view_mut(),
            sigma: s.view_mut(),
            rank: found.view_mut(),
        })?;
        // The factors of both sides.
        let (of_long, of_short) = sides(self.is_wide, u, v);
        let params = TallParams { rows: long as u64, inner: columns as u64, cols: rank as u64 };
        q.tall_product(TallProduct { params: &params, x: y.view(), c: vectors.view(), y: of_long.view_mut() })?;
        let params = TallParams { rows: short as u64, ..params };
        let (x, nearly) = (z.view(), 0..short * rank);
        q.tall_product(TallProduct { params: &params, x, c: divided.view(), y: dual.slice_mut(nearly.clone())? })?;
        let basis = Basis::<Q> { rows: short, cols: rank, scale: None };
        basis.orthonormal(q, dual.slice(nearly)?, gram, inverse, of_short)
    }
}

/// The factors on the longer and on the shorter side of the matrix.
fn sides<'b, B>(is_wide: bool, u: &'b mut B, v: &'b mut B) -> (&'b mut B, &'b mut B) {
    if is_wide { (v, u) } else { (u, v) }
}

/// Columns that are to become an orthonormal basis of what they span.
struct Basis<'b, Q: Queue> {
    rows: usize,
    cols: usize,
    /// The pattern of the magnitude by which the basis is divided.
    ///
    /// Products with the matrix thus stay in range.
    scale: Option<&'b Q::Buf<u32>>,
}

impl<Q: FactorOps> Basis<'_, Q> {
    /// One step of Cholesky QR.
    ///
    /// One step makes a basis well conditioned, and two make it orthonormal.
    fn orthonormal(
        &self,
        q: &Q,
        x: Ref<'_, Q, f32>,
        gram: &mut Q::Buf<f64>,
        inverse: &mut Q::Buf<f64>,
        result: &mut Q::Buf<f32>,
    ) -> Result<()> {
        let (rows, cols, square) = (self.rows as u64, self.cols as u64, 0..self.cols * self.cols);
        let matrix = MatrixParams { rows, cols };
        q.tall_gram(TallGram { params: &matrix, x: q.shorten(x), gram: gram.slice_mut(square.clone())? })?;
        q.chol_inverse(CholInverse {
            side: self.cols,
            gram: gram.slice(square.clone())?,
            peak: self.scale.map(|peak| peak.view()),
            inverse: inverse.slice_mut(square.clone())?,
        })?;
        Ok(q.tall_product(TallProduct {
            params: &TallParams { rows, inner: cols, cols },
            x: q.shorten(x),
            c: inverse.slice(square)?,
            y: result.slice_mut(0..self.rows * self.cols)?,
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svd::options::SvdPower;

    fn plan(m: usize, n: usize, rank: usize) -> Result<SvdPlan, NnError> {
        SvdPlan::new(m, n, rank, SvdOptions::default())
    }

    #[test]
    fn ranks_and_sides_that_have_no_decomposition_are_refused() {
        assert!(matches!(plan(200, 100, 0), Err(NnError::Parameter { name: "rank", .. })));
        assert!(matches!(plan(1025, 2000, 1025), Err(NnError::Parameter { name: "rank", .. })));
        for power in [65, usize::MAX] {
            let refused =
                SvdPlan::new(200, 200, 5, SvdOptions { power: SvdPower::Given(power), ..SvdOptions::default() });
            assert!(matches!(refused, Err(NnError::Parameter { name: "the number of power iterations", .. })));
        }
        assert!(matches!(plan(0, 3, 1), Err(NnError::EmptyReduction { op: "svd" })));
        assert!(matches!(plan(1 << 31, 2, 1), Err(NnError::Overflow { op: "svd" })));
        assert_eq!(plan(5, 3, 9).unwrap().rank(), 3);
        assert_eq!(plan(500, 300, 290).unwrap().rank(), 290);
        assert_eq!(plan(1025, 2000, 1024).unwrap().rank(), 1024);
    }

    #[test]
    fn short_sides_are_decomposed_directly() {
        for (m, n, rank, is_direct) in [
            (900, 64, 1, true),
            (65, 900, 1, false),
            (90, 300, 40, true),
            (96, 300, 38, true),
            (96, 300, 37, true),
            (96, 300, 34, false),
            (97, 97, 86, false),
            (200, 101, 91, true),
        ] {
            assert_eq!(plan(m, n, rank).unwrap().is_direct(), is_direct, "{m} {n} {rank}");
        }
    }

    #[test]
    fn factors_of_another_plan_are_refused() {
        let q = runtime::cpu().unwrap();
        let a = q.zeros::<f32>(12).unwrap();
        let own = SvdPlan::new(4, 3, 2, SvdOptions { power: SvdPower::Given(0), ..SvdOptions::default() }).unwrap();
        let mut factors = plan(4, 3, 1).unwrap().factors(&q).unwrap();
        let mut workspace = own.workspace(&q).unwrap();
        let a = TensorRef::contiguous(a.view(), &[4, 3]).unwrap();
        let refused = own.run(&q, a, &mut factors, &mut workspace).unwrap_err();
        assert_eq!(refused.to_string(), "`svd` expected u of shape [4, 2], got [4, 1]");
        let mut factors = own.factors(&q).unwrap();
        let mut workspace = plan(5, 3, 2).unwrap().workspace(&q).unwrap();
        let refused = own.run(&q, a, &mut factors, &mut workspace).unwrap_err();
        assert!(matches!(refused, NnError::ShapeMismatch { tensor: "a workspace", .. }), "{refused}");
    }
}
