//! Low-rank residuals: matrices reduced to their greatest singular values.

use backend_api::{
    Buffer, Queue,
    ops::{factor::ScaleColumns, linalg::Axpby},
};
use core_types::params::factor::{MatrixParams, ScaleParams};

use super::{factors::SvdFactors, options::SvdOptions, plan::SvdPlan, workspace::SvdWorkspace};
use crate::{
    Activation, ElementwiseOps, FactorOps, GemmOps,
    error::Result,
    products::GemmPlan,
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "residual";

/// A checked compression of `[m, n]` residuals to rank `r`, and its application.
///
/// It is applied to a matrix of that shape.
///
/// Neither waits for the device, so residuals can be compressed on a [fork](backend_api::Fork) of
/// the queue while the main one goes on; joined before they are applied, they give the same bits as
/// in turn.
///
/// ```
/// use nn_ops::{ResidualPlan, SvdOptions, Tensor};
///
/// let q = runtime::cpu()?;
/// let residual = Tensor::from_values(&q, &[3, 2], &[1.0f32, 2.0, 2.0, 4.0, 3.0, 6.0])?; // rank 1
/// let plan = ResidualPlan::new(3, 2, 1, SvdOptions::default())?;
/// let (mut compressed, mut workspace) = (plan.compressed(&q)?, plan.workspace(&q)?);
/// plan.compress(&q, residual.at(), &mut compressed, &mut workspace)?;
/// let mut w = Tensor::from_values(&q, &[3, 2], &[0.0f32; 6])?;
/// plan.apply(&q, 0.5, &mut compressed, w.at_mut())?;
/// for (x, expected) in w.values(&q)?.into_iter().zip([0.5f32, 1.0, 1.0, 2.0, 1.5, 3.0]) {
///     assert!((x - expected).abs() < 1e-5);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualPlan {
    svd: SvdPlan,
    /// The product of the scaled left factor and the right one, added to a matrix.
    product: GemmPlan,
    left: Layout,
    right: Layout,
}

/// A residual of rank r, on the queue's device.
///
/// It has orthonormal columns `left [m, r]` and `right [n, r]`, and r singular values.
pub struct CompressedResidual<Q: Queue> {
    factors: SvdFactors<Q>,
    /// The left factor times the singular values and a number.
    scaled: Q::Buf<f32>,
    elements: [usize; 2],
}

impl<Q: Queue> CompressedResidual<Q> {
    /// The factors: [`u`](SvdFactors::u) is left, [`v`](SvdFactors::v) is right, not transposed.
    #[must_use]
    pub fn factors(&self) -> &SvdFactors<Q> {
        &self.factors
    }

    /// Elements of the factors, with singular values, divided by the elements of the residual.
    #[must_use]
    pub fn compression_ratio(&self) -> f64 {
        let [compressed, whole] = self.elements;
        compressed as f64 / whole as f64
    }
}

debug_fields!(CompressedResidual<Q: Queue> factors);

impl ResidualPlan {
    /// A plan for `[m, n]` residuals and rank `min(rank, m, n)`.
    ///
    /// # Errors
    /// As [`SvdPlan::new`].
    pub fn new(m: usize, n: usize, rank: usize, options: SvdOptions) -> Result<Self> {
        let svd = SvdPlan::new(m, n, rank, options)?;
        let (left, right) = (Layout::of(OP, &[m, svd.rank()])?, Layout::of(OP, &[n, svd.rank()])?);
        let layouts = [("left", &left), ("right transposed", &right.transposed()?), ("w", svd.layout())];
        let product = GemmPlan::build(OP, layouts, Activation::Identity, true)?;
        Ok(Self { svd, product, left, right })
    }

    /// The decomposition that compresses.
    #[must_use]
    pub fn svd(&self) -> &SvdPlan {
        &self.svd
    }

    /// Allocates memory for a compressed residual.
    ///
    /// Its contents are unspecified before [`compress`](Self::compress).
    ///
    /// # Errors
    /// [`NnError::Backend`](crate::NnError::Backend) for lack of memory.
    pub fn compressed<Q: Queue>(&self, q: &Q) -> Result<CompressedResidual<Q>> {
        let (shape, rank) = (self.svd.layout().shape(), self.svd.rank());
        let elements = [(shape[0] + shape[1] + 1) * rank, self.svd.layout().numel()];
        let scaled = q.alloc(self.left.numel())?;
        Ok(CompressedResidual { factors: self.svd.factors(q)?, scaled, elements })
    }

    /// Memory for the steps of a compression.
    ///
    /// # Errors
    /// [`NnError::Backend`](crate::NnError::Backend) for lack of memory.
    pub fn workspace<Q: Queue>(&self, q: &Q) -> Result<SvdWorkspace<Q>> {
        self.svd.workspace(q)
    }

    /// Compresses a residual.
    ///
    /// # Errors
    /// As [`SvdPlan::run`].
    pub fn compress<Q: FactorOps + GemmOps>(
        &self,
        q: &Q,
        residual: TensorRef<'_, Q, f32>,
        compressed: &mut CompressedResidual<Q>,
        workspace: &mut SvdWorkspace<Q>,
    ) -> Result<()> {
        self.svd.run(q, residual, &mut compressed.factors, workspace)
    }

    /// Compresses a residual together with the error of the compressions before.
    ///
    /// Nothing is lost for good: `error += residual`, then the sum is compressed, then
    /// `error -= left diag(sigma) right^T`. `error` has `m n` elements, row-major, zeros at first.
    ///
    /// # Errors
    /// As [`compress`](Self::compress); [`NnError::ViewTooShort`](crate::NnError::ViewTooShort) if
    /// `error` is too short. Errors of shapes change nothing. A residual that is not finite leaves
    /// `error` not finite.
    pub fn compress_with_feedback<Q: FactorOps + GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        residual: TensorRef<'_, Q, f32>,
        error: &mut Q::Buf<f32>,
        compressed: &mut CompressedResidual<Q>,
        workspace: &mut SvdWorkspace<Q>,
    ) -> Result<()> {
        let layout = *self.svd.layout();
        let x = residual.planned(OP, "residual", &layout)?;
        self.svd.admit(&compressed.factors, workspace)?;
        let sum = TensorMut::<Q, f32>::new(error.view_mut(), layout)?.planned(OP, "error", &layout)?;
        q.axpby(Axpby { alpha: 1.0, x: q.shorten(x), beta: 1.0, y: q.shorten_mut(sum) })?;
        self.compress(q, TensorRef::new(error.view(), layout)?, compressed, workspace)?;
        self.apply(q, -1.0, compressed, TensorMut::new(error.view_mut(), layout)?)
    }

    /// `w += alpha left diag(sigma) right^T`, without forming the product of the factors.
    ///
    /// Scratch memory in the
    /// residual is overwritten, its factors are not.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) or
    /// [`NnError::InvalidStride`](crate::NnError::InvalidStride) if w or the residual has another
    /// shape, [`NnError::Backend`](crate::NnError::Backend) from the device.
    pub fn apply<Q: FactorOps + GemmOps>(
        &self,
        q: &Q,
        alpha: f32,
        compressed: &mut CompressedResidual<Q>,
        w: TensorMut<'_, Q, f32>,
    ) -> Result<()> {
        let CompressedResidual { factors, scaled, .. } = compressed;
        let (u, s) = (factors.u().planned(OP, "left", &self.left)?, factors.s().view());
        let (v, w) = (factors.v().planned(OP, "right", &self.right)?, w.planned(OP, "w", self.svd.layout())?);
        let matrix = MatrixParams { rows: self.left.shape()[0] as u64, cols: self.left.shape()[1] as u64 };
        let params = ScaleParams { matrix, alpha };
        q.scale_columns(ScaleColumns { params: &params, x: u, factors: s, y: scaled.view_mut() })?;
        self.product.launch(q, scaled.view(), v, None, w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NnError;

    #[test]
    fn the_ratio_counts_both_factors_and_the_values_between() {
        let q = runtime::cpu().unwrap();
        let plan = ResidualPlan::new(512, 512, 4, SvdOptions::default()).unwrap();
        let ratio = plan.compressed(&q).unwrap().compression_ratio();
        assert_eq!(ratio, 4100.0 / 262_144.0);
    }

    #[test]
    fn what_is_refused_leaves_the_error_as_it_was() {
        let q = runtime::cpu().unwrap();
        let plan = |rank| ResidualPlan::new(4, 3, rank, SvdOptions::default()).unwrap();
        let residual = q.upload(&[1.0f32; 12]).unwrap();
        let mut error = q.zeros::<f32>(12).unwrap();
        for (of_factors, of_workspace) in [(1, 2), (2, 1)] {
            let mut compressed = plan(of_factors).compressed(&q).unwrap();
            let mut workspace = plan(of_workspace).workspace(&q).unwrap();
            let x = TensorRef::contiguous(residual.view(), &[4, 3]).unwrap();
            let refused = plan(2).compress_with_feedback(&q, x, &mut error, &mut compressed, &mut workspace);
            assert!(matches!(refused, Err(NnError::ShapeMismatch { op: "svd", .. })), "{refused:?}");
            assert_eq!(q.download(&error).unwrap(), [0.0; 12]);
        }
    }
}
