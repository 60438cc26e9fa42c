//! Packed copies of operands and results of any layout, for ops on row-major elements.
//!
//! Operators first check the shapes of all tensors ([`Fit`]) and take their views only in the call
//! of the op, so that a tensor of a wrong shape is refused before anything is copied.
//!
//! A copy is an allocation of the queue for one call. A queue keeps freed blocks, so that repeated
//! calls take no new memory.

use backend_api::{Buffer, BufferMut, BufferRef, Element, Mut, Queue, Ref};

use super::copy::copy;
use crate::{
    StridedElement, TensorOps,
    error::Result,
    tensor::{Layout, Tensor, TensorMut, TensorRef},
};

/// A tensor of any layout, whose shape a plan checks. It may be optional.
pub(crate) trait Fit: Sized {
    /// The tensor with a checked shape.
    type Fitted;

    /// Checks the shape against `plan`. Copies nothing.
    fn fit(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Fitted>;
}

impl<'a, Q: Queue + 'a, T: Element> Fit for TensorRef<'a, Q, T> {
    type Fitted = Packed<'a, Q, T>;

    #[inline]
    fn fit(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Fitted> {
        plan.admit_shape(op, tensor, self.layout())?;
        Ok(Packed { given: self, copied: None })
    }
}

impl<'a, Q: Queue + 'a, T: Element> Fit for TensorMut<'a, Q, T> {
    type Fitted = Target<'a, Q, T>;

    #[inline]
    fn fit(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Fitted> {
        plan.admit_shape(op, tensor, self.layout())?;
        Ok(Target(self))
    }
}

impl<F: Fit> Fit for Option<F> {
    type Fitted = Option<F::Fitted>;

    #[inline]
    fn fit(self, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Fitted> {
        self.map(|given| given.fit(op, tensor, plan)).transpose()
    }
}

/// An operand of a checked shape, and its row-major copy if the op needs one.
pub(crate) struct Packed<'a, Q: Queue + 'a, T: Element> {
    given: TensorRef<'a, Q, T>,
    copied: Option<Q::Buf<T>>,
}

impl<'a, Q: TensorOps + 'a, T: StridedElement> Packed<'a, Q, T> {
    /// The elements in row-major order: as given, or copied on the queue.
    #[inline]
    pub(crate) fn view(&mut self, q: &Q) -> Result<Ref<'_, Q, T>> {
        let layout = self.given.layout();
        if layout.is_contiguous() {
            return Ok(Q::Buf::<T>::shorten(self.given.view().slice(0..layout.span())?));
        }
        let plan = Layout::contiguous(layout.shape())?;
        let copied = self.copied.insert(q.alloc(plan.numel())?);
        copy(q, self.given, TensorMut::whole(copied.view_mut(), plan))?;
        Ok(copied.view())
    }

    /// [`view`](Self::view) of an operand that may be left out.
    #[inline]
    pub(crate) fn view_some<'s>(operand: &'s mut Option<Self>, q: &Q) -> Result<Option<Ref<'s, Q, T>>> {
        operand.as_mut().map(|operand| operand.view(q)).transpose()
    }
}

/// A result of a checked shape.
pub(crate) struct Target<'a, Q: Queue + 'a, T: Element>(TensorMut<'a, Q, T>);

/// A result of any layout, until the op has written its elements in row-major order.
///
/// The op may also read the elements ("in place"): then the memory begins with a copy of them.
///
/// `None` if the op writes to the result directly.
pub(crate) struct Unpacked<'a, Q: Queue + 'a, T: Element>(Option<(Q::Buf<T>, TensorMut<'a, Q, T>)>);

impl<'a, Q: TensorOps + 'a, T: StridedElement> Unpacked<'a, Q, T> {
    /// No result yet.
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// The view that the op overwrites.
    ///
    /// It is the result, or memory that [`finish`](Self::finish) copies there.
    #[inline]
    pub(crate) fn target<'s>(&'s mut self, q: &Q, y: Target<'a, Q, T>) -> Result<Mut<'s, Q, T>> {
        self.writable(q, y, false)
    }

    /// The view that the op reads and writes.
    ///
    /// It is the result, or a copy of its elements that [`finish`](Self::finish) copies back.
    #[inline]
    pub(crate) fn updated<'s>(&'s mut self, q: &Q, y: Target<'a, Q, T>) -> Result<Mut<'s, Q, T>> {
        self.writable(q, y, true)
    }

    /// [`updated`](Self::updated) for an op that treats all elements alike.
    ///
    /// It takes them in the order of memory, without a copy if they have no gaps.
    pub(crate) fn unordered<'s>(&'s mut self, q: &Q, y: Target<'a, Q, T>) -> Result<Mut<'s, Q, T>> {
        let (span, is_dense) = (y.0.layout().span(), y.0.layout().is_dense());
        if is_dense {
            return Ok(Q::Buf::<T>::shorten_mut(y.0.into_view().slice(0..span)?));
        }
        self.updated(q, y)
    }

    /// [`updated`](Self::updated) if the op reads the elements, else [`target`](Self::target).
    #[inline]
    pub(crate) fn writable<'s>(
        &'s mut self,
        q: &Q,
        Target(mut y): Target<'a, Q, T>,
        is_read: bool,
    ) -> Result<Mut<'s, Q, T>> {
        let (len, span) = (y.layout().numel(), y.layout().span());
        if y.layout().is_contiguous() {
            return Ok(Q::Buf::<T>::shorten_mut(y.into_view().slice(0..span)?));
        }
        let mut packed = q.alloc(len)?;
        if is_read {
            let plan = Layout::contiguous(y.layout().shape())?;
            copy(q, y.reborrow().read_only(), TensorMut::whole(packed.view_mut(), plan))?;
        }
        let (packed, _) = self.0.insert((packed, y));
        Ok(packed.view_mut())
    }

    /// Copies the elements to the result, after the op.
    #[inline]
    pub(crate) fn finish(self, q: &Q) -> Result<()> {
        let Some((packed, y)) = self.0 else { return Ok(()) };
        let plan = Layout::contiguous(y.layout().shape())?;
        copy(q, TensorRef::whole(packed.view(), plan), y)
    }
}

/// A row-major copy.
pub(crate) fn copied<Q: TensorOps, T: StridedElement>(q: &Q, x: TensorRef<'_, Q, T>) -> Result<Tensor<Q, T>> {
    let mut y = Tensor::alloc(q, x.layout().shape())?;
    copy(q, x, y.at_mut())?;
    Ok(y)
}
