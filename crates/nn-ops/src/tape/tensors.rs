//! The tensors of a tape: in the type of its activations, or in f32.

use backend_api::{DType, Queue};

use crate::{
    error::Result,
    functional::{Functional, readable::Readable},
    layers::LayerOps,
    movement::Overflow,
    optim::{Precision, own_tensor, rounded},
    tensor::{Layout, Tensor, TensorRef},
};

/// A tensor of activations, or a wide one.
pub(super) enum AnyTensor<Q: Queue, T: Precision> {
    /// In the type of the activations.
    Own(Tensor<Q, T>),
    /// In f32, if that is not the type of the activations.
    Wide(Tensor<Q, f32>),
}

/// A view of an [`AnyTensor`].
pub(super) enum AnyRef<'a, Q: Queue + 'a, T: Precision> {
    Own(TensorRef<'a, Q, T>),
    Wide(TensorRef<'a, Q, f32>),
}

/// Computes an [`AnyTensor`] by the same expression for either type of an [`AnyRef`].
macro_rules! each {
    ($x:expr, |$name:ident| $result:expr) => {
        match $x {
            AnyRef::Own($name) => AnyTensor::Own($result),
            AnyRef::Wide($name) => AnyTensor::Wide($result),
        }
    };
}

/// [`each`] for two operands. Both are widened if their types differ.
macro_rules! both {
    ($q:expr, [$a:expr, $b:expr], |$x:ident, $y:ident| $result:expr) => {
        match ($a, $b) {
            (AnyRef::Own($x), AnyRef::Own($y)) => AnyTensor::Own($result),
            ($x, $y) => {
                let ($x, $y) = ($x.widened($q)?, $y.widened($q)?);
                let ($x, $y) = ($x.at(), $y.at());
                AnyTensor::Wide($result)
            }
        }
    };
}

pub(super) use {both, each};

impl<Q: Queue, T: Precision> AnyTensor<Q, T> {
    /// A tensor in f32.
    pub(super) fn wide(x: Tensor<Q, f32>) -> Self {
        own_tensor(x).map_or_else(Self::Wide, Self::Own)
    }

    pub(super) fn at(&self) -> AnyRef<'_, Q, T> {
        match self {
            Self::Own(x) => AnyRef::Own(x.at()),
            Self::Wide(x) => AnyRef::Wide(x.at()),
        }
    }

    pub(super) fn layout(&self) -> &Layout {
        match self {
            Self::Own(x) => x.layout(),
            Self::Wide(x) => x.layout(),
        }
    }

    /// This tensor in another shape.
    pub(super) fn into_shape(self, shape: &[usize]) -> Result<Self> {
        match self {
            Self::Own(x) => x.into_shape(shape).map(Self::Own),
            Self::Wide(x) => x.into_shape(shape).map(Self::Wide),
        }
    }
}

impl<Q: LayerOps, T: Precision> AnyTensor<Q, T> {
    /// The tensor in the type of the activations.
    pub(super) fn into_own(self, q: &Q) -> Result<Tensor<Q, T>> {
        match self {
            Self::Own(x) => Ok(x),
            Self::Wide(x) => rounded(q, x),
        }
    }

    /// The tensor in f32.
    pub(super) fn into_wide(self, q: &Q) -> Result<Self> {
        match self {
            Self::Own(x) if T::DTYPE != DType::F32 => Functional::widen(q, &x).map(Self::Wide),
            x => Ok(x),
        }
    }

    /// The tensor in the type of `other`.
    pub(super) fn like(self, q: &Q, other: &AnyRef<'_, Q, T>) -> Result<Self> {
        match (self, other) {
            (x, AnyRef::Wide(_)) => x.into_wide(q),
            (x, AnyRef::Own(_)) => x.into_own(q).map(Self::Own),
        }
    }
}

impl<'a, Q: LayerOps + 'a, T: Precision> AnyRef<'a, Q, T> {
    /// The elements in f32.
    pub(super) fn widened(self, q: &Q) -> Result<Readable<'a, Q, f32>> {
        match self {
            Self::Own(x) => Readable::widened(q, x),
            Self::Wide(x) => Ok(Readable::Given(x)),
        }
    }

    /// The elements in the type of the activations, in row-major order.
    pub(super) fn packed(self, q: &Q) -> Result<Readable<'a, Q, T>> {
        match self {
            Self::Own(x) => Readable::of(q, x),
            Self::Wide(x) => Ok(Readable::Copied(Functional::narrow(q, &x, Overflow::Infinite)?)),
        }
    }
}
