use backend_api::{
    Buffer as _, Mut, Queue, Ref,
    ops::linalg::{Axpby, Gemm, LinalgOps, SumAxis},
};
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
        let params = shape.params(row_major(self.inputs), row_major(self.outputs));
        Ok(q.gemm(Gemm {
            params: &params,
            a: q.shorten(x),
            b: self.weight.view(),
            bias: Some(self.bias.view()),
            c: q.shorten_mut(y),
        })?)
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
        let params = shape.params(row_major(self.outputs), transposed(self.outputs));
        Ok(q.gemm(Gemm {
            params: &params,
            a: q.shorten(gradient),
            b: self.weight.view(),
            bias: None,
            c: q.shorten_mut(product),
        })?)
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
        let params = shape.params(transposed(self.inputs), row_major(self.outputs));
        q.gemm(Gemm {
            params: &params,
            a: q.shorten(input),
            b: q.shorten(gradient),
            bias: None,
            c: weights.slice_mut(of_weights.clone())?,
        })?;
        let columns = SumParams { outer: 1, len: rows as u64, inner: self.outputs as u64, accumulate: 0 };
        q.sum_axis(SumAxis { params: &columns, x: q.shorten(gradient), y: biases.slice_mut(of_biases.clone())? })?;
        q.axpby(Axpby {
            alpha: 1.0,
            x: weights.slice(of_weights)?,
            beta: sgd.momentum,
            y: self.weight_velocity.view_mut(),
        })?;
        q.axpby(Axpby {
            alpha: 1.0,
            x: biases.slice(of_biases)?,
            beta: sgd.momentum,
            y: self.bias_velocity.view_mut(),
        })?;
        q.axpby(Axpby { alpha: -sgd.rate, x: self.weight_velocity.view(), beta: 1.0, y: self.weight.view_mut() })?;
        q.axpby(Axpby { alpha: -sgd.rate, x: self.bias_velocity.view(), beta: 1.0, y: self.bias.view_mut() })?;
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
