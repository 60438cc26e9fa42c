//! The layers of a model file, as they are written there.

use serde::{Deserialize, Serialize};

/// The content of a model file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    /// Version of the format.
    pub(super) version: u32,
    /// The name of the model.
    pub(super) name: String,
    pub(super) input: Input,
    /// The greatest magnitude of any weight or bias.
    pub(super) weight_limit: u32,
    pub(super) layers: Vec<Layer>,
}

/// The inputs of a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The shape of one input.
    pub(super) shape: Vec<u32>,
    /// Fraction bits of its values.
    pub(super) fraction_bits: u32,
    /// The least and the greatest value.
    pub(super) min: i32,
    pub(super) max: i32,
}

/// A layer and its name, with which the names of its weights begin.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) kind: LayerKind,
}

/// A layer. Limits are on the magnitude of its results; `None` leaves the proven range.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LayerKind {
    /// `x W + b` along the last axis.
    Dense {
        outputs: u32,
        #[serde(default = "yes")]
        bias: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// A function of each element.
    Activation(Activation),
    /// `(x - mean) / sqrt(variance + eps)` along the last axis, times weights plus biases.
    LayerNorm {
        eps: f64,
        #[serde(default = "yes")]
        affine: bool,
        /// The greatest standard deviation of a row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deviation_limit: Option<u32>,
    },
    /// Attention of each position to all positions, or to those up to its own.
    Attention {
        heads: u32,
        causal: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<AttentionLimits>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// `x + f(x)`, where `f` is a list of layers.
    Residual {
        layers: Vec<Layer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// A row of weights for each position, chosen by a one-hot vector. The first layer.
    Embedding { outputs: u32 },
    /// Adds a row of weights to each position.
    PositionEmbedding,
    /// Cross-correlation with kernels, on `[channels][height][width]`.
    Conv2d(Convolution),
    /// All elements on one axis.
    Flatten,
    /// The mean over positions of `[position][unit]`, or over the pixels of each channel.
    MeanPool,
}

/// A function of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Activation {
    Relu,
    Gelu,
    Silu,
}

/// Limits on magnitudes within an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttentionLimits {
    /// Queries, keys and values.
    pub(crate) projections: u32,
    /// Scores, divided by the root of a head's width.
    pub(crate) scores: u32,
}

/// The lengths of a convolution. Pairs are vertical, then horizontal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Convolution {
    /// Channels of the result.
    pub(crate) outputs: u32,
    pub(crate) kernel: [u32; 2],
    #[serde(default = "ones")]
    pub(crate) stride: [u32; 2],
    /// Zeros before and after the pixels.
    #[serde(default)]
    pub(crate) padding: [u32; 2],
    #[serde(default = "yes")]
    pub(crate) bias: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u32>,
}

impl LayerKind {
    /// Whether the names of other steps or weights begin with the layer's name.
    pub(super) const fn has_parts(&self) -> bool {
        !matches!(self, Self::Residual { .. } | Self::Flatten)
    }
}

const fn yes() -> bool {
    true
}

const fn ones() -> [u32; 2] {
    [1, 1]
}
