//! A trained tensor with its gradient, and the step of gradient descent.

use backend_api::{
    Buffer, Mut, Queue, Ref,
    ops::linalg::{Axpby, ElementwiseOps},
};
use rand_core::Rng;

use crate::{Layout, NnError, TensorMut, TensorRef, io::Tensor};

/// Stochastic gradient descent with momentum and decoupled weight decay: `v = momentum v + g`, `w = (1 - rate decay) w - rate v`.
///
/// The decay acts on the weights and is not added to the gradient (Loshchilov, Hutter, "Decoupled Weight Decay
/// Regularization", 2019), so momentum does not multiply it, unlike in libraries that add `decay w` to g. Every trained
/// tensor decays, biases too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step size.
    pub rate: f32,
    /// Share of the running sum of gradients that a step keeps, in `0..1`.
    pub momentum: f32,
    /// Part of each weight that a step takes away, in units of the rate; 0 for none.
    pub decay: f32,
}

impl Sgd {
    /// Refuses, on behalf of `op`, what makes no valid step.
    pub(crate) fn check(&self, op: &'static str) -> Result<(), NnError> {
        let &Self { rate, momentum, decay } = self;
        let rules = [
            ("rate", "finite", rate, rate.is_finite()),
            ("momentum", "at least 0 and less than 1", momentum, (0.0..1.0).contains(&momentum)),
            ("decay", "finite", decay, decay.is_finite()),
            ("rate decay", "finite", rate * decay, (rate * decay).is_finite()),
        ];
        match rules.iter().find(|(.., holds)| !holds) {
            None => Ok(()),
            Some(&(name, domain, value, _)) => Err(NnError::Parameter { op, name, domain, value: f64::from(value) }),
        }
    }
}

/// A trained f32 tensor on a queue's device, with its gradient and the running sum of gradients, all row-major.
pub struct Parameter<Q: Queue> {
    layout: Layout,
    value: Q::Buf<f32>,
    gradient: Q::Buf<f32>,
    velocity: Q::Buf<f32>,
}

impl<Q: ElementwiseOps> Parameter<Q> {
    /// Zeros of `shape`.
    ///
    /// # Errors
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape, [`NnError::Backend`] if memory is short.
    pub fn zeros(q: &Q, shape: &[usize]) -> Result<Self, NnError> {
        let layout = Layout::contiguous(shape)?;
        let zeros = || q.zeros(layout.numel());
        Ok(Self { layout, value: zeros()?, gradient: zeros()?, velocity: zeros()? })
    }

    /// The row-major `values` of `shape`, such as were trained elsewhere, with a gradient and a running sum of zeros.
    ///
    /// # Errors
    /// [`NnError::Length`] unless there is a value for each element; otherwise as [`zeros`](Self::zeros).
    pub fn from_values(q: &Q, shape: &[usize], values: &[f32]) -> Result<Self, NnError> {
        Self::holding(q, ("parameter", "value"), shape, values)
    }

    /// [`from_values`](Self::from_values) on behalf of an operator, by its name and the tensor's.
    pub(crate) fn holding(
        q: &Q,
        (op, tensor): (&'static str, &'static str),
        shape: &[usize],
        values: &[f32],
    ) -> Result<Self, NnError> {
        let layout = Layout::contiguous(shape)?;
        if values.len() != layout.numel() {
            return Err(NnError::Length { op, tensor, expected: layout.numel(), got: values.len() });
        }
        let zeros = || q.zeros(layout.numel());
        Ok(Self { layout, value: q.upload(values)?, gradient: zeros()?, velocity: zeros()? })
    }

    /// Values of `shape` drawn uniformly from `-limit..limit`, one word of `rng` each.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn uniform(q: &Q, shape: &[usize], limit: f32, rng: &mut impl Rng) -> Result<Self, NnError> {
        let uniform = |word: u32| (word >> 8) as f32 / (1 << 24) as f32; // in [0, 1)
        let mut parameter = Self::zeros(q, shape)?; // what does not fit the device is refused before it is drawn
        let count = parameter.layout.numel();
        let values: Vec<f32> = (0..count).map(|_| limit * (2.0 * uniform(rng.next_u32()) - 1.0)).collect();
        q.write(&values, parameter.value.view_mut())?;
        Ok(parameter)
    }

    /// The layout of the value, the gradient and the running sum.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The value.
    ///
    /// # Errors
    /// None that [`zeros`](Self::zeros) would not have reported.
    pub fn value(&self) -> Result<TensorRef<'_, Q, f32>, NnError> {
        TensorRef::new(self.value.view(), self.layout)
    }

    /// The value, to read, and the gradient, to be written by a backward pass.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    #[expect(clippy::type_complexity, reason = "two views of one parameter")]
    pub fn value_and_gradient(&mut self) -> Result<(TensorRef<'_, Q, f32>, TensorMut<'_, Q, f32>), NnError> {
        let layout = self.layout;
        let (value, gradient) = self.views();
        Ok((TensorRef::new(value, layout)?, TensorMut::new(gradient, layout)?))
    }

    /// The elements of the value.
    pub(crate) fn view(&self) -> Ref<'_, Q, f32> {
        self.value.view()
    }

    /// The elements of the value, and those of the gradient, to be written.
    pub(crate) fn views(&mut self) -> (Ref<'_, Q, f32>, Mut<'_, Q, f32>) {
        (self.value.view(), self.gradient.view_mut())
    }

    /// A step of gradient descent along the gradient. The gradient is kept.
    ///
    /// # Errors
    /// [`NnError::Parameter`] if the rate, the decay or their product is not finite, or if the momentum is outside
    /// `0..1`; nothing has changed then. [`NnError::Backend`] from the device.
    pub fn descend(&mut self, q: &Q, sgd: Sgd) -> Result<(), NnError> {
        sgd.check("descend")?;
        q.axpby(Axpby { alpha: 1.0, x: self.gradient.view(), beta: sgd.momentum, y: self.velocity.view_mut() })?;
        let (x, y) = (self.velocity.view(), self.value.view_mut());
        Ok(q.axpby(Axpby { alpha: -sgd.rate, x, beta: 1.0 - sgd.rate * sgd.decay, y })?)
    }

    /// Waits and copies the value to the host.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn tensor(&self, q: &Q) -> Result<Tensor, NnError> {
        Ok(Tensor { shape: self.layout().shape().to_vec(), data: q.download(&self.value)? })
    }
}

impl<Q: Queue> core::fmt::Debug for Parameter<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Parameter").field("layout", &self.layout).finish_non_exhaustive()
    }
}
