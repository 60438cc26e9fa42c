use backend_api::{Buffer as _, Queue, ops::linalg::LinalgOps};
use nn_ops::{
    Activation, LinearGradients, NnError, Sgd, TensorMut, TensorRef, axpby,
    io::{Tensor, Tensors},
    linear, linear_backward,
};
use rand_chacha::rand_core::Rng;

use crate::tensor;

/// Part of each weight that a step takes away, in units of its rate; keeps weights within the limit of fixed point.
const DECAY: f32 = 5e-3;

/// A trained tensor with its gradient and the running sum of gradients.
pub(crate) struct Trained<Q: Queue> {
    shape: Vec<usize>,
    value: Q::Buf<f32>,
    gradient: Q::Buf<f32>,
    velocity: Q::Buf<f32>,
}

/// A dense layer's weights `[inputs][outputs]` and its biases.
pub(crate) struct Dense<Q: Queue> {
    inputs: usize,
    outputs: usize,
    pub(crate) weight: Trained<Q>,
    pub(crate) bias: Trained<Q>,
}

impl<Q: LinalgOps> Trained<Q> {
    fn new(q: &Q, shape: &[usize], value: &[f32]) -> Result<Self, NnError> {
        let (gradient, velocity) = (q.zeros(value.len())?, q.zeros(value.len())?);
        Ok(Self { shape: shape.to_vec(), value: q.upload(value)?, gradient, velocity })
    }

    pub(crate) fn value(&self) -> Result<TensorRef<'_, Q, f32>, NnError> {
        TensorRef::contiguous(self.value.view(), &self.shape)
    }

    /// Where gradients are added.
    pub(crate) fn gradient(&mut self) -> Result<TensorMut<'_, Q, f32>, NnError> {
        TensorMut::contiguous(self.gradient.view_mut(), &self.shape)
    }

    /// A step along the gradient, which is zero then.
    fn descend(&mut self, q: &Q, sgd: Sgd) -> Result<(), NnError> {
        let shape = &self.shape;
        let gradient = TensorRef::contiguous(self.gradient.view(), shape)?;
        axpby(q, 1.0, gradient, sgd.momentum, TensorMut::contiguous(self.velocity.view_mut(), shape)?)?;
        let velocity = TensorRef::contiguous(self.velocity.view(), shape)?;
        axpby(q, -sgd.rate, velocity, 1.0 - sgd.rate * DECAY, TensorMut::contiguous(self.value.view_mut(), shape)?)?;
        axpby(q, 0.0, velocity, 0.0, TensorMut::contiguous(self.gradient.view_mut(), shape)?)
    }

    fn tensor(&self, q: &Q) -> Result<Tensor, NnError> {
        Ok(Tensor { shape: self.shape.clone(), data: q.download(&self.value)? })
    }
}

impl<Q: LinalgOps> Dense<Q> {
    /// Weights uniform in `+-sqrt(3 / inputs)`, which keeps the variance of standardised inputs, and biases of zero.
    pub(crate) fn new(
        q: &Q,
        inputs: usize,
        outputs: usize,
        bias: &[usize],
        rng: &mut impl Rng,
    ) -> Result<Self, NnError> {
        let limit = (3.0 / inputs as f32).sqrt();
        let uniform = |word: u32| (word >> 8) as f32 / (1 << 24) as f32; // in [0, 1)
        let weights: Vec<f32> = (0..inputs * outputs).map(|_| limit * (2.0 * uniform(rng.next_u32()) - 1.0)).collect();
        let zeros = vec![0.0; bias.iter().product()];
        let (weight, bias) = (Trained::new(q, &[inputs, outputs], &weights)?, Trained::new(q, bias, &zeros)?);
        Ok(Self { inputs, outputs, weight, bias })
    }

    pub(crate) fn forward(&self, q: &Q, x: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
        let rows = x.len() / self.inputs;
        let mut y = q.zeros::<f32>(rows * self.outputs)?;
        let into = TensorMut::contiguous(y.view_mut(), &[rows, self.outputs])?;
        let x = tensor::<Q>(x, &[rows, self.inputs])?;
        linear(q, x, self.weight.value()?, Some(self.bias.value()?), Activation::Identity, into)?;
        Ok(y)
    }

    /// Adds the gradients of weights and biases for that of the output, `g`; gives that of the input.
    pub(crate) fn backward(&mut self, q: &Q, x: &Q::Buf<f32>, g: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
        let rows = x.len() / self.inputs;
        let mut dx = q.zeros::<f32>(rows * self.inputs)?;
        let (x, g) = (tensor::<Q>(x, &[rows, self.inputs])?, tensor::<Q>(g, &[rows, self.outputs])?);
        let value = TensorRef::contiguous(self.weight.value.view(), &self.weight.shape)?;
        let gradients = LinearGradients {
            x: Some(TensorMut::contiguous(dx.view_mut(), &[rows, self.inputs])?),
            w: TensorMut::contiguous(self.weight.gradient.view_mut(), &self.weight.shape)?,
            bias: Some(self.bias.gradient()?),
        };
        linear_backward(q, x, value, Activation::Identity, g, g, gradients)?;
        Ok(dx)
    }

    pub(crate) fn descend(&mut self, q: &Q, sgd: Sgd) -> Result<(), NnError> {
        self.weight.descend(q, sgd)?;
        self.bias.descend(q, sgd)
    }

    /// Adds the tensors `name.weight` and `name.bias`.
    pub(crate) fn export(&self, q: &Q, name: &str, tensors: &mut Tensors) -> Result<(), NnError> {
        tensors.insert(format!("{name}.weight"), self.weight.tensor(q)?);
        tensors.insert(format!("{name}.bias"), self.bias.tensor(q)?);
        Ok(())
    }
}
