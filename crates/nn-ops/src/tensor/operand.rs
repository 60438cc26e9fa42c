//! Operands of operators: tensors and views of them.

use backend_api::{Element, Queue};

use super::{owned::Tensor, views::TensorRef};

/// A tensor that an operator reads: a [`Tensor`] or a [`TensorRef`].
///
/// The view lives as long as the borrow of the operand, so that views made by a caller and views
/// made inside a function are passed on together.
pub trait Operand<Q: Queue, T: Element> {
    /// The elements as a view.
    fn operand(&self) -> TensorRef<'_, Q, T>;
}

impl<Q: Queue, T: Element> Operand<Q, T> for Tensor<Q, T> {
    fn operand(&self) -> TensorRef<'_, Q, T> {
        self.at()
    }
}

impl<'a, Q: Queue + 'a, T: Element> Operand<Q, T> for TensorRef<'a, Q, T> {
    fn operand(&self) -> TensorRef<'_, Q, T> {
        self.shorten()
    }
}
