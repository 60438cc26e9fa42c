//! Packed copies of operands and results of any layout, for ops on row-major elements.
//!
//! A copy is an allocation of the queue for one call. A queue keeps freed blocks, so that repeated
//! calls take no new memory.

use backend_api::{
    Buffer, BufferMut, BufferRef, Element, Mut, Queue, Ref,
    ops::tensor::{StridedElement, TensorOps},
};

use super::copy::copy;
use crate::{
    error::NnError,
    tensor::{
        layout::Layout,
        owned::Tensor,
        views::{Planned, TensorMut, TensorRef},
    },
};

/// The elements of an operand in row-major order: as given, or a copy.
pub(crate) enum Packed<'a, Q: Queue + 'a, T: Element> {
    Given(Ref<'a, Q, T>),
    Copied(Q::Buf<T>),
}

impl<'a, Q: Queue + 'a, T: Element> Packed<'a, Q, T> {
    /// The operand of the op.
    pub(crate) fn view(&self) -> Ref<'_, Q, T> {
        match self {
            Self::Given(view) => Q::Buf::<T>::shorten(*view),
            Self::Copied(copy) => copy.view(),
        }
    }
}

/// A tensor that an operator reads in any layout. It may be optional.
pub(crate) trait Pack<Q: Queue>: Sized {
    /// What holds the packed elements.
    type Packed;

    /// The elements in row-major order, if they have the shape of `plan`, which is row-major.
    fn packed(self, q: &Q, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Packed, NnError>;
}

impl<'a, Q: TensorOps + 'a, T: StridedElement> Pack<Q> for TensorRef<'a, Q, T> {
    type Packed = Packed<'a, Q, T>;

    #[inline]
    fn packed(self, q: &Q, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Packed, NnError> {
        plan.admit_shape(op, tensor, self.layout())?;
        if self.layout().is_contiguous() {
            return Ok(Packed::Given(self.view().slice(0..plan.span())?));
        }
        let mut packed = q.alloc(plan.numel())?;
        copy(q, self, TensorMut::whole(packed.view_mut(), *plan))?;
        Ok(Packed::Copied(packed))
    }
}

impl<Q: Queue, P: Pack<Q>> Pack<Q> for Option<P> {
    type Packed = Option<P::Packed>;

    #[inline]
    fn packed(self, q: &Q, op: &'static str, tensor: &'static str, plan: &Layout) -> Result<Self::Packed, NnError> {
        self.map(|given| given.packed(q, op, tensor, plan)).transpose()
    }
}

/// A result of any layout, until the op has written its elements in row-major order.
///
/// `None` if the op writes to the result directly.
pub(crate) struct Unpacked<'a, Q: Queue + 'a, T: Element>(Option<(Q::Buf<T>, TensorMut<'a, Q, T>)>);

impl<'a, Q: TensorOps + 'a, T: StridedElement> Unpacked<'a, Q, T> {
    /// No result yet.
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// The view that the op overwrites, for a result of the shape of `plan`, which is row-major.
    ///
    /// It is the result, or memory that [`finish`](Self::finish) copies there.
    #[inline]
    pub(crate) fn target<'s>(
        &'s mut self,
        q: &Q,
        op: &'static str,
        tensor: &'static str,
        plan: &Layout,
        y: TensorMut<'a, Q, T>,
    ) -> Result<Mut<'s, Q, T>, NnError> {
        plan.admit_shape(op, tensor, y.layout())?;
        if y.layout().is_contiguous() {
            return Ok(Q::Buf::<T>::shorten_mut(y.into_view().slice(0..plan.span())?));
        }
        let (packed, _) = self.0.insert((q.alloc(plan.numel())?, y));
        Ok(packed.view_mut())
    }

    /// [`target`](Self::target) for a result that may be left out.
    #[inline]
    pub(crate) fn target_some<'s>(
        &'s mut self,
        q: &Q,
        op: &'static str,
        tensor: &'static str,
        plan: &Layout,
        y: Option<TensorMut<'a, Q, T>>,
    ) -> Result<Option<Mut<'s, Q, T>>, NnError> {
        y.map(|y| self.target(q, op, tensor, plan, y)).transpose()
    }

    /// [`target`](Self::target) for a result that is row-major if the op reads it first.
    #[inline]
    pub(crate) fn target_unless<'s>(
        &'s mut self,
        is_read: bool,
        q: &Q,
        op: &'static str,
        tensor: &'static str,
        plan: &Layout,
        y: TensorMut<'a, Q, T>,
    ) -> Result<Mut<'s, Q, T>, NnError> {
        if is_read { y.planned(op, tensor, plan) } else { self.target(q, op, tensor, plan, y) }
    }

    /// Copies the elements to the result, after the op.
    #[inline]
    pub(crate) fn finish(self, q: &Q) -> Result<(), NnError> {
        let Some((packed, y)) = self.0 else {
            return Ok(());
        };
        let plan = Layout::contiguous(y.layout().shape())?;
        copy(q, TensorRef::whole(packed.view(), plan), y)
    }
}

/// A row-major copy.
pub(crate) fn copied<Q: TensorOps, T: StridedElement>(q: &Q, x: TensorRef<'_, Q, T>) -> Result<Tensor<Q, T>, NnError> {
    let mut y = Tensor::alloc(q, x.layout().shape())?;
    copy(q, x, y.at_mut())?;
    Ok(y)
}
