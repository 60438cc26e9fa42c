//! Tensors on the device of an accelerator.

use std::sync::Arc;

use backend_api::DType;
use half::f16;
use nn_ops::{Functional as _, Overflow, Tensor};
use runtime::AnyQueue;

use crate::{backend::device_name, error::AccelError};

/// A tensor on a device, of f32 or f16.
///
/// A clone shares its elements, which never change.
///
/// ```
/// use backend_api::DType;
/// use hybrid_accel::{GpuAccelerator, GpuTensor, TrefoilCpu};
///
/// let accelerator = GpuAccelerator::new(TrefoilCpu::default())?;
/// let tensor = GpuTensor::from_slice(accelerator.queue(), &[1.0, 2.0, 3.0, 4.5], &[2, 2])?;
/// assert_eq!((tensor.shape(), tensor.numel()), (&[2, 2][..], 4));
/// let half = tensor.to_f16()?;
/// assert_eq!((half.dtype(), half.to_host()?), (DType::F16, vec![1.0, 2.0, 3.0, 4.5]));
/// # Ok::<(), hybrid_accel::AccelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GpuTensor {
    queue: AnyQueue,
    elements: TypedElements,
}

/// The elements, by their type.
#[derive(Clone, Debug)]
pub(crate) enum TypedElements {
    Single(Arc<Tensor<AnyQueue, f32>>),
    Half(Arc<Tensor<AnyQueue, f16>>),
}

impl GpuTensor {
    /// Copies row-major elements to the device of `queue`.
    ///
    /// # Errors
    /// [`AccelError::Ops`] for another number of elements than the shape has, for more than six
    /// axes, and if memory is short.
    pub fn from_slice(queue: &AnyQueue, data: &[f32], shape: &[usize]) -> Result<Self, AccelError> {
        Ok(Self::new(queue, Tensor::from_values(queue, shape, data)?))
    }

    /// A tensor of f32 that `queue` has computed.
    pub(crate) fn new(queue: &AnyQueue, tensor: Tensor<AnyQueue, f32>) -> Self {
        Self { queue: queue.clone(), elements: TypedElements::Single(Arc::new(tensor)) }
    }

    /// A tensor of f16 that `queue` has computed.
    pub(crate) fn of_half(queue: &AnyQueue, tensor: Tensor<AnyQueue, f16>) -> Self {
        Self { queue: queue.clone(), elements: TypedElements::Half(Arc::new(tensor)) }
    }

    /// The lengths of the axes, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        match &self.elements {
            TypedElements::Single(tensor) => tensor.layout().shape(),
            TypedElements::Half(tensor) => tensor.layout().shape(),
        }
    }

    /// The number of elements; 1 without axes.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.shape().iter().product()
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match &self.elements {
            TypedElements::Single(_) => DType::F32,
            TypedElements::Half(_) => DType::F16,
        }
    }

    /// Waits for the elements and copies them to the host, in row-major order.
    ///
    /// Elements of f16 are converted to f32, which is exact.
    ///
    /// # Errors
    /// [`AccelError::Ops`] from the device.
    pub fn to_host(&self) -> Result<Vec<f32>, AccelError> {
        match &self.elements {
            TypedElements::Single(tensor) => Ok(tensor.values(&self.queue)?),
            TypedElements::Half(tensor) => Ok(tensor.values(&self.queue)?.into_iter().map(f16::to_f32).collect()),
        }
    }

    /// The elements rounded to f16, ties to even. Waits for the device.
    ///
    /// # Errors
    /// [`AccelError::Ops`] for values beyond the range of f16, with their number, and from the
    /// device.
    pub fn to_f16(&self) -> Result<Self, AccelError> {
        match &self.elements {
            TypedElements::Half(_) => Ok(self.clone()),
            TypedElements::Single(tensor) => {
                Ok(Self::of_half(&self.queue, self.queue.narrow(&**tensor, Overflow::Refuse)?))
            }
        }
    }

    /// The elements in f32.
    ///
    /// # Errors
    /// [`AccelError::Ops`] from the device.
    pub fn to_f32(&self) -> Result<Self, AccelError> {
        Ok(Self { queue: self.queue.clone(), elements: TypedElements::Single(self.widened()?) })
    }

    /// The elements in f32, shared if they have that type.
    pub(crate) fn widened(&self) -> Result<Arc<Tensor<AnyQueue, f32>>, AccelError> {
        match &self.elements {
            TypedElements::Single(tensor) => Ok(Arc::clone(tensor)),
            TypedElements::Half(tensor) => Ok(Arc::new(self.queue.widen(&**tensor)?)),
        }
    }

    /// The elements by their type.
    pub(crate) fn elements(&self) -> &TypedElements {
        &self.elements
    }

    /// The queue that computed the elements.
    pub(crate) fn queue(&self) -> &AnyQueue {
        &self.queue
    }

    /// Refuses a tensor that is not in the memory of `queue`.
    pub(crate) fn on(&self, queue: &AnyQueue, call: &'static str, tensor: &'static str) -> Result<(), AccelError> {
        if queue.shares_memory(&self.queue) {
            return Ok(());
        }
        let (expected, mut got) = (device_name(queue), device_name(&self.queue));
        if got == expected {
            got.push_str(", opened a second time");
        }
        Err(AccelError::OtherDevice { call, tensor, expected, got })
    }
}
