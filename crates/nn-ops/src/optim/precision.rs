//! The element types of mixed precision, and conversions between them and f32.

use backend_api::{DType, Mut, Queue};

use super::{arena::ParameterArena, table::ParameterTable};
use crate::{
    TensorOps,
    error::Result,
    movement::{Overflow, narrow},
    tensor::{Tensor, TensorMut, TensorRef},
};

/// A type of activations in training: f32, f16 or bf16.
///
/// Weights are in f32 always. With a type of 16 bits, layers read a rounded copy of the weights:
/// see [`MasterWeights`](crate::MasterWeights) and [`Mlp::training`](crate::Mlp).
pub trait Precision: sealed::Elements {}

impl<T: sealed::Elements> Precision for T {}

mod sealed {
    use backend_api::{Queue, Real};

    use crate::{
        optim::ParameterArena,
        tensor::{Tensor, TensorMut, TensorRef},
    };

    /// The conversions between f32 and itself, which copy nothing. The defaults are for 16 bits.
    pub trait Elements: Real {
        /// Returns `x` if its elements are f32, or returns `x` unchanged as the error.
        fn wide<C: Carrier>(x: C::Of<Self>) -> Result<C::Of<f32>, C::Of<Self>> {
            Err(x)
        }

        /// Returns `x` in this type if that is f32, or returns `x` unchanged as the error.
        fn own<C: Carrier>(x: C::Of<f32>) -> Result<C::Of<Self>, C::Of<f32>> {
            Err(x)
        }
    }

    impl Elements for half::f16 {}

    impl Elements for half::bf16 {}

    impl Elements for f32 {
        fn wide<C: Carrier>(x: C::Of<f32>) -> Result<C::Of<f32>, C::Of<f32>> {
            Ok(x)
        }

        fn own<C: Carrier>(x: C::Of<f32>) -> Result<C::Of<f32>, C::Of<f32>> {
            Ok(x)
        }
    }

    /// Values with elements of f32, and their type with other elements.
    pub trait Carrier {
        /// The same kind of values with elements of type `T`.
        type Of<T: Real>;
    }

    impl<Q: Queue> Carrier for Tensor<Q, f32> {
        type Of<T: Real> = Tensor<Q, T>;
    }

    impl<'a, Q: Queue + 'a> Carrier for TensorRef<'a, Q, f32> {
        type Of<T: Real> = TensorRef<'a, Q, T>;
    }

    impl<'a, Q: Queue + 'a> Carrier for TensorMut<'a, Q, f32> {
        type Of<T: Real> = TensorMut<'a, Q, T>;
    }

    impl<'a, Q: Queue> Carrier for &'a ParameterArena<Q, f32> {
        type Of<T: Real> = &'a ParameterArena<Q, T>;
    }

    impl<C: Carrier, const N: usize> Carrier for [C; N] {
        type Of<T: Real> = [C::Of<T>; N];
    }
}

/// Returns `x` if its elements are f32, or returns `x` unchanged as the error.
pub(crate) fn wide_ref<'a, Q: Queue + 'a, T: Precision>(
    x: TensorRef<'a, Q, T>,
) -> Result<TensorRef<'a, Q, f32>, TensorRef<'a, Q, T>> {
    T::wide::<TensorRef<'a, Q, f32>>(x)
}

/// Returns `x` if its elements are f32, or returns `x` unchanged as the error.
pub(crate) fn wide_mut<'a, Q: Queue + 'a, T: Precision>(
    x: TensorMut<'a, Q, T>,
) -> Result<TensorMut<'a, Q, f32>, TensorMut<'a, Q, T>> {
    T::wide::<TensorMut<'a, Q, f32>>(x)
}

/// Returns `x` in type `T` if that is f32, or returns `x` unchanged as the error.
pub(crate) fn own_tensor<Q: Queue, T: Precision>(x: Tensor<Q, f32>) -> Result<Tensor<Q, T>, Tensor<Q, f32>> {
    T::own::<Tensor<Q, f32>>(x)
}

/// Places of several results.
type ResultViews<'a, Q, T, const N: usize> = [TensorMut<'a, Q, T>; N];

/// Returns results in type `T` if that is f32, or returns them unchanged as the error.
pub(crate) fn own_results<'a, Q: Queue + 'a, T: Precision, const N: usize>(
    x: ResultViews<'a, Q, f32, N>,
) -> Result<ResultViews<'a, Q, T, N>, ResultViews<'a, Q, f32, N>> {
    T::own::<[TensorMut<'a, Q, f32>; N]>(x)
}

/// The arena, if its elements are f32.
pub(crate) fn wide_arena<Q: Queue, T: Precision>(x: &ParameterArena<Q, T>) -> Option<&ParameterArena<Q, f32>> {
    T::wide::<&ParameterArena<Q, f32>>(x).ok()
}

/// `x` rounded to `T`. Values beyond its range become infinite.
pub(crate) fn rounded<Q: TensorOps, T: Precision>(q: &Q, x: Tensor<Q, f32>) -> Result<Tensor<Q, T>> {
    match own_tensor(x) {
        Ok(x) => Ok(x),
        Err(x) => {
            let mut y = Tensor::alloc(q, x.layout().shape())?;
            narrow(q, Overflow::Infinite, x.at(), y.at_mut())?;
            Ok(y)
        }
    }
}

/// The copy of weights that layers in `T` read; empty for f32, whose layers read the weights.
///
/// # Errors
/// [`NnError::Range`](crate::NnError::Range) for weights beyond the range of `T`.
pub(crate) fn layer_copy<Q: TensorOps, T: Precision>(
    q: &Q,
    weights: &ParameterArena<Q, f32>,
) -> Result<ParameterArena<Q, T>> {
    match T::DTYPE {
        DType::F32 => ParameterArena::zeros(q, &ParameterTable::new(&[])?),
        _ => weights.narrowed(q, Overflow::Refuse),
    }
}

/// The weights that layers in `T` read: the [`layer_copy`], or the weights themselves.
pub(crate) fn layer_weights<'a, Q: Queue, T: Precision>(
    weights: &'a ParameterArena<Q, f32>,
    copy: &'a ParameterArena<Q, T>,
) -> &'a ParameterArena<Q, T> {
    T::own::<&ParameterArena<Q, f32>>(weights).unwrap_or(copy)
}

/// The copy that a step of an optimizer writes, if there is one.
pub(crate) fn layer_copy_mut<Q: Queue, T: Precision>(copy: &mut ParameterArena<Q, T>) -> Option<Mut<'_, Q, T>> {
    (T::DTYPE != DType::F32).then(|| copy.view_mut())
}
