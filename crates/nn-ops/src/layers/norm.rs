//! Layer norm and RMS norm as layers of a model.

use super::{
    gradients::{add_or_clear, add_wide},
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    rows::{gradient, matrix},
    saved::{Saved, State, other},
};
use crate::{
    error::{NnError, Result},
    functional::Functional,
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable, Precision},
    rows::NormPlan,
    tensor::{Tensor, TensorRef},
};

/// A layer norm of rows `[.., features]` with trained factors and addends.
///
/// See [`NormPlan::layer_norm`], and [`Layer`] for an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    weight: ParameterId,
    bias: ParameterId,
    features: usize,
    eps: f32,
}

impl LayerNorm {
    /// The factors `name.weight` and the addends `name.bias`, which do not decay.
    #[must_use]
    pub fn specs(name: &str, features: usize) -> [ParameterSpec; 2] {
        ["weight", "bias"].map(|part| ParameterSpec::new(format!("{name}.{part}"), &[features]).without_decay())
    }

    /// The norm of the tensors `name.weight` and `name.bias`, with `eps` added to the variance.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if a tensor is not there, [`NnError::NamedTensor`] for tensors
    /// that are no rows of one length, [`NnError::Parameter`] unless eps is finite and not
    /// negative.
    pub fn find(table: &ParameterTable, name: &str, eps: f32) -> Result<Self> {
        const OP: &str = "layer_norm";
        let (weight, features) = row(OP, table, &format!("{name}.weight"))?;
        let of_bias = format!("{name}.bias");
        let (bias, got) = row(OP, table, &of_bias)?;
        if got != features {
            return Err(NnError::named(of_bias, NnError::shape(OP, "bias", [features], [got])));
        }
        NormPlan::new(&[0, features], eps)?;
        Ok(Self { weight, bias, features, eps })
    }
}

impl Parameters for LayerNorm {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        visitor(self.weight, Start::Ones);
        visitor(self.bias, Start::Zeros);
    }
}

impl Layer for LayerNorm {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        matrix("layer_norm", "x", x, self.features)?;
        let (gamma, beta) = (values.at(self.weight)?, values.at(self.bias)?);
        let (y, stats) = Functional::layer_norm(q, &x, Some(gamma), Some(beta), self.eps)?;
        Ok((y, Saved::new(q, mode, State::LayerNorm(stats))))
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
        const OP: &str = "layer_norm_backward";
        let State::LayerNorm(stats) = saved.open(q, OP)? else { return Err(other(OP)) };
        matrix(OP, "x", x, self.features)?;
        gradient(OP, x.layout(), g, self.features)?;
        let gamma = Some(values.at(self.weight)?);
        let [of_x, of_weight, of_bias] = Functional::layer_norm_backward(q, &x, gamma, &stats, &g)?;
        add_or_clear(q, OP, (self, values.table()), gradients, |gradients| {
            add_wide(q, of_weight.at(), gradients.at_mut(self.weight)?)?;
            add_wide(q, of_bias.at(), gradients.at_mut(self.bias)?)
        })?;
        Ok(of_x)
    }
}

/// An RMS norm of rows `[.., features]` with trained factors.
///
/// See [`NormPlan::rms_norm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsNorm {
    weight: ParameterId,
    features: usize,
    eps: f32,
}

impl RmsNorm {
    /// The factors `name.weight`, which do not decay.
    #[must_use]
    pub fn specs(name: &str, features: usize) -> [ParameterSpec; 1] {
        [ParameterSpec::new(format!("{name}.weight"), &[features]).without_decay()]
    }

    /// The norm of the tensor `name.weight`, with `eps` added to the mean square.
    ///
    /// # Errors
    /// As [`LayerNorm::find`].
    pub fn find(table: &ParameterTable, name: &str, eps: f32) -> Result<Self> {
        let (weight, features) = row("rms_norm", table, &format!("{name}.weight"))?;
        NormPlan::new(&[0, features], eps)?;
        Ok(Self { weight, features, eps })
    }
}

impl Parameters for RmsNorm {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        visitor(self.weight, Start::Ones);
    }
}

impl Layer for RmsNorm {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        matrix("rms_norm", "x", x, self.features)?;
        let (y, stats) = Functional::rms_norm(q, &x, Some(values.at(self.weight)?), self.eps)?;
        Ok((y, Saved::new(q, mode, State::RmsNorm(stats))))
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
        const OP: &str = "rms_norm_backward";
        let State::RmsNorm(stats) = saved.open(q, OP)? else { return Err(other(OP)) };
        matrix(OP, "x", x, self.features)?;
        gradient(OP, x.layout(), g, self.features)?;
        let gamma = Some(values.at(self.weight)?);
        let [of_x, of_weight] = Functional::rms_norm_backward(q, &x, gamma, &stats, &g)?;
        add_or_clear(q, OP, (self, values.table()), gradients, |gradients| {
            add_wide(q, of_weight.at(), gradients.at_mut(self.weight)?)
        })?;
        Ok(of_x)
    }
}

/// A tensor of one axis, and its length.
fn row(op: &'static str, table: &ParameterTable, name: &str) -> Result<(ParameterId, usize)> {
    let id = table.id(name)?;
    let lengths = table.layout(id)?.lengths(op, "a parameter");
    let [len] = lengths.map_err(|reason| NnError::named(name, reason))?;
    Ok((id, len))
}
