//! Sums, means and extremes over any axes, and where an axis is greatest.

use backend_api::{Real, ops::tensor};
use core_types::params::{elementwise::MAX_RANK, tensor::ReduceParams};

use crate::{
    Reduction, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
};

const OP: &str = "reduce";

/// A checked reduction of a tensor over some of its axes.
///
/// The result has the shape of x without them. Tensors that are not row-major are packed by a copy.
///
/// Sums are taken in f64, in an order that depends on the shape alone, and rounded to f32, then to
/// the type. A sum over no elements is zero. An extreme is NaN if an element is. Axes that are not
/// neighbours take a copy of x on the device, in which they are.
///
/// ```
/// use nn_ops::{ReducePlan, Reduction, Tensor};
///
/// let q = runtime::cpu()?;
/// let x = Tensor::from_values(&q, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut y = Tensor::alloc(&q, &[2])?;
/// ReducePlan::new(&[2, 3], &[1], Reduction::Mean)?.run(&q, x.at(), y.at_mut())?;
/// assert_eq!(y.values(&q)?, [2.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducePlan {
    params: ReduceParams,
    x: Layout,
    y: Layout,
    /// The order of axes that moves the reduced ones to the end, if they are not neighbours.
    moved: Option<[usize; MAX_RANK]>,
}

impl ReducePlan {
    /// A plan for x of `shape`, whose `axes` are given in any order.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, or one is named twice;
    /// [`NnError::EmptyReduction`] if a mean or an extreme has no elements but results;
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape.
    pub fn new(shape: &[usize], axes: &[usize], reduction: Reduction) -> Result<Self> {
        let x = Layout::of(OP, shape)?;
        let mut reduced = vec![false; shape.len()];
        for &axis in axes {
            match reduced.get_mut(axis) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(NnError::Axis { op: OP, rank: shape.len(), axis }),
            }
        }
        let kept: Vec<usize> = (0..shape.len()).filter(|&axis| !reduced[axis]).collect();
        let gone: Vec<usize> = (0..shape.len()).filter(|&axis| reduced[axis]).collect();
        let y = Layout::of(OP, &kept.iter().map(|&axis| shape[axis]).collect::<Vec<_>>())?;
        let size = |axes: &[usize]| axes.iter().map(|&axis| shape[axis]).product::<usize>() as u64;
        // Axes of length 1 may stand between neighbours.
        let (first, last) = (gone.first().copied().unwrap_or(0), gone.last().copied().unwrap_or(0));
        let between = kept.iter().any(|&axis| axis > first && axis < last && shape[axis] != 1);
        let (moved, split) = match between {
            true => {
                let mut order = [0; MAX_RANK];
                order.iter_mut().zip(kept.iter().chain(&gone)).for_each(|(to, &from)| *to = from);
                (Some(order), kept.len())
            }
            false => (None, kept.iter().filter(|&&axis| axis < last).count()),
        };
        let split = if gone.is_empty() { kept.len() } else { split };
        let (outer, inner) = (size(&kept[..split]), size(&kept[split..]));
        let params = ReduceParams { reduction, reserved: 0, outer, len: size(&gone), inner };
        if params.len == 0 && reduction != Reduction::Sum && y.numel() > 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        Ok(Self { params, x, y, moved })
    }

    /// The layout of the result.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.y
    }

    /// Reduces the elements of x.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] from the
    /// device.
    pub fn run<Q: TensorOps, T: Real>(&self, q: &Q, x: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, T>) -> Result<()> {
        self.x.admit_shape(OP, "x", x.layout())?;
        let x = match &self.moved {
            Some(order) => x.permuted(&order[..self.x.rank()])?,
            None => x,
        };
        let (mut x, y) = (x.fit(OP, "x", &Layout::contiguous(x.layout().shape())?)?, y.fit(OP, "y", &self.y)?);
        let mut result = Unpacked::new();
        q.reduce(tensor::Reduce { params: &self.params, x: x.view(q)?, y: result.target(q, y)? })?;
        result.finish(q)
    }
}

/// `y = reduction of x over axes`; see [`ReducePlan`].
///
/// # Errors
/// As [`ReducePlan::new`] and [`ReducePlan::run`].
pub fn reduce<Q: TensorOps, T: Real>(
    q: &Q,
    reduction: Reduction,
    x: TensorRef<'_, Q, T>,
    axes: &[usize],
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    ReducePlan::new(x.layout().shape(), axes, reduction)?.run(q, x, y)
}

/// y is where x is greatest along `axis`: the lowest index of equal elements.
///
/// NaN counts as the greatest. y has the shape of x without the axis. Tensors that are not
/// row-major are packed by a copy.
///
/// # Errors
/// [`NnError::Axis`] if there is no such axis, [`NnError::EmptyReduction`] if it is empty and there
/// are results, [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] from
/// the device.
pub fn arg_max<Q: TensorOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    axis: usize,
    y: TensorMut<'_, Q, u32>,
) -> Result<()> {
    const OP: &str = "arg_max";
    let layout = Layout::of(OP, x.layout().shape())?;
    let (shape, params) = (layout.shape(), layout.around(OP, axis)?);
    let result = Layout::of(OP, &[&shape[..axis], &shape[axis + 1..]].concat())?;
    if params.len == 0 && result.numel() > 0 {
        return Err(NnError::EmptyReduction { op: OP });
    }
    let (mut x, y) = (x.fit(OP, "x", &layout)?, y.fit(OP, "y", &result)?);
    let mut places = Unpacked::new();
    q.arg_max(tensor::ArgMax { params: &params, x: x.view(q)?, y: places.target(q, y)? })?;
    places.finish(q)
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer, Queue};

    use super::*;

    #[test]
    fn every_choice_of_axes_gives_the_sums_of_a_plain_loop() {
        let q = runtime::cpu().unwrap();
        let shape = [2, 3, 1, 4];
        let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let dx = q.upload(&x).unwrap();
        for choice in 0..16u32 {
            let axes: Vec<usize> = (0..4).filter(|axis| choice >> axis & 1 == 1).rev().collect();
            let plan = ReducePlan::new(&shape, &axes, Reduction::Sum).unwrap();
            // Axis 1 is kept between axis 0 and one of the last two; axis 2 has one element.
            assert_eq!(plan.moved.is_some(), [5, 9, 13].contains(&choice), "{axes:?}");
            let mut want = vec![0.0; plan.layout().numel()];
            for (i, x) in x.iter().enumerate() {
                let index = [i / 12, i / 4 % 3, 0, i % 4];
                let kept = (0..4).filter(|axis| !axes.contains(axis));
                want[kept.fold(0, |at, axis| at * shape[axis] + index[axis])] += x;
            }
            let mut y = q.zeros::<f32>(want.len()).unwrap();
            let out = TensorMut::new(y.view_mut(), *plan.layout()).unwrap();
            plan.run(&q, TensorRef::contiguous(dx.view(), &shape).unwrap(), out).unwrap();
            assert_eq!(q.download(&y).unwrap(), want, "{axes:?}");
        }
    }

    #[test]
    fn axes_that_are_not_there_or_empty_are_refused() {
        let plan = |shape: &[usize], axes: &[usize], reduction| ReducePlan::new(shape, axes, reduction).err();
        assert_eq!(plan(&[2, 3], &[2], Reduction::Sum), Some(NnError::Axis { op: "reduce", rank: 2, axis: 2 }));
        assert_eq!(plan(&[2, 3], &[1, 1], Reduction::Sum), Some(NnError::Axis { op: "reduce", rank: 2, axis: 1 }));
        assert_eq!(plan(&[2, 0], &[1], Reduction::Max), Some(NnError::EmptyReduction { op: "reduce" }));
        assert_eq!(plan(&[2, 0], &[1], Reduction::Sum), None);
        assert_eq!(plan(&[0, 2], &[1], Reduction::Mean), None);
    }
}
