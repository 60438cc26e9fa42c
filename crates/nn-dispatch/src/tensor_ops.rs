//! The ops of [`TensorOpsAPI`] on a dispatcher.

use nn_ops::Activation;

use crate::{
    adam::AdamState,
    api::TensorOpsAPI,
    args::{Affine, LayerNormGradients, LinearGradients, MatmulGradients, SoftmaxMask},
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    ops::{elements, embedding, loss, norm, optim, products, softmax},
    product::Product,
    saved::Saved,
};

impl TensorOpsAPI for BackendDispatcher {
    fn matmul(&self, a: Operand<'_>, b: Operand<'_>, product: Product, c: &mut [f32]) -> Result<Saved, DispatchError> {
        products::matmul(self, a, b, product, c)
    }

    fn matmul_backward(
        &self,
        saved: &Saved,
        a: Operand<'_>,
        b: Operand<'_>,
        g: Operand<'_>,
        gradients: MatmulGradients<'_>,
    ) -> Result<(), DispatchError> {
        products::matmul_backward(self, saved, [a, b, g], gradients)
    }

    fn linear(
        &self,
        x: Operand<'_>,
        w: Operand<'_>,
        bias: Option<Operand<'_>>,
        shape: [usize; 3],
        y: &mut [f32],
    ) -> Result<Saved, DispatchError> {
        products::linear(self, [x, w], bias, shape, y)
    }

    fn linear_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        w: Operand<'_>,
        g: Operand<'_>,
        gradients: LinearGradients<'_>,
    ) -> Result<(), DispatchError> {
        products::linear_backward(self, saved, [x, w, g], gradients)
    }

    fn softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved, DispatchError> {
        softmax::softmax(self, false, x, (shape, dim), mask, y)
    }

    fn softmax_backward(
        &self,
        saved: &Saved,
        y: Operand<'_>,
        g: Operand<'_>,
        dx: &mut [f32],
    ) -> Result<(), DispatchError> {
        softmax::softmax_backward(self, false, saved, [y, g], dx)
    }

    fn log_softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved, DispatchError> {
        softmax::softmax(self, true, x, (shape, dim), mask, y)
    }

    fn log_softmax_backward(
        &self,
        saved: &Saved,
        y: Operand<'_>,
        g: Operand<'_>,
        dx: &mut [f32],
    ) -> Result<(), DispatchError> {
        softmax::softmax_backward(self, true, saved, [y, g], dx)
    }

    fn layer_norm(
        &self,
        x: Operand<'_>,
        affine: Affine<'_>,
        shape: [usize; 2],
        eps: f32,
        y: &mut [f32],
    ) -> Result<Saved, DispatchError> {
        norm::layer_norm(self, x, affine, (shape, eps), y)
    }

    fn layer_norm_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        gamma: Option<Operand<'_>>,
        g: Operand<'_>,
        gradients: LayerNormGradients<'_>,
    ) -> Result<(), DispatchError> {
        norm::layer_norm_backward(self, saved, [x, g], gamma, gradients)
    }

    fn gelu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved, DispatchError> {
        elements::activate(self, ("gelu", Activation::GeluTanh), x, y)
    }

    fn gelu_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        g: Operand<'_>,
        dx: &mut [f32],
    ) -> Result<(), DispatchError> {
        elements::activate_backward(self, ("gelu_backward", "gelu", Activation::GeluTanh), saved, [x, g], dx)
    }

    fn relu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved, DispatchError> {
        elements::activate(self, ("relu", Activation::Relu), x, y)
    }

    fn relu_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        g: Operand<'_>,
        dx: &mut [f32],
    ) -> Result<(), DispatchError> {
        elements::activate_backward(self, ("relu_backward", "relu", Activation::Relu), saved, [x, g], dx)
    }

    fn embedding(
        &self,
        table: Operand<'_>,
        shape: [usize; 2],
        indices: &[u32],
        y: &mut [f32],
    ) -> Result<Saved, DispatchError> {
        embedding::embedding(self, table, shape, indices, y)
    }

    fn embedding_backward(&self, saved: &Saved, g: Operand<'_>, dtable: &mut [f32]) -> Result<(), DispatchError> {
        embedding::embedding_backward(self, saved, g, dtable)
    }

    fn cross_entropy(
        &self,
        logits: Operand<'_>,
        targets: Operand<'_>,
        shape: [usize; 2],
    ) -> Result<(f32, Saved), DispatchError> {
        loss::cross_entropy(self, [logits, targets], shape)
    }

    fn cross_entropy_backward(&self, saved: &Saved, g: f32, dlogits: &mut [f32]) -> Result<(), DispatchError> {
        loss::cross_entropy_backward(self, saved, g, dlogits)
    }

    fn sgd_step(&self, w: &mut [f32], g: Operand<'_>, rate: f32) -> Result<(), DispatchError> {
        optim::sgd_step(self, w, g, rate)
    }

    fn adam_step(&self, w: &mut [f32], g: Operand<'_>, state: &mut AdamState) -> Result<(), DispatchError> {
        optim::adam_step(self, w, g, state)
    }
}
