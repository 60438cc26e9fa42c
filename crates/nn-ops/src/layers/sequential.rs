//! Layers one after the other.

use super::{
    any::AnyLayer,
    gradients::cleared,
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    saved::{Saved, State, other},
};
use crate::{
    error::{NnError, Result},
    movement::copied,
    optim::{ParameterArena, ParameterId, Precision},
    tensor::{Tensor, TensorRef},
};

/// Layers one after the other: each takes the output of the one before it.
///
/// Without layers the output is a copy of the input.
///
/// ```
/// use nn_ops::{Activation, Dense, Layer, Mode, ParameterArena, ParameterTable, Parameters, Sequential, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&[Dense::specs("0", [2, 8]), Dense::specs("2", [8, 1])].concat())?;
/// let (first, last) = (Dense::find(&table, "0")?, Dense::find(&table, "2")?);
/// let network = Sequential::new([first.into(), Activation::Tanh.into(), last.into()]);
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// network.initialize(&q, &mut values, 42)?;
///
/// let x = Tensor::from_values(&q, &[3, 2], &[0.5f32; 6])?;
/// let (y, saved) = network.forward(&q, &values, Mode::Training { step: 0 }, x.at())?;
/// let g = Tensor::from_values(&q, y.layout().shape(), &[1.0f32; 3])?;
/// network.backward(&q, &values, saved, x.at(), g.at(), &mut gradients)?;
/// assert_eq!(gradients.values(&q, last.bias())?, [3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sequential {
    layers: Vec<AnyLayer>,
}

impl Sequential {
    /// The layers in the order of the forward pass.
    pub fn new(layers: impl IntoIterator<Item = AnyLayer>) -> Self {
        Self { layers: layers.into_iter().collect() }
    }

    /// The layers in the order of the forward pass.
    #[must_use]
    pub fn layers(&self) -> &[AnyLayer] {
        &self.layers
    }
}

impl Parameters for Sequential {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        for layer in &self.layers {
            layer.visit(visitor);
        }
    }
}

impl Layer for Sequential {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        let (mut inputs, mut layers) = (Vec::new(), Vec::new());
        let mut output: Option<Tensor<Q, T>> = None;
        for layer in &self.layers {
            let before = output.take();
            let own = before.as_ref().map_or_else(|| x.shorten(), Tensor::at);
            let (y, saved) = layer.forward(q, values, mode, own)?;
            if mode.is_training() {
                inputs.extend(before);
                layers.push(saved);
            }
            output = Some(y);
        }
        let y = output.map_or_else(|| copied(q, x), Ok)?;
        Ok((y, Saved::new(q, mode, State::Sequence { inputs, layers })))
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
        const OP: &str = "sequential_backward";
        let (mut inputs, layers) = match saved.open(q, OP)? {
            State::Sequence { inputs, layers } if layers.len() == self.layers.len() => (inputs, layers),
            _ => return Err(other(OP)),
        };
        // From the last layer to the first, whose input is x. Inputs are freed on the way.
        let mut gradient: Option<Tensor<Q, T>> = None;
        for (layer, saved) in self.layers.iter().zip(layers).rev() {
            let before = inputs.pop();
            let own = before.as_ref().map_or_else(|| x.shorten(), Tensor::at);
            let of_output = gradient.as_ref().map_or_else(|| g.shorten(), Tensor::at);
            let of_input = layer.backward(q, values, saved, own, of_output, gradients);
            gradient = Some(of_input.map_err(|error| match error {
                // The last layer refused its operands: nothing was added.
                error if gradient.is_none() && !matches!(error, NnError::GradientsCleared { .. }) => error,
                error => cleared(q, OP, self, gradients, error),
            })?);
        }
        gradient.map_or_else(|| copied(q, g), Ok)
    }
}
