//! Any of the layers, for lists of layers and for the tape.

use super::{
    attention::SelfAttention,
    gru::Gru,
    layer::{Layer, LayerOps},
    mode::Mode,
    norm::{LayerNorm, RmsNorm},
    parameters::{Parameters, Start},
    saved::Saved,
};
use crate::{
    Activation,
    elementwise::DropoutSite,
    error::Result,
    optim::{ParameterArena, ParameterId, Precision},
    products::Dense,
    tensor::{Tensor, TensorRef},
};

/// Defines [`AnyLayer`] from its variants.
macro_rules! any_layer {
    ($($(#[$doc:meta])* $layer:ident,)*) => {
        /// Any layer with one input and one output.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyLayer {
            $($(#[$doc])* $layer($layer),)*
        }

        $(
            impl From<$layer> for AnyLayer {
                fn from(layer: $layer) -> Self {
                    Self::$layer(layer)
                }
            }
        )*

        impl Parameters for AnyLayer {
            fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
                match self {
                    $(Self::$layer(layer) => layer.visit(visitor),)*
                }
            }
        }

        impl Layer for AnyLayer {
            fn forward<Q: LayerOps, T: Precision>(
                &self,
                q: &Q,
                values: &ParameterArena<Q, T>,
                mode: Mode,
                x: TensorRef<'_, Q, T>,
            ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
                match self {
                    $(Self::$layer(layer) => Layer::forward(layer, q, values, mode, x),)*
                }
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
                match self {
                    $(Self::$layer(layer) => Layer::backward(layer, q, values, saved, x, g, gradients),)*
                }
            }
        }
    };
}

any_layer! {
    /// Weights and biases.
    Dense,
    /// A layer norm.
    LayerNorm,
    /// An RMS norm.
    RmsNorm,
    /// A function of every element.
    Activation,
    /// Dropout of elements, in training.
    DropoutSite,
    /// Multi-head self attention.
    SelfAttention,
    /// A gated recurrent unit.
    Gru,
}
