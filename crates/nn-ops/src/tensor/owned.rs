//! A tensor that owns its elements, and how it prints.

use core::{fmt, ops::Range};

use backend_api::{Buffer, Element, Queue, Real};

use super::{
    init::Init,
    layout::Layout,
    views::{TensorMut, TensorRef},
};
use crate::error::{NnError, Result};

/// A row-major tensor on a queue's device that owns its elements.
///
/// ```
/// use backend_api::Queue;
/// use nn_ops::{Activation, Init, Tensor, activate};
///
/// let q = runtime::cpu()?;
/// let x = Tensor::from_values(&q, &[2, 2], &[-1.0f32, 2.0, -3.0, 4.0])?;
/// let mut y = Tensor::alloc(&q, &[2, 2])?;
/// activate(&q, Activation::Relu, x.at(), y.at_mut())?;
/// assert_eq!(y.show(&q)?.to_string(), "[[0, 2],\n [0, 4]]");
///
/// let weights = Tensor::<_, f32>::random(&q, &[2, 3], Init::Glorot, 42, 0)?;
/// assert_eq!(weights.layout().shape(), [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tensor<Q: Queue, T: Element> {
    buffer: Q::Buf<T>,
    layout: Layout,
}

impl<Q: Queue, T: Element> Tensor<Q, T> {
    /// A tensor of `shape` whose elements are unspecified until they are written.
    ///
    /// # Errors
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape,
    /// [`NnError::Backend`] if memory is short.
    pub fn alloc(q: &Q, shape: &[usize]) -> Result<Self> {
        let layout = Layout::of("tensor", shape)?;
        Ok(Self { buffer: q.alloc(layout.numel())?, layout })
    }

    /// The row-major `values` of `shape`.
    ///
    /// # Errors
    /// [`NnError::Length`] unless there is a value for each element; otherwise as
    /// [`alloc`](Self::alloc).
    pub fn from_values(q: &Q, shape: &[usize], values: &[T]) -> Result<Self> {
        Self::from_buffer(q.upload(values)?, shape)
    }

    /// The elements of a buffer, in row-major order.
    ///
    /// # Errors
    /// As [`from_values`](Self::from_values).
    pub fn from_buffer(buffer: Q::Buf<T>, shape: &[usize]) -> Result<Self> {
        let layout = Layout::of("tensor", shape)?;
        if buffer.len() != layout.numel() {
            let (expected, got) = (layout.numel(), buffer.len());
            return Err(NnError::Length { op: "tensor", tensor: "a tensor", expected, got });
        }
        Ok(Self { buffer, layout })
    }

    /// The tensor as an operand.
    #[must_use]
    pub fn at(&self) -> TensorRef<'_, Q, T> {
        TensorRef::whole(self.buffer.view(), self.layout)
    }

    /// The tensor as a result.
    #[must_use]
    pub fn at_mut(&mut self) -> TensorMut<'_, Q, T> {
        TensorMut::whole(self.buffer.view_mut(), self.layout)
    }

    /// The elements with the last two axes exchanged; see [`TensorRef::transposed`].
    ///
    /// ```
    /// use nn_ops::{Functional, Tensor};
    ///
    /// let q = runtime::cpu()?;
    /// let x = q.tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!(q.packed(&x.transposed()?)?.values(&q)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// assert_eq!(q.packed(&x.narrowed(1, 1..3)?)?.values(&q)?, [2.0, 3.0, 5.0, 6.0]);
    /// assert_eq!(x.into_shape(&[3, 2])?.layout().shape(), [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`TensorRef::transposed`].
    pub fn transposed(&self) -> Result<TensorRef<'_, Q, T>> {
        self.at().transposed()
    }

    /// The elements with the axes in another order; see [`TensorRef::permuted`].
    ///
    /// # Errors
    /// As [`TensorRef::permuted`].
    pub fn permuted(&self, axes: &[usize]) -> Result<TensorRef<'_, Q, T>> {
        self.at().permuted(axes)
    }

    /// The elements with these indices along an axis; see [`TensorRef::narrowed`].
    ///
    /// # Errors
    /// As [`TensorRef::narrowed`].
    pub fn narrowed(&self, axis: usize, range: Range<usize>) -> Result<TensorRef<'_, Q, T>> {
        self.at().narrowed(axis, range)
    }

    /// The elements with one index along an axis; see [`TensorRef::indexed`].
    ///
    /// # Errors
    /// As [`TensorRef::indexed`].
    pub fn indexed(&self, axis: usize, index: usize) -> Result<TensorRef<'_, Q, T>> {
        self.at().indexed(axis, index)
    }

    /// The elements in another shape; see [`TensorRef::reshaped`].
    ///
    /// # Errors
    /// As [`TensorRef::reshaped`].
    pub fn reshaped(&self, shape: &[usize]) -> Result<TensorRef<'_, Q, T>> {
        self.at().reshaped(shape)
    }

    /// This tensor in another shape, in row-major order.
    ///
    /// # Errors
    /// As [`TensorRef::reshaped`]; the tensor is dropped then.
    pub fn into_shape(self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.reshaped(shape)?;
        Ok(Self { buffer: self.buffer, layout })
    }

    /// Shape and strides.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The elements.
    #[must_use]
    pub fn buffer(&self) -> &Q::Buf<T> {
        &self.buffer
    }

    /// The elements, for ops that take buffers.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut Q::Buf<T> {
        &mut self.buffer
    }

    /// Waits for the elements and copies them to the host, in row-major order.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn values(&self, q: &Q) -> Result<Vec<T>> {
        Ok(q.download(&self.buffer)?)
    }
}

impl<Q: Queue, T: Real> Tensor<Q, T> {
    /// Values that weights begin with, rounded to `T`.
    ///
    /// `site` tells the tensors of one seed apart.
    ///
    /// # Errors
    /// As [`Init::values`] and [`alloc`](Self::alloc).
    pub fn random(q: &Q, shape: &[usize], init: Init, seed: u64, site: u32) -> Result<Self> {
        let mut tensor = Self::alloc(q, shape)?;
        let values: Vec<T> = init.values(shape, seed, site)?.into_iter().map(T::from_f32).collect();
        q.write(&values, tensor.buffer.view_mut())?;
        Ok(tensor)
    }

    /// Waits for the elements and shows them, a row to a line.
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub fn show(&self, q: &Q) -> Result<impl fmt::Display + use<Q, T>> {
        let values = self.values(q)?.into_iter().map(T::to_f32).collect();
        Ok(Shown { shape: self.layout.shape().to_vec(), values })
    }
}

impl<Q: Queue, T: Element> fmt::Debug for Tensor<Q, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("element", &core::any::type_name::<T>())
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// Elements as text. Of an axis longer than eight the middle is left out.
struct Shown {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Shown {
    /// The part from element `first` on, whose axes begin with axis `axis`.
    fn part(&self, f: &mut fmt::Formatter<'_>, axis: usize, first: usize) -> fmt::Result {
        const ENDS: usize = 3;
        let Some(&len) = self.shape.get(axis) else { return fmt::Display::fmt(&self.values[first], f) };
        let step: usize = self.shape[axis + 1..].iter().product();
        // Lines of an inner axis begin below its first element.
        let apart = match self.shape.len() - axis - 1 {
            0 => ", ".to_owned(),
            inner => format!(",{}{}", "\n".repeat(inner), " ".repeat(axis + 1)),
        };
        let is_cut = len > 2 * ENDS + 2;
        let (head, tail) = if is_cut { (ENDS, len - ENDS) } else { (len, len) };
        f.write_str("[")?;
        for i in (0..head).chain(tail..len) {
            if i > 0 {
                f.write_str(&apart)?;
            }
            if i == tail {
                write!(f, "..{apart}")?;
            }
            self.part(f, axis + 1, first + i * step)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part(f, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shape: &[usize]) -> String {
        let values = (0..shape.iter().product::<usize>()).map(|i| i as f32 / 2.0).collect();
        Shown { shape: shape.to_vec(), values }.to_string()
    }

    #[test]
    fn axes_nest_and_long_ones_are_cut() {
        assert_eq!(shown(&[]), "0");
        assert_eq!(shown(&[3]), "[0, 0.5, 1]");
        assert_eq!(shown(&[2, 2]), "[[0, 0.5],\n [1, 1.5]]");
        assert_eq!(shown(&[2, 1, 2]), "[[[0, 0.5]],\n\n [[1, 1.5]]]");
        assert_eq!(shown(&[8]), "[0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]");
        assert_eq!(shown(&[9]), "[0, 0.5, 1, .., 3, 3.5, 4]");
        assert_eq!(shown(&[0, 2]), "[]");
        assert_eq!(shown(&[1 << 60, 0]).lines().count(), 7);
    }

    #[test]
    fn values_that_are_not_as_many_as_elements_are_refused() {
        let q = runtime::cpu().unwrap();
        let refused = Tensor::from_values(&q, &[2, 2], &[1.0f32; 3]).err();
        assert_eq!(refused, Some(NnError::Length { op: "tensor", tensor: "a tensor", expected: 4, got: 3 }));
    }
}
