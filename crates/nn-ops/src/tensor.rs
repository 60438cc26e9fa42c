use backend_api::{Buffer, BufferMut, BufferRef, Mut, Queue, Real, Ref};
use core_types::params::elementwise::MAX_RANK;

use crate::{NnError, Shape};

/// Shape and strides of a tensor: where element `[i0, i1, ..]` lies in a view, namely at `i0 s0 + i1 s1 + ..` elements.
///
/// The canonical layout is row-major and contiguous. A stride of 0 repeats an operand along an axis.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    span: usize,
}

impl Layout {
    /// The row-major layout of `shape` without gaps.
    ///
    /// # Errors
    /// [`NnError::TooManyAxes`] above six axes, [`NnError::Overflow`] if the elements cannot be counted.
    pub fn contiguous(shape: &[usize]) -> Result<Self, NnError> {
        let mut strides = [0; MAX_RANK];
        if shape.len() > MAX_RANK {
            return Err(NnError::TooManyAxes { max: MAX_RANK, got: shape.len() });
        }
        let mut next = 1usize;
        for (stride, &len) in strides[..shape.len()].iter_mut().zip(shape).rev() {
            *stride = next;
            next = next.checked_mul(len.max(1)).ok_or(NnError::Overflow { op: "layout" })?;
        }
        Self::strided(shape, &strides[..shape.len()])
    }

    /// The layout of `shape` with one stride for each axis, in elements.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if the numbers of axes differ, [`NnError::TooManyAxes`] above six,
    /// [`NnError::Overflow`] if an index wraps.
    pub fn strided(shape: &[usize], strides: &[usize]) -> Result<Self, NnError> {
        if shape.len() > MAX_RANK {
            return Err(NnError::TooManyAxes { max: MAX_RANK, got: shape.len() });
        }
        if shape.len() != strides.len() {
            return Err(NnError::ShapeMismatch { op: "layout", lhs: Shape::from(shape), rhs: Shape::from(strides) });
        }
        let overflow = NnError::Overflow { op: "layout" };
        let numel = shape.iter().try_fold(1usize, |n, &len| n.checked_mul(len.max(1)));
        if numel.is_none_or(|n| n > isize::MAX as usize) {
            return Err(overflow);
        }
        let mut last = 0usize;
        for (&len, &stride) in shape.iter().zip(strides) {
            let reach = stride.checked_mul(len.saturating_sub(1)).ok_or_else(|| overflow.clone())?;
            last = last.checked_add(reach).ok_or_else(|| overflow.clone())?;
        }
        let span = if shape.contains(&0) { 0 } else { last.checked_add(1).ok_or(overflow)? };
        let mut layout = Self { rank: shape.len(), shape: [1; MAX_RANK], strides: [0; MAX_RANK], span };
        layout.shape[..shape.len()].copy_from_slice(shape);
        layout.strides[..shape.len()].copy_from_slice(strides);
        Ok(layout)
    }

    /// The length of each axis, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// The stride of each axis in elements, outermost first.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of elements; 1 for no axes.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.shape().iter().product() // checked when built
    }

    /// Elements that a view needs: one more than the largest index, 0 without elements.
    #[must_use]
    pub fn span(&self) -> usize {
        self.span
    }

    /// Whether the elements lie in row-major order without gaps. Strides of axes of length 1 do not matter.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut next = 1;
        self.numel() == 0
            || self.shape().iter().zip(self.strides()).rev().all(|(&len, &stride)| {
                let fits = len == 1 || stride == next;
                next *= len;
                fits
            })
    }

    /// Whether no two indices share an element, decided by nesting of the axes: a layout whose axes interleave is reported as
    /// overlapping even if it happens not to be.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        let mut axes: Vec<(usize, usize)> =
            self.strides().iter().copied().zip(self.shape().iter().copied()).filter(|&(_, len)| len > 1).collect();
        axes.sort_unstable();
        let mut reach = 0;
        self.numel() == 0
            || axes.into_iter().all(|(stride, len)| {
                let apart = stride > reach;
                reach += stride * (len - 1); // below the span
                apart
            })
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::Rank`] with fewer than two axes.
    pub fn transposed(&self) -> Result<Self, NnError> {
        if self.rank < 2 {
            return Err(NnError::Rank { op: "transpose", expected: 2, got: self.rank });
        }
        let mut t = *self;
        t.shape.swap(self.rank - 1, self.rank - 2);
        t.strides.swap(self.rank - 1, self.rank - 2);
        Ok(t)
    }

    /// This layout repeated by zero strides up to `shape`, by the rules of NumPy: axes are matched from the last one, and an
    /// axis of length 1 or a missing one stretches.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if an axis has neither length 1 nor the length asked for.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Self, NnError> {
        let mismatch = || NnError::ShapeMismatch { op: "broadcast", lhs: Shape::from(self), rhs: Shape::from(shape) };
        let missing = shape.len().checked_sub(self.rank).ok_or_else(mismatch)?;
        let mut strides = vec![0; shape.len()];
        for axis in 0..self.rank {
            match (self.shape[axis], shape[missing + axis]) {
                (len, wanted) if len == wanted => strides[missing + axis] = self.strides[axis],
                (1, _) => {}
                _ => return Err(mismatch()),
            }
        }
        Self::strided(shape, &strides)
    }
}

/// A shared view of a queue's buffer with a layout: a tensor operand.
pub struct TensorRef<'a, Q: Queue + 'a, T: Real> {
    view: Ref<'a, Q, T>,
    layout: Layout,
}

impl<'a, Q: Queue + 'a, T: Real> TensorRef<'a, Q, T> {
    /// The elements of `view` that `layout` reaches.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`] if the layout reaches past the view.
    pub fn new(view: Ref<'a, Q, T>, layout: Layout) -> Result<Self, NnError> {
        if view.len() < layout.span() {
            return Err(NnError::ViewTooShort { expected: layout.span(), got: view.len() });
        }
        Ok(Self { view, layout })
    }

    /// A row-major tensor of `shape` from the start of `view`.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Layout::contiguous`].
    pub fn contiguous(view: Ref<'a, Q, T>, shape: &[usize]) -> Result<Self, NnError> {
        Self::new(view, Layout::contiguous(shape)?)
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::Rank`] with fewer than two axes.
    pub fn transposed(&self) -> Result<Self, NnError> {
        Ok(Self { view: self.view, layout: self.layout.transposed()? })
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Exactly the elements of a contiguous tensor.
    pub(crate) fn flat<'s>(&self, op: &'static str) -> Result<Ref<'s, Q, T>, NnError>
    where
        'a: 's,
    {
        contiguous_or(op, &self.layout)?;
        Ok(Q::Buf::<T>::shorten(self.view.slice(0..self.layout.numel())?))
    }

    /// The view that the layout applies to.
    #[must_use]
    pub fn view(&self) -> Ref<'a, Q, T> {
        self.view
    }
}

impl<'a, Q: Queue + 'a, T: Real> Clone for TensorRef<'a, Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a, T: Real> Copy for TensorRef<'a, Q, T> {}

impl<'a, Q: Queue + 'a, T: Real> core::fmt::Debug for TensorRef<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TensorRef").field("dtype", &T::DTYPE).field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// An exclusive view of a queue's buffer with a layout whose elements do not overlap: a tensor result.
pub struct TensorMut<'a, Q: Queue + 'a, T: Real> {
    view: Mut<'a, Q, T>,
    layout: Layout,
}

impl<'a, Q: Queue + 'a, T: Real> TensorMut<'a, Q, T> {
    /// The elements of `view` that `layout` reaches.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`] if the layout reaches past the view, [`NnError::InvalidStride`] if elements overlap.
    pub fn new(view: Mut<'a, Q, T>, layout: Layout) -> Result<Self, NnError> {
        if view.len() < layout.span() {
            return Err(NnError::ViewTooShort { expected: layout.span(), got: view.len() });
        }
        if !layout.is_injective() {
            return Err(NnError::InvalidStride {
                op: "output",
                strides: layout.strides().to_vec(),
                why: "elements of the output overlap",
            });
        }
        Ok(Self { view, layout })
    }

    /// A row-major tensor of `shape` from the start of `view`.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Layout::contiguous`].
    pub fn contiguous(view: Mut<'a, Q, T>, shape: &[usize]) -> Result<Self, NnError> {
        Self::new(view, Layout::contiguous(shape)?)
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Exactly the elements of a contiguous tensor.
    pub(crate) fn flat<'s>(self, op: &'static str) -> Result<Mut<'s, Q, T>, NnError>
    where
        'a: 's,
    {
        contiguous_or(op, &self.layout)?;
        let numel = self.layout.numel();
        Ok(Q::Buf::<T>::shorten_mut(self.view.slice(0..numel)?))
    }

    /// Gives the view back.
    #[must_use]
    pub fn into_view(self) -> Mut<'a, Q, T> {
        self.view
    }
}

impl<'a, Q: Queue + 'a, T: Real> core::fmt::Debug for TensorMut<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TensorMut").field("dtype", &T::DTYPE).field("layout", &self.layout).finish_non_exhaustive()
    }
}

fn contiguous_or(op: &'static str, layout: &Layout) -> Result<(), NnError> {
    if layout.is_contiguous() {
        return Ok(());
    }
    let strides = layout.strides().to_vec();
    Err(NnError::InvalidStride { op, strides, why: "the elements are not in row-major order without gaps" })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn broadcasting_follows_numpy() {
        let row = Layout::contiguous(&[3]).unwrap().broadcast(&[2, 3]).unwrap();
        assert_eq!((row.shape(), row.strides()), (&[2, 3][..], &[0, 1][..]));
        let col = Layout::contiguous(&[2, 1]).unwrap().broadcast(&[5, 2, 3]).unwrap();
        assert_eq!(col.strides(), [0, 1, 0]);
    }
}
