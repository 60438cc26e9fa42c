//! Operands of products and attention, copied if the plan does not read their layout.

use backend_api::Queue;

use crate::{
    StridedElement, TensorOps,
    attention::plan::has_unit_rows,
    error::Result,
    movement::{copied, widen},
    optim::{Precision, wide_ref},
    products::matmul::is_factor,
    tensor::{Layout, Tensor, TensorRef},
};

/// An operand as a plan reads it: as given, or a row-major copy.
pub(crate) enum Readable<'a, Q: Queue + 'a, T: StridedElement> {
    Given(TensorRef<'a, Q, T>),
    Copied(Tensor<Q, T>),
}

impl<'a, Q: TensorOps + 'a, T: StridedElement> Readable<'a, Q, T> {
    /// The elements in row-major order without gaps.
    pub(crate) fn of(q: &Q, x: TensorRef<'a, Q, T>) -> Result<Self> {
        Self::unless(x.layout().is_contiguous(), q, x)
    }

    /// [`of`](Self::of) for an operand that may be left out.
    pub(super) fn of_some(q: &Q, x: Option<TensorRef<'a, Q, T>>) -> Result<Option<Self>> {
        x.map(|x| Self::of(q, x)).transpose()
    }

    /// The elements as a product reads them: rows or columns are contiguous.
    pub(crate) fn factor(q: &Q, x: TensorRef<'a, Q, T>) -> Result<Self> {
        Self::unless(is_factor(x.layout()), q, x)
    }

    /// The elements as attention reads them: each row along the last axis is contiguous.
    pub(super) fn rows(q: &Q, x: TensorRef<'a, Q, T>) -> Result<Self> {
        Self::unless(has_unit_rows(x.layout()), q, x)
    }

    /// The elements as a matrix of `shape`, which a product reads.
    ///
    /// A matrix stays as it is; of other tensors the leading axes become one.
    pub(super) fn matrix(q: &Q, x: TensorRef<'a, Q, T>, shape: [usize; 2]) -> Result<Self> {
        if x.layout().shape() == shape {
            return Self::factor(q, x);
        }
        match Self::of(q, x)? {
            Self::Given(x) => Ok(Self::Given(x.reshaped(&shape)?)),
            Self::Copied(x) => Ok(Self::Copied(x.into_shape(&shape)?)),
        }
    }

    fn unless(is_readable: bool, q: &Q, x: TensorRef<'a, Q, T>) -> Result<Self> {
        if is_readable { Ok(Self::Given(x)) } else { Ok(Self::Copied(copied(q, x)?)) }
    }

    /// The operand of the op.
    pub(crate) fn at(&self) -> TensorRef<'_, Q, T> {
        match self {
            Self::Given(x) => x.shorten(),
            Self::Copied(x) => x.at(),
        }
    }

    /// The layout of the operand.
    pub(super) fn layout(&self) -> &Layout {
        match self {
            Self::Given(x) => x.layout(),
            Self::Copied(x) => x.layout(),
        }
    }
}

impl<'a, Q: TensorOps + 'a> Readable<'a, Q, f32> {
    /// The elements in f32: as given, or a widened copy.
    pub(crate) fn widened<T: Precision>(q: &Q, x: TensorRef<'a, Q, T>) -> Result<Self> {
        match wide_ref(x) {
            Ok(x) => Ok(Self::Given(x)),
            Err(x) => {
                let mut y = Tensor::alloc(q, x.layout().shape())?;
                widen(q, x, y.at_mut())?;
                Ok(Self::Copied(y))
            }
        }
    }
}
