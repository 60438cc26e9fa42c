//! Dense layers as layers of a model.

use super::{
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    rows::{alloc_rows, gradient, matrix, written},
    saved::{Saved, State, other},
};
use crate::{
    Activation,
    error::Result,
    optim::{ParameterArena, ParameterId},
    products::{Dense, GemmPlan, LinearBackwardPlan, LinearGradients},
    tensor::{Init, Tensor, TensorRef},
};

impl Parameters for Dense {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        visitor(self.weight(), Start::Random(Init::Glorot));
        visitor(self.bias(), Start::Zeros);
    }
}

/// `y = x W + b` for an input `[.., inputs]`.
impl Layer for Dense {
    fn forward<Q: LayerOps>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, f32>,
        mode: Mode,
        x: TensorRef<'_, Q, f32>,
    ) -> Result<(Tensor<Q, f32>, Saved<Q>)> {
        Ok((forward(self, q, values, x)?, Saved::new(q, mode, State::Dense)))
    }

    fn backward<Q: LayerOps>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, f32>,
        saved: Saved<Q>,
        x: TensorRef<'_, Q, f32>,
        g: TensorRef<'_, Q, f32>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, f32>> {
        match saved.open(q, BACKWARD)? {
            State::Dense => backward(self, q, values, x, g, gradients),
            _ => Err(other(BACKWARD)),
        }
    }
}

const BACKWARD: &str = "dense_backward";

/// The output `[.., outputs]` of an input `[.., inputs]`.
pub(super) fn forward<Q: LayerOps>(
    layer: &Dense,
    q: &Q,
    values: &ParameterArena<Q, f32>,
    x: TensorRef<'_, Q, f32>,
) -> Result<Tensor<Q, f32>> {
    let rows = matrix("dense", "x", x, layer.inputs())?;
    let plan = layer.plan(rows.layout().shape()[0], Activation::Identity)?;
    let mut y = alloc_rows(q, x.layout(), layer.outputs())?;
    plan.forward(q, layer, values, rows, written(&mut y, plan.output().shape())?)?;
    Ok(y)
}

/// The gradient of the input; adds the gradients of weights and biases.
pub(super) fn backward<Q: LayerOps>(
    layer: &Dense,
    q: &Q,
    values: &ParameterArena<Q, f32>,
    x: TensorRef<'_, Q, f32>,
    g: TensorRef<'_, Q, f32>,
    gradients: &mut ParameterArena<Q, f32>,
) -> Result<Tensor<Q, f32>> {
    let (rows, g) = (matrix(BACKWARD, "x", x, layer.inputs())?, gradient(BACKWARD, x.layout(), g, layer.outputs())?);
    let weight = values.at(layer.weight())?;
    let mut of_x = alloc_rows(q, x.layout(), layer.inputs())?;
    // Weights and biases: their gradients are added.
    let plan = LinearBackwardPlan::accumulating(rows.layout(), weight.layout())?;
    let [w, bias] = gradients.at_mut_each([layer.weight(), layer.bias()])?;
    plan.run(q, rows, weight, g, LinearGradients { x: None, w, bias: Some(bias) })?;
    // The input: its gradient is written.
    let turned = weight.transposed()?;
    let into = written(&mut of_x, rows.layout().shape())?;
    GemmPlan::new(g.layout(), turned.layout(), into.layout())?.run(q, g, turned, into)?;
    Ok(of_x)
}
