//! Views of buffers with a layout: the operands and results of every operator.

use core::ops::Range;

use backend_api::{Buffer, BufferMut, BufferRef, Element, Mut, Queue, Ref};

use super::layout::Layout;
use crate::error::{NnError, Result};

/// A shared view of a queue's buffer with a layout: a tensor operand.
pub struct TensorRef<'a, Q: Queue + 'a, T: Element> {
    view: Ref<'a, Q, T>,
    layout: Layout,
}

impl<'a, Q: Queue + 'a, T: Element> TensorRef<'a, Q, T> {
    /// The elements of `view` that `layout` reaches.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`] if the layout reaches past the view.
    pub fn new(view: Ref<'a, Q, T>, layout: Layout) -> Result<Self> {
        if view.len() < layout.span() {
            return Err(NnError::ViewTooShort { expected: layout.span(), got: view.len() });
        }
        Ok(Self { view, layout })
    }

    /// A view that is known to be as long as the layout reaches.
    pub(crate) fn whole(view: Ref<'a, Q, T>, layout: Layout) -> Self {
        Self { view, layout }
    }

    /// A row-major tensor of `shape` from the start of `view`.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Layout::contiguous`].
    pub fn contiguous(view: Ref<'a, Q, T>, shape: &[usize]) -> Result<Self> {
        Self::new(view, Layout::contiguous(shape)?)
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] with fewer than two axes.
    pub fn transposed(&self) -> Result<Self> {
        Ok(Self { view: self.view, layout: self.layout.transposed()? })
    }

    /// The elements with these indices along an axis.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::Slice`] if it is shorter.
    pub fn narrowed(&self, axis: usize, range: Range<usize>) -> Result<Self> {
        let (first, layout) = self.layout.narrowed("slice", axis, range)?;
        Self::new(self.view.slice(first..first + layout.span())?, layout)
    }

    /// The same elements with the axes in another order; see [`Layout::permuted`].
    ///
    /// # Errors
    /// As [`Layout::permuted`].
    pub fn permuted(&self, axes: &[usize]) -> Result<Self> {
        Ok(Self { view: self.view, layout: self.layout.permuted(axes)? })
    }

    /// The same elements in another shape, in their row-major order.
    ///
    /// The elements must lie without gaps.
    ///
    /// # Errors
    /// [`NnError::Length`] for a shape of another number of elements, [`NnError::InvalidStride`] if
    /// the elements lie otherwise; otherwise as [`Layout::contiguous`].
    pub fn reshaped(&self, shape: &[usize]) -> Result<Self> {
        Ok(Self { view: self.view, layout: self.layout.reshaped(shape)? })
    }

    /// The elements with one index along `axis`, without that axis.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::Slice`] if it is shorter.
    pub fn indexed(&self, axis: usize, index: usize) -> Result<Self> {
        let (first, layout) = self.layout.indexed(axis, index)?;
        Self::new(self.view.slice(first..first + layout.span())?, layout)
    }

    /// The elements repeated up to `shape`; see [`Layout::broadcast`].
    ///
    /// # Errors
    /// As [`Layout::broadcast`].
    pub fn broadcast(&self, shape: &[usize]) -> Result<Self> {
        Ok(Self { view: self.view, layout: self.layout.broadcast(shape)? })
    }

    /// The same tensor with a shorter lifetime.
    ///
    /// In code that is generic over the queue, views do not shorten by themselves, and operands
    /// that an op takes in one list share a lifetime.
    ///
    /// ```
    /// use backend_api::{Element, Queue};
    /// use nn_ops::{Tensor, TensorRef};
    ///
    /// /// Elements of both, in this order.
    /// fn elements<Q: Queue, T: Element>(of: [TensorRef<'_, Q, T>; 2]) -> [usize; 2] {
    ///     of.map(|tensor| tensor.layout().numel())
    /// }
    ///
    /// /// `x` lives longer than what is made here.
    /// fn beside_zeros<Q: Queue>(q: &Q, x: TensorRef<'_, Q, f32>) -> Result<[usize; 2], nn_ops::NnError> {
    ///     let own = Tensor::<Q, f32>::from_values(q, &[2], &[0.0; 2])?;
    ///     Ok(elements([x.shorten(), own.at()]))
    /// }
    ///
    /// let q = runtime::cpu()?;
    /// let x = Tensor::from_values(&q, &[3], &[1.0f32; 3])?;
    /// assert_eq!(beside_zeros(&q, x.at())?, [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shorten<'s>(&self) -> TensorRef<'s, Q, T>
    where
        'a: 's,
    {
        TensorRef { view: Q::Buf::<T>::shorten(self.view), layout: self.layout }
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The view that the layout applies to.
    #[must_use]
    pub fn view(&self) -> Ref<'a, Q, T> {
        self.view
    }
}

copied_views!(TensorRef<'a, Q: Queue, T: Element>);

impl<'a, Q: Queue + 'a, T: Element> core::fmt::Debug for TensorRef<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TensorRef")
            .field("element", &core::any::type_name::<T>())
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// An exclusive view of a queue's buffer with a layout: a tensor result.
///
/// The elements of the layout do not overlap.
pub struct TensorMut<'a, Q: Queue + 'a, T: Element> {
    view: Mut<'a, Q, T>,
    layout: Layout,
}

impl<'a, Q: Queue + 'a, T: Element> TensorMut<'a, Q, T> {
    /// The elements of `view` that `layout` reaches.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`] if the layout reaches past the view, [`NnError::InvalidStride`] if
    /// elements overlap.
    pub fn new(view: Mut<'a, Q, T>, layout: Layout) -> Result<Self> {
        if view.len() < layout.span() {
            return Err(NnError::ViewTooShort { expected: layout.span(), got: view.len() });
        }
        if !layout.is_injective() {
            return Err(NnError::InvalidStride {
                op: "tensor",
                tensor: "a result",
                strides: layout.strides().to_vec(),
                why: "its elements overlap",
            });
        }
        Ok(Self { view, layout })
    }

    /// A view that is known to cover `layout`, the layout of a row-major tensor.
    pub(crate) fn whole(view: Mut<'a, Q, T>, layout: Layout) -> Self {
        Self { view, layout }
    }

    /// A row-major tensor of `shape` from the start of `view`.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Layout::contiguous`].
    pub fn contiguous(view: Mut<'a, Q, T>, shape: &[usize]) -> Result<Self> {
        Self::new(view, Layout::contiguous(shape)?)
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The elements with these indices along an axis.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::Slice`] if it is shorter.
    pub fn narrowed(self, axis: usize, range: Range<usize>) -> Result<Self> {
        let (first, layout) = self.layout.narrowed("slice", axis, range)?;
        Self::new(self.view.slice(first..first + layout.span())?, layout)
    }

    /// The elements with one index along `axis`, without that axis.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::Slice`] if it is shorter.
    pub fn indexed(self, axis: usize, index: usize) -> Result<Self> {
        let (first, layout) = self.layout.indexed(axis, index)?;
        Self::new(self.view.slice(first..first + layout.span())?, layout)
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] with fewer than two axes.
    pub fn transposed(self) -> Result<Self> {
        let layout = self.layout.transposed()?;
        Ok(Self { view: self.view, layout })
    }

    /// The same elements with the axes in another order; see [`Layout::permuted`].
    ///
    /// # Errors
    /// As [`Layout::permuted`].
    pub fn permuted(self, axes: &[usize]) -> Result<Self> {
        let layout = self.layout.permuted(axes)?;
        Ok(Self { view: self.view, layout })
    }

    /// The same elements in another shape; see [`Layout::reshaped`].
    ///
    /// # Errors
    /// As [`Layout::reshaped`].
    pub fn reshaped(self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.reshaped(shape)?;
        Ok(Self { view: self.view, layout })
    }

    /// The same tensor with a shorter lifetime, as by [`TensorRef::shorten`].
    #[must_use]
    pub fn shorten<'s>(self) -> TensorMut<'s, Q, T>
    where
        'a: 's,
    {
        TensorMut { view: Q::Buf::<T>::shorten_mut(self.view), layout: self.layout }
    }

    /// Lends the tensor to an operator that consumes it.
    ///
    /// ```
    /// use nn_ops::{Map, Tensor, map_in_place};
    ///
    /// let q = runtime::cpu()?;
    /// let mut x = Tensor::from_values(&q, &[2, 2], &[4.0f32, 9.0, 16.0, 25.0])?;
    /// let mut column = x.at_mut().indexed(1, 0)?;
    /// map_in_place(&q, Map::Sqrt, column.reborrow())?;
    /// map_in_place(&q, Map::Neg, column)?;
    /// assert_eq!(x.values(&q)?, [-2.0, 9.0, -4.0, 25.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reborrow(&mut self) -> TensorMut<'_, Q, T> {
        TensorMut { view: Q::Buf::<T>::reborrow_mut(&mut self.view), layout: self.layout }
    }

    /// The tensor as an operand.
    pub(crate) fn read_only(self) -> TensorRef<'a, Q, T> {
        TensorRef { view: Q::Buf::<T>::read_only(self.view), layout: self.layout }
    }

    /// Gives the view back.
    #[must_use]
    pub fn into_view(self) -> Mut<'a, Q, T> {
        self.view
    }
}

impl<'a, Q: Queue + 'a, T: Element> core::fmt::Debug for TensorMut<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TensorMut")
            .field("element", &core::any::type_name::<T>())
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// A tensor argument of an operator, which a plan checks. It may be optional.
///
/// `'s` is the lifetime that all views of one op share.
pub(crate) trait Planned<'s>: Sized {
    /// The view that the op takes.
    type View;

    /// The elements that the operator works on, if they are laid out as planned.
    fn planned(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::View>;
}

impl<'s, 'a: 's, Q: Queue + 'a, T: Element> Planned<'s> for TensorRef<'a, Q, T> {
    type View = Ref<'s, Q, T>;

    #[inline]
    fn planned(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::View> {
        plan.admit(op, tensor, &self.layout)?;
        Ok(Q::Buf::<T>::shorten(self.view.slice(0..plan.span())?))
    }
}

impl<'s, 'a: 's, Q: Queue + 'a, T: Element> Planned<'s> for TensorMut<'a, Q, T> {
    type View = Mut<'s, Q, T>;

    #[inline]
    fn planned(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::View> {
        plan.admit(op, tensor, &self.layout)?;
        Ok(Q::Buf::<T>::shorten_mut(self.view.slice(0..plan.span())?))
    }
}

impl<'s, P: Planned<'s>> Planned<'s> for Option<P> {
    type View = Option<P::View>;

    #[inline]
    fn planned(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::View> {
        self.map(|given| given.planned(op, tensor, plan)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_that_a_layout_leaves_and_results_that_overlap_are_refused() {
        let q = runtime::cpu().unwrap();
        let mut buffer = q.zeros::<f32>(6).unwrap();
        let plan = Layout::contiguous(&[2, 3]).unwrap();
        let cut = operand(&q, buffer.slice(0..5).unwrap(), plan);
        assert_eq!(cut, Some(NnError::ViewTooShort { expected: 6, got: 5 }));
        assert_eq!(operand(&q, buffer.view(), plan), None);
        let repeated = Layout::strided(&[2, 3], &[0, 1]).unwrap();
        assert!(matches!(result(&q, buffer.view_mut(), repeated), Some(NnError::InvalidStride { op: "tensor", .. })));
        assert_eq!(result(&q, buffer.view_mut(), plan), None);
    }

    #[test]
    fn elements_without_gaps_take_any_shape_of_as_many() {
        let q = runtime::cpu().unwrap();
        let buffer = q.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let tensor = tensor(&q, buffer.view());
        assert_eq!(tensor.reshaped(&[3, 1, 2]).unwrap().layout().strides(), [2, 2, 1]);
        let other = tensor.reshaped(&[4, 2]).err();
        assert_eq!(other, Some(NnError::Length { op: "reshape", tensor: "a shape", expected: 6, got: 8 }));
        let turned = tensor.transposed().unwrap().reshaped(&[6]).err();
        assert!(matches!(turned, Some(NnError::InvalidStride { op: "reshape", .. })), "{turned:?}");
    }

    fn tensor<'a, Q: Queue + 'a>(_: &Q, view: Ref<'a, Q, f32>) -> TensorRef<'a, Q, f32> {
        TensorRef::contiguous(view, &[2, 3]).unwrap()
    }

    fn operand<'a, Q: Queue + 'a>(_: &Q, view: Ref<'a, Q, f32>, layout: Layout) -> Option<NnError> {
        TensorRef::<Q, f32>::new(view, layout).err()
    }

    fn result<'a, Q: Queue + 'a>(_: &Q, view: Mut<'a, Q, f32>, layout: Layout) -> Option<NnError> {
        TensorMut::<Q, f32>::new(view, layout).err()
    }
}
