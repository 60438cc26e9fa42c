//! Activations and dropout as layers of a model.

use super::{
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    saved::{Saved, State, other},
};
use crate::{
    Activation,
    elementwise::{DropoutSite, activate, activate_backward},
    error::Result,
    movement::copy,
    optim::{ParameterArena, ParameterId, Precision},
    tensor::{Layout, Tensor, TensorRef},
};

impl Parameters for Activation {
    fn visit(&self, _: &mut dyn FnMut(ParameterId, Start)) {}
}

impl Layer for Activation {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        _: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        let mut y = row_major("activation", q, x)?;
        activate(q, *self, x, y.at_mut())?;
        Ok((y, Saved::new(q, mode, State::Activation)))
    }

    fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        _: &ParameterArena<Q, T>,
        saved: Saved<Q, T>,
        x: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        _: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, T>> {
        const OP: &str = "activation_backward";
        let State::Activation = saved.open(q, OP)? else { return Err(other(OP)) };
        let mut of_x = row_major(OP, q, x)?;
        if !self.saves_output() {
            activate_backward(q, *self, x, g, of_x.at_mut())?;
            return Ok(of_x);
        }
        // The output was the caller's: it is computed again.
        let mut y = row_major(OP, q, x)?;
        activate(q, *self, x, y.at_mut())?;
        activate_backward(q, *self, y.at(), g, of_x.at_mut())?;
        Ok(of_x)
    }
}

impl Parameters for DropoutSite {
    fn visit(&self, _: &mut dyn FnMut(ParameterId, Start)) {}
}

/// Drops elements by the mask of the training step; [`Mode::Inference`] copies them.
impl Layer for DropoutSite {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        _: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        let mut y = row_major("dropout", q, x)?;
        let state = match mode {
            Mode::Inference => {
                copy(q, x, y.at_mut())?;
                State::Inference
            }
            Mode::Training { step } => {
                self.dropout.apply(q, self.site, step, x, y.at_mut())?;
                State::Dropout { step }
            }
        };
        Ok((y, Saved::new(q, mode, state)))
    }

    fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        _: &ParameterArena<Q, T>,
        saved: Saved<Q, T>,
        x: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        _: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, T>> {
        const OP: &str = "dropout_backward";
        let State::Dropout { step } = saved.open(q, OP)? else { return Err(other(OP)) };
        let mut of_x = row_major(OP, q, x)?;
        of_x.layout().admit(OP, "g", g.layout())?;
        self.dropout.apply(q, self.site, step, g, of_x.at_mut())?;
        Ok(of_x)
    }
}

/// A new tensor of the shape of `x`, which has to be row-major.
fn row_major<Q: LayerOps, T: Precision>(op: &'static str, q: &Q, x: TensorRef<'_, Q, T>) -> Result<Tensor<Q, T>> {
    let shape = x.layout().shape();
    Layout::of(op, shape)?.admit(op, "x", x.layout())?;
    Tensor::alloc(q, shape)
}
