//! Shape and strides: where the elements of a tensor lie in a view.

use core::ops::Range;

use core_types::params::{elementwise::MAX_RANK, rows::AxisParams};

use crate::error::{NnError, Result, Shape};

/// Shape and strides of a tensor.
///
/// Element `[i0, i1, ..]` is element `i0 s0 + i1 s1 + ..` of a view.
///
/// The canonical layout is row-major and contiguous. A stride of 0 repeats an operand along an
/// axis.
///
/// ```
/// use nn_ops::Layout;
///
/// let a = Layout::contiguous(&[2, 3])?;
/// assert_eq!(a.strides(), [3, 1]);
/// assert_eq!(a.transposed()?.shape(), [3, 2]);
/// assert_eq!(a.transposed()?.strides(), [1, 3]);
/// assert_eq!(Layout::strided(&[4, 2, 3], &[0, 3, 1])?.span(), 6);
/// # Ok::<(), nn_ops::NnError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    // In few bytes, since tensors are handed on by value.
    rank: u8,
    // Beyond the rank, lengths are 1 and strides 0.
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    // What follows from the fields above, so that calls need not work it out again.
    span: usize,
    contiguous: bool,
    injective: bool,
}

impl Layout {
    /// The row-major layout of `shape` without gaps.
    ///
    /// # Errors
    /// [`NnError::TooManyAxes`] above six axes, [`NnError::Overflow`] if the elements cannot be
    /// counted.
    #[inline]
    pub fn contiguous(shape: &[usize]) -> Result<Self> {
        Self::of("layout", shape)
    }

    /// [`contiguous`](Self::contiguous) on behalf of an operator, which its errors name.
    #[inline]
    pub(crate) fn of(op: &'static str, shape: &[usize]) -> Result<Self> {
        let (mut layout, numel) = Self::of_shape(op, shape)?;
        let mut next = 1;
        for (stride, &len) in layout.strides.iter_mut().zip(shape).rev() {
            *stride = next;
            next *= len.max(1); // counted by `of_shape`
        }
        Ok(Self { span: numel, contiguous: true, injective: true, ..layout })
    }

    /// The layout of `shape` with one stride for each axis, in elements.
    ///
    /// # Errors
    /// [`NnError::InvalidStride`] unless there is a stride for each axis, [`NnError::TooManyAxes`]
    /// above six, [`NnError::Overflow`] if an index wraps.
    pub fn strided(shape: &[usize], strides: &[usize]) -> Result<Self> {
        let (mut layout, numel) = Self::of_shape("layout", shape)?;
        if shape.len() != strides.len() {
            let (strides, why) = (strides.to_vec(), "expected one stride for each axis");
            return Err(NnError::InvalidStride { op: "layout", tensor: "a tensor", strides, why });
        }
        let overflow = NnError::Overflow { op: "layout" };
        let mut last = 0usize;
        for (&len, &stride) in shape.iter().zip(strides) {
            let reach = stride.checked_mul(len.saturating_sub(1)).ok_or_else(|| overflow.clone())?;
            last = last.checked_add(reach).ok_or_else(|| overflow.clone())?;
        }
        layout.span = if numel == 0 { 0 } else { last.checked_add(1).ok_or(overflow)? };
        layout.strides[..shape.len()].copy_from_slice(strides);
        Ok(layout.examined())
    }

    /// A layout of `shape` whose strides are still to be filled in, and its number of elements.
    #[inline]
    fn of_shape(op: &'static str, shape: &[usize]) -> Result<(Self, usize)> {
        if shape.len() > MAX_RANK {
            return Err(NnError::TooManyAxes { max: MAX_RANK, got: shape.len() });
        }
        // Empty axes count as 1: products of some of the axes can be counted then, too.
        let count = shape.iter().try_fold(1usize, |n, &len| n.checked_mul(len.max(1)));
        let count = count.filter(|&n| n <= isize::MAX as usize).ok_or(NnError::Overflow { op })?;
        let numel = if shape.contains(&0) { 0 } else { count };
        let (mut lens, strides) = ([1; MAX_RANK], [0; MAX_RANK]);
        lens[..shape.len()].copy_from_slice(shape);
        let rank = shape.len() as u8; // at most six
        Ok((Self { rank, shape: lens, strides, span: 0, contiguous: false, injective: false }, numel))
    }

    /// This layout, with what follows from its shape and strides filled in.
    fn examined(self) -> Self {
        let mut next = 1;
        let contiguous = self.span == 0
            || self.shape().iter().zip(self.strides()).rev().all(|(&len, &stride)| {
                let fits = len == 1 || stride == next;
                next *= len;
                fits
            });
        Self { contiguous, injective: contiguous || self.nests(), ..self }
    }

    /// Whether the stride of each axis exceeds the reach of all axes with smaller strides.
    fn nests(&self) -> bool {
        let mut axes = [(0, 0); MAX_RANK];
        let axes = &mut axes[..self.rank()];
        for (axis, pair) in axes.iter_mut().zip(self.strides().iter().copied().zip(self.shape().iter().copied())) {
            *axis = pair;
        }
        axes.sort_unstable();
        let mut reach = 0;
        axes.iter().filter(|&&(_, len)| len > 1).all(|&(stride, len)| {
            let apart = stride > reach;
            reach += stride * (len - 1); // below the span
            apart
        })
    }

    /// The length of each axis, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank()]
    }

    /// The stride of each axis in elements, outermost first.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.rank()]
    }

    /// The lengths of six axes in a launch record, 1 beyond the rank.
    pub(crate) fn six_lengths(&self) -> [u64; MAX_RANK] {
        self.shape.map(|len| len as u64)
    }

    /// The strides of six axes in a launch record, 0 beyond the rank.
    pub(crate) fn six_strides(&self) -> [u64; MAX_RANK] {
        self.strides.map(|stride| stride as u64)
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// The lengths of all axes, for an operator that needs a `tensor` of `RANK` axes.
    pub(crate) fn lengths<const RANK: usize>(&self, op: &'static str, tensor: &'static str) -> Result<[usize; RANK]> {
        self.shape().try_into().map_err(|_| NnError::Rank { op, tensor, expected: RANK, got: self.rank() })
    }

    /// Elements before, along and after an axis.
    pub(crate) fn around(&self, op: &'static str, axis: usize) -> Result<AxisParams> {
        let shape = self.shape();
        let Some(&len) = shape.get(axis) else { return Err(NnError::Axis { op, rank: shape.len(), axis }) };
        let size = |axes: &[usize]| axes.iter().product::<usize>() as u64;
        Ok(AxisParams { outer: size(&shape[..axis]), len: len as u64, inner: size(&shape[axis + 1..]) })
    }

    /// Number of elements; 1 for no axes.
    #[must_use]
    pub fn numel(&self) -> usize {
        if self.contiguous { self.span } else { self.shape().iter().product() }
    }

    /// Number of elements that a view needs.
    ///
    /// One more than the largest index, or 0 if there are no elements.
    #[must_use]
    pub fn span(&self) -> usize {
        self.span
    }

    /// Whether the elements lie in row-major order without gaps.
    ///
    /// Strides of axes of length 1 do not matter.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether no two indices share an element.
    ///
    /// The criterion is whether the axes nest: a layout whose axes interleave counts as overlapping
    /// even if it happens not to overlap.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        self.injective
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] with fewer than two axes.
    pub fn transposed(&self) -> Result<Self> {
        let rank = self.rank();
        if rank < 2 {
            return Err(NnError::TooFewAxes { op: "transpose", min: 2, got: rank });
        }
        let mut t = *self;
        t.shape.swap(rank - 1, rank - 2);
        t.strides.swap(rank - 1, rank - 2);
        Ok(t.examined())
    }

    /// The same elements with the axes in another order: axis i of the result is axis `axes[i]`.
    ///
    /// # Errors
    /// [`NnError::Rank`] for another number of axes, [`NnError::Axis`] if one is not there or named
    /// twice.
    pub fn permuted(&self, axes: &[usize]) -> Result<Self> {
        const OP: &str = "permute";
        if axes.len() != self.rank() {
            return Err(NnError::Rank { op: OP, tensor: "a tensor", expected: self.rank(), got: axes.len() });
        }
        let mut seen = [false; MAX_RANK];
        let mut permuted = *self;
        for (to, &from) in axes.iter().enumerate() {
            if from >= self.rank() || core::mem::replace(&mut seen[from], true) {
                return Err(NnError::Axis { op: OP, rank: self.rank(), axis: from });
            }
            (permuted.shape[to], permuted.strides[to]) = (self.shape[from], self.strides[from]);
        }
        Ok(permuted.examined())
    }

    /// The layout of a range of indices along `axis`, after the place of its first element.
    ///
    /// The place is in a view of the whole layout.
    pub(crate) fn narrowed(&self, op: &'static str, axis: usize, range: Range<usize>) -> Result<(usize, Self)> {
        let Some(&len) = self.shape().get(axis) else { return Err(NnError::Axis { op, rank: self.rank(), axis }) };
        if range.start > range.end || range.end > len {
            return Err(NnError::Slice { op, len, start: range.start, end: range.end });
        }
        let mut shape = self.shape;
        shape[axis] = range.len();
        let layout = Self::strided(&shape[..self.rank()], self.strides())?;
        // Nothing is reached of an empty slice, which may lie at the end.
        Ok((if layout.span == 0 { 0 } else { range.start * self.strides[axis] }, layout))
    }

    /// The layout of one index along `axis`, without that axis.
    ///
    /// It comes after the place of its first element in a view of the whole layout.
    pub(crate) fn indexed(&self, axis: usize, index: usize) -> Result<(usize, Self)> {
        let (first, one) = self.narrowed("index", axis, index..index.saturating_add(1))?;
        let without = |all: &[usize]| [&all[..axis], &all[axis + 1..]].concat();
        Ok((first, Self::strided(&without(one.shape()), &without(one.strides()))?))
    }

    /// The same elements in another shape, in their row-major order.
    ///
    /// The elements must lie without gaps.
    ///
    /// # Errors
    /// [`NnError::Length`] for a shape of another number of elements, [`NnError::InvalidStride`] if
    /// the elements lie otherwise; otherwise as [`contiguous`](Self::contiguous).
    pub fn reshaped(&self, shape: &[usize]) -> Result<Self> {
        const OP: &str = "reshape";
        Self::contiguous(self.shape())?.admit(OP, "a tensor", self)?;
        let layout = Self::contiguous(shape)?;
        if layout.numel() != self.numel() {
            return Err(NnError::Length { op: OP, tensor: "a shape", expected: self.numel(), got: layout.numel() });
        }
        Ok(layout)
    }

    /// This layout repeated with zero strides up to `shape`, by the rules of NumPy.
    ///
    /// Axes are matched from the last one. An axis that has length 1 or is missing stretches.
    ///
    /// # Errors
    /// [`NnError::Broadcast`] if an axis has neither length 1 nor the requested length.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Self> {
        self.broadcast_by("broadcast", shape)
    }

    /// [`broadcast`](Self::broadcast) on behalf of an operator.
    pub(crate) fn broadcast_by(&self, op: &'static str, shape: &[usize]) -> Result<Self> {
        let mismatch = || NnError::Broadcast { op, lhs: Shape::from(self), rhs: Shape::from(shape) };
        let missing = shape.len().checked_sub(self.rank()).ok_or_else(mismatch)?;
        if shape.len() > MAX_RANK {
            return Err(NnError::TooManyAxes { max: MAX_RANK, got: shape.len() });
        }
        let mut strides = [0; MAX_RANK];
        for axis in 0..self.rank() {
            match (self.shape[axis], shape[missing + axis]) {
                (len, wanted) if len == wanted => strides[missing + axis] = self.strides[axis],
                (1, _) => {}
                _ => return Err(mismatch()),
            }
        }
        Self::strided(shape, &strides[..shape.len()])
    }

    /// Whether the elements of a result fill a view, in whatever order.
    pub(crate) fn is_dense(&self) -> bool {
        self.injective && self.span == self.numel()
    }

    /// Refuses an operand with a different shape.
    #[inline]
    pub(crate) fn admit_shape(&self, op: &'static str, tensor: &'static str, operand: &Self) -> Result<()> {
        if self.rank == operand.rank && self.shape == operand.shape {
            return Ok(());
        }
        Err(NnError::shape(op, tensor, self, operand))
    }

    /// Refuses an operand with a different shape, or whose elements are laid out differently.
    #[inline]
    pub(crate) fn admit(&self, op: &'static str, tensor: &'static str, operand: &Self) -> Result<()> {
        if self.rank == operand.rank
            && self.shape == operand.shape
            && (self.contiguous && operand.contiguous || self.strides == operand.strides)
        {
            return Ok(());
        }
        Err(self.refusal(op, tensor, operand))
    }

    #[cold]
    fn refusal(&self, op: &'static str, tensor: &'static str, operand: &Self) -> NnError {
        if self.shape() != operand.shape() {
            return NnError::shape(op, tensor, self, operand);
        }
        let why = match self.contiguous {
            true => "the elements are not in row-major order without gaps",
            false => "the plan was made for different strides",
        };
        NnError::InvalidStride { op, tensor, strides: operand.strides().to_vec(), why }
    }
}

/// The common shape of two shapes by the rules of NumPy, if there is one.
pub(crate) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
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

impl From<&Layout> for Shape {
    fn from(layout: &Layout) -> Self {
        Self::from(layout.shape())
    }
}

impl core::fmt::Debug for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Layout").field("shape", &self.shape()).field("strides", &self.strides()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core_types::params::tensor::Reduction;

    use super::*;
    use crate::{
        rows::{CrossEntropyPlan, ReducePlan, SoftmaxPlan},
        tensor::owned::Tensor,
    };

    #[test]
    fn overlapping_layouts_are_recognised() {
        let injective = |shape: &[usize], strides: &[usize]| Layout::strided(shape, strides).unwrap().is_injective();
        assert!(injective(&[2, 3], &[3, 1]));
        assert!(injective(&[2, 3], &[1, 2]));
        assert!(injective(&[5, 1], &[1, 0]));
        assert!(!injective(&[2, 3], &[2, 1]));
        assert!(!injective(&[2, 3], &[0, 1]));
        assert!(injective(&[0, 3], &[0, 0]));
    }

    #[test]
    fn contiguity_ignores_axes_of_length_one() {
        assert!(Layout::contiguous(&[4, 1, 3]).unwrap().is_contiguous());
        assert!(Layout::strided(&[4, 1, 3], &[3, 77, 1]).unwrap().is_contiguous());
        assert!(!Layout::strided(&[4, 3], &[4, 1]).unwrap().is_contiguous());
        assert!(Layout::contiguous(&[]).unwrap().is_contiguous());
        assert_eq!(Layout::contiguous(&[]).unwrap().numel(), 1);
    }

    #[test]
    fn a_plan_admits_any_strides_without_gaps_or_its_own() {
        let (dense, gaps) = (Layout::contiguous(&[4, 1, 3]).unwrap(), Layout::strided(&[4, 1, 3], &[4, 1, 1]).unwrap());
        let same = Layout::strided(&[4, 1, 3], &[3, 77, 1]).unwrap();
        for (plan, operand) in [(&dense, &same), (&same, &dense), (&gaps, &gaps)] {
            assert_eq!(plan.admit("op", "x", operand), Ok(()));
        }
        let why = |plan: &Layout, operand: &Layout| match plan.admit("op", "x", operand) {
            Err(NnError::InvalidStride { op: "op", tensor: "x", why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(&dense, &gaps), "the elements are not in row-major order without gaps");
        assert_eq!(why(&gaps, &dense), "the plan was made for different strides");
        let other = dense.admit("op", "x", &Layout::contiguous(&[4, 3]).unwrap());
        assert!(matches!(other, Err(NnError::ShapeMismatch { op: "op", tensor: "x", .. })), "{other:?}");
    }

    #[test]
    fn hostile_shapes_are_refused() {
        assert!(matches!(Layout::contiguous(&[usize::MAX, 2]), Err(NnError::Overflow { .. })));
        assert!(matches!(Layout::contiguous(&[usize::MAX]), Err(NnError::Overflow { .. })));
        assert!(matches!(Layout::contiguous(&[0, usize::MAX, 3]), Err(NnError::Overflow { .. })));
        assert!(matches!(Layout::strided(&[3, 3], &[usize::MAX, 1]), Err(NnError::Overflow { .. })));
        assert!(matches!(Layout::contiguous(&[1; 7]), Err(NnError::TooManyAxes { max: 6, got: 7 })));
        assert!(Layout::contiguous(&[2, 3]).unwrap().broadcast(&[3]).is_err());
        assert!(Layout::contiguous(&[2, 3]).unwrap().broadcast(&[3, 3]).is_err());
    }

    #[test]
    fn shapes_that_no_tensor_has_are_refused_by_who_asked_for_them() {
        let far = [usize::MAX, 2];
        let op = |refused: Option<NnError>| match refused {
            Some(NnError::Overflow { op }) => op,
            other => panic!("{other:?}"),
        };
        assert_eq!(op(Layout::contiguous(&far).err()), "layout");
        assert_eq!(op(SoftmaxPlan::new(&far, 0).err()), "softmax");
        assert_eq!(op(ReducePlan::new(&far, &[0], Reduction::Sum).err()), "reduce");
        assert_eq!(op(CrossEntropyPlan::for_probs(usize::MAX, 2).err()), "cross_entropy_probs");
        let q = runtime::cpu().unwrap();
        assert_eq!(op(Tensor::<_, f32>::alloc(&q, &far).err()), "tensor");
    }

    #[test]
    fn axes_are_permuted_and_sliced() {
        let layout = Layout::contiguous(&[2, 3, 4]).unwrap();
        let permuted = layout.permuted(&[2, 0, 1]).unwrap();
        assert_eq!((permuted.shape(), permuted.strides()), (&[4, 2, 3][..], &[1, 12, 4][..]));
        assert!(matches!(layout.permuted(&[0, 1]), Err(NnError::Rank { expected: 3, got: 2, .. })));
        assert!(matches!(layout.permuted(&[0, 1, 1]), Err(NnError::Axis { axis: 1, .. })));
        assert!(matches!(layout.permuted(&[0, 1, 3]), Err(NnError::Axis { axis: 3, .. })));
        let (first, slice) = layout.narrowed("slice", 1, 1..3).unwrap();
        assert_eq!((first, slice.shape(), slice.span()), (4, &[2, 2, 4][..], 20));
        assert_eq!(layout.narrowed("slice", 2, 4..4).unwrap().0, 0);
        let (first, row) = layout.indexed(1, 2).unwrap();
        assert_eq!((first, row.shape(), row.strides()), (8, &[2, 4][..], &[12, 1][..]));
        for (index, end) in [(3, 4), (usize::MAX, usize::MAX)] {
            let past = layout.indexed(1, index);
            assert_eq!(past.err(), Some(NnError::Slice { op: "index", len: 3, start: index, end }));
        }
        assert_eq!(layout.indexed(3, 0).err(), Some(NnError::Axis { op: "index", rank: 3, axis: 3 }));
        let past = layout.narrowed("slice", 1, 2..4);
        assert_eq!(past.err(), Some(NnError::Slice { op: "slice", len: 3, start: 2, end: 4 }));
    }

    #[test]
    fn broadcasting_follows_numpy() {
        let row = Layout::contiguous(&[3]).unwrap().broadcast(&[2, 3]).unwrap();
        assert_eq!((row.shape(), row.strides()), (&[2, 3][..], &[0, 1][..]));
        let col = Layout::contiguous(&[2, 1]).unwrap().broadcast(&[5, 2, 3]).unwrap();
        assert_eq!(col.strides(), [0, 1, 0]);
    }
}
