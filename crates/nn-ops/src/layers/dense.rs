//! Dense layers as layers of a model.

use super::{
    gradients::{add_or_clear, add_wide},
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    rows::{alloc_rows, gradient, matrix, written},
    saved::{Saved, State, other},
};
use crate::{
    Activation,
    error::Result,
    optim::{ParameterArena, ParameterId, Precision, own_results},
    products::{Dense, GemmPlan, LinearBackwardPlan, LinearGradients},
    tensor::{Init, Tensor, TensorMut, TensorRef},
};

impl Parameters for Dense {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        visitor(self.weight(), Start::Random(Init::Glorot));
        visitor(self.bias(), Start::Zeros);
    }
}

/// `y = x W + b` for an input `[.., inputs]`.
impl Layer for Dense {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        Ok((forward(self, q, values, x)?, Saved::new(q, mode, State::Dense)))
    }

    fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        saved: Saved<Q, T>,
        x: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, T>> {
        let State::Dense = saved.open(q, BACKWARD)? else { return Err(other(BACKWARD)) };
        let of_x = input_gradient(self, q, values, x, g)?;
        add_or_clear(q, BACKWARD, (self, values.table()), gradients, |gradients| {
            add_gradients(self, q, values, x, g, gradients)
        })?;
        Ok(of_x)
    }
}

const BACKWARD: &str = "dense_backward";

/// The output `[.., outputs]` of an input `[.., inputs]`.
pub(super) fn forward<Q: LayerOps, T: Precision>(
    layer: &Dense,
    q: &Q,
    values: &ParameterArena<Q, T>,
    x: TensorRef<'_, Q, T>,
) -> Result<Tensor<Q, T>> {
    let rows = matrix("dense", "x", x, layer.inputs())?;
    let plan = layer.plan(rows.layout().shape()[0], Activation::Identity)?;
    let mut y = alloc_rows(q, x.layout(), layer.outputs())?;
    plan.forward(q, layer, values, rows, written(&mut y, plan.output().shape())?)?;
    Ok(y)
}

/// The gradient of the input.
pub(super) fn input_gradient<Q: LayerOps, T: Precision>(
    layer: &Dense,
    q: &Q,
    values: &ParameterArena<Q, T>,
    x: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
) -> Result<Tensor<Q, T>> {
    let (rows, g) = (matrix(BACKWARD, "x", x, layer.inputs())?, gradient(BACKWARD, x.layout(), g, layer.outputs())?);
    let weight = values.at(layer.weight())?.transposed()?;
    let mut of_x = alloc_rows(q, x.layout(), layer.inputs())?;
    let into = written(&mut of_x, rows.layout().shape())?;
    GemmPlan::new(g.layout(), weight.layout(), into.layout())?.run(q, g, weight, into)?;
    Ok(of_x)
}

/// Adds the gradients of weights and biases, by the product itself if they are in f32.
pub(super) fn add_gradients<Q: LayerOps, T: Precision>(
    layer: &Dense,
    q: &Q,
    values: &ParameterArena<Q, T>,
    x: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    gradients: &mut ParameterArena<Q, f32>,
) -> Result<()> {
    let (rows, g) = (matrix(BACKWARD, "x", x, layer.inputs())?, gradient(BACKWARD, x.layout(), g, layer.outputs())?);
    let weight = values.at(layer.weight())?;
    match own_results(gradients.at_mut_each([layer.weight(), layer.bias()])?) {
        Ok([w, bias]) => {
            let plan = LinearBackwardPlan::accumulating(rows.layout(), weight.layout())?;
            plan.run(q, rows, weight, g, LinearGradients { x: None, w, bias: Some(bias) })
        }
        Err([w, bias]) => {
            let room = |of: &TensorMut<'_, Q, f32>| Tensor::<Q, T>::alloc(q, of.layout().shape());
            let (mut of_w, mut of_bias) = (room(&w)?, room(&bias)?);
            let into = LinearGradients { x: None, w: of_w.at_mut(), bias: Some(of_bias.at_mut()) };
            LinearBackwardPlan::new(rows.layout(), weight.layout())?.run(q, rows, weight, g, into)?;
            add_wide(q, of_w.at(), w)?;
            add_wide(q, of_bias.at(), bias)
        }
    }
}
