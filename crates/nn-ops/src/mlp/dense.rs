use backend_api::{Buffer as _, Mut, Queue, Ref, ops::linalg::LinalgOps};
use core_types::params::{
    elementwise::{Activation, SumParams},
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};

use super::Sgd;
use crate::NnError;

/// One dense layer with its gradients' running sums.
pub(super) struct Dense<Q: Queue> {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) weight: Q::Buf<f32>,
    pub(super) bias: Q::Buf<f32>,
    weight_velocity: Q::Buf<f32>,
    bias_velocity: Q::Buf<f32>,
}

impl<Q: LinalgOps> Dense<Q> {
    /// A layer of `weights` `[inputs][outputs]` and zero biases.
    pub(super) fn new(q: &Q, [inputs, outputs]: [usize; 2], weights: &[f32]) -> Result<Self, NnError> {
        Ok(Self {
            inputs,
            outputs,
            weight: q.upload(weights)?,
            bias: q.zeros(outputs)?,
            weight_velocity: q.zeros(weights.len())?,
            bias_velocity: q.zeros(outputs)?,
        })
    }

    /// `y = f(x W + b)`.
    pub(super) fn forward(
        &self,
        q: &Q,
        rows: usize,
        x: Ref<'_, Q, f32>,
        activation: Activation,
        y: Mut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        let shape = Product { m: rows, n: self.outputs, k: self.inputs, activation };
        let p = shape.params(row_major(self.inputs), row_major(self.outputs));
        Ok(q.gemm(&p, x, self.weight.view(), Some(self.bias.view()), y)?)
    }

    /// `gradient W^T`: the gradient of the input.
    pub(super) fn input_gradient(
        &self,
        q: &Q,
        rows: usize,
        gradient: Ref<'_, Q, f32>,
        product: Mut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        let shape = Product { m: rows, n: self.inputs, k: self.outputs, activation: Activation::Identity };
        let p = shape.params(row_major(self.outputs), transposed(self.outputs));
        Ok(q.gemm(&p, gradient, self.weight.view(), None, product)?)
    }

    /// Takes a step against the gradient of the output before its activation; `scratch` has room for the gradients of weights
    /// and biases.
    pub(super) fn descend(
        &mut self,
        q: &Q,
        rows: usize,
        input: Ref<'_, Q, f32>,
        gradient: Ref<'_, Q, f32>,
        scratch: [&mut Q::Buf<f32>; 2],
        sgd: Sgd,
    ) -> Result<(), NnError> {
        let [weights, biases] = scratch;
        let (of_weights, of_biases) = (0..self.weight.len(), 0..self.bias.len());
        let shape = Product { m: self.inputs, n: self.outputs, k: rows, activation: Activation::Identity };
        let p = shape.params(transposed(self.inputs), row_major(self.outputs));
        q.gemm(&p, input, gradient, None, weights.slice_mut(of_weights.clone())?)?;
        let columns = SumParams { outer: 1, len: rows as u64, inner: self.outputs as u64, accumulate: 0 };
        q.sum_axis(&columns, gradient, biases.slice_mut(of_biases.clone())?)?;
        q.axpby(1.0, weights.slice(of_weights)?, sgd.momentum, self.weight_velocity.view_mut())?;
        q.axpby(1.0, biases.slice(of_biases)?, sgd.momentum, self.bias_velocity.view_mut())?;
        q.axpby(-sgd.rate, self.weight_velocity.view(), 1.0, self.weight.view_mut())?;
        q.axpby(-sgd.rate, self.bias_velocity.view(), 1.0, self.bias.view_mut())?;
        Ok(())
    }
}

/// `act(A B + bias)` with an m x k matrix A and a k x n matrix B, into a row-major m x n one.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    activation: Activation,
}

impl Product {
    fn params(&self, a: MatrixStrides, b: MatrixStrides) -> GemmParams {
        GemmParams {
            batch: [1; BATCH_AXES],
            m: self.m as u64,
            n: self.n as u64,
            k: self.k as u64,
            a,
            b,
            c: row_major(self.n),
            accumulate: 0,
            activation: self.activation,
        }
    }
}

/// A row-major matrix with `cols` columns.
fn row_major(cols: usize) -> MatrixStrides {
    MatrixStrides { batch: [0; BATCH_AXES], row: cols as u64, col: 1 }
}

/// The transpose of a row-major matrix with `cols` columns.
fn transposed(cols: usize) -> MatrixStrides {
    MatrixStrides { batch: [0; BATCH_AXES], row: 1, col: cols as u64 }
}
