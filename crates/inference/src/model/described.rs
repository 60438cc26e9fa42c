//! Models described by a file: its layers on an engine, and their weights.

use pfss::{PfssError, SignedRange};

use super::{
    block::attention,
    input::elements,
    layers::LayerBuilder,
    norm::{layer_norm, row_means},
    shape::{DeclaredLimits, NormPlacement, TransformerBlock, TransformerShape},
};
use crate::{
    FRACTION_BITS, InferenceError, ModelFile, Parameter, Tensor,
    model_file::{Activation, AttentionLimits, Convolution, LayerKind, PlacedLayer},
};

/// The weights of all layers, in the order of the file.
pub(super) fn parameters(file: &ModelFile) -> Vec<Parameter> {
    file.layers().iter().flat_map(layer_parameters).collect()
}

/// The weights of a layer, and of the layers in it.
pub(super) fn layer_parameters(layer: &PlacedLayer) -> Vec<Parameter> {
    let PlacedLayer { name, kind, input, .. } = layer;
    let lens: Vec<usize> = input.iter().map(|&len| len as usize).collect();
    let [.., last] = lens[..] else { return Vec::new() };
    let stored = |part: &str, shape: Vec<usize>| Parameter::stored(&format!("{name}.{part}"), shape);
    match kind {
        LayerKind::Dense { outputs, bias, .. } => Parameter::outputs_first(name, vec![*outputs as usize, last], *bias),
        LayerKind::LayerNorm { affine: true, .. } => vec![stored("weight", vec![last]), stored("bias", vec![last])],
        LayerKind::Attention { .. } => {
            let projections = Parameter::outputs_first(&format!("{name}.qkv"), vec![3 * last, last], true);
            let mix = Parameter::outputs_first(&format!("{name}.out"), vec![last, last], true);
            projections.into_iter().chain(mix).collect()
        }
        LayerKind::Residual { .. } => layer.inner.iter().flat_map(layer_parameters).collect(),
        LayerKind::Embedding { outputs } => vec![stored("weight", vec![last, *outputs as usize])],
        LayerKind::PositionEmbedding => vec![stored("weight", lens)],
        LayerKind::Conv2d(Convolution { outputs, kernel, bias, .. }) => {
            let [outputs, high, wide] = [*outputs, kernel[0], kernel[1]].map(|len| len as usize);
            Parameter::outputs_first(name, vec![outputs, lens[0], high, wide], *bias)
        }
        LayerKind::LayerNorm { .. } | LayerKind::Activation(_) | LayerKind::Flatten | LayerKind::MeanPool => Vec::new(),
    }
}

/// Runs all layers. The result of a dense layer at the end has twice the fraction bits.
pub(super) fn run(layers: &mut LayerBuilder<'_>, file: &ModelFile, x: &Tensor) -> Result<Tensor, InferenceError> {
    match file.layers() {
        [before @ .., last] if let LayerKind::Dense { outputs, bias, limit } = last.kind => {
            let x = run_layers(layers, before, x)?;
            let dims = [last_axis(last), outputs];
            let y = layers.logits(&last.name, &x, dims, bias.then_some(1)).map_err(|error| of_layer(last, error))?;
            if let Some(limit) = limit {
                layers.engine.check_declared(&last.name, &y.words, 2 * FRACTION_BITS, limit)?;
            }
            Ok(y)
        }
        all => run_layers(layers, all, x),
    }
}

/// Runs a list of layers, one after the other.
fn run_layers(layers: &mut LayerBuilder<'_>, list: &[PlacedLayer], x: &Tensor) -> Result<Tensor, InferenceError> {
    let mut x = x.clone();
    for layer in list {
        x = run_layer(layers, layer, &x).map_err(|error| of_layer(layer, error))?;
    }
    Ok(x)
}

/// Runs a layer.
pub(super) fn run_layer(
    layers: &mut LayerBuilder<'_>,
    layer: &PlacedLayer,
    x: &Tensor,
) -> Result<Tensor, InferenceError> {
    let (name, width) = (&layer.name, last_axis(layer));
    match &layer.kind {
        LayerKind::Dense { outputs, bias, limit } => {
            let y = layers.dense_at(name, x, [width, *outputs], bias.then_some(1))?;
            layers.limited(name, y, *limit)
        }
        LayerKind::Activation(Activation::Relu) => layers.relu(name, x),
        LayerKind::Activation(Activation::Gelu) => layers.gelu(name, x),
        LayerKind::Activation(Activation::Silu) => layers.silu(name, x),
        LayerKind::LayerNorm { affine, deviation_limit, .. } => {
            let norm = if *affine { NormPlacement::Post } else { NormPlacement::Pre };
            let limits = deviation_limit.map(|deviation| DeclaredLimits { deviation, ..UNREAD });
            layer_norm(
                layers,
                name,
                x,
                &TransformerBlock { shape: TransformerShape { width, norm, ..ONE_UNIT }, limits },
            )
        }
        LayerKind::Attention { heads, causal, limits, limit } => {
            let shape =
                TransformerShape { width, heads: *heads, sequence: layer.input[0], causal: *causal, ..ONE_UNIT };
            let declared =
                |&AttentionLimits { projections, scores }: &_| DeclaredLimits { projections, scores, ..UNREAD };
            let block = TransformerBlock { shape, limits: limits.as_ref().map(declared) };
            let y = attention(layers, name, x, &block)?;
            layers.limited(name, y, *limit)
        }
        LayerKind::Residual { limit, .. } => {
            let y = run_layers(layers, &layer.inner, x)?;
            layers.limited(name, x.add(&y)?, *limit)
        }
        LayerKind::Embedding { outputs } => layers.embedding(name, x, [width, *outputs]),
        LayerKind::PositionEmbedding => layers.add_weights(name, x, elements(&layer.input)),
        LayerKind::Conv2d(convolution) => conv2d(layers, layer, convolution, x),
        LayerKind::Flatten => Ok(x.clone()),
        LayerKind::MeanPool => mean_pool(layers, layer, x),
    }
}

/// The convolution as one product: a row of inputs for each pixel of the result.
///
/// Rows are elements of `x` and zeros at public places, so that they cost nothing by themselves.
fn conv2d(
    layers: &mut LayerBuilder<'_>,
    layer: &PlacedLayer,
    convolution: &Convolution,
    x: &Tensor,
) -> Result<Tensor, InferenceError> {
    let Convolution { outputs, kernel, bias, limit, .. } = *convolution;
    let patches = patches(layer, convolution, x)?;
    let inputs = layer.input[0] * kernel[0] * kernel[1];
    let y = layers.dense_at(&layer.name, &patches, [inputs, outputs], bias.then_some(1))?;
    // [count][pixel][channel] becomes [count][channel][pixel]
    let (channels, pixels) = (outputs as usize, elements(&layer.output[1..]));
    let count = x.words.len() / elements(&layer.input);
    layers.limited(&layer.name, y.permuted([count, pixels, channels], [0, 2, 1]), limit)
}

/// The inputs of a convolution, `[count][row][column][channel][kernel row][kernel column]`.
fn patches(layer: &PlacedLayer, convolution: &Convolution, x: &Tensor) -> Result<Tensor, InferenceError> {
    let lens = |shape: &[u32]| [shape[0] as usize, shape[1] as usize, shape[2] as usize];
    let ([channels, height, width], [_, rows, cols]) = (lens(&layer.input), lens(&layer.output));
    let pair = |pair: [u32; 2]| pair.map(|len| len as usize);
    let (kernel, stride, padding) = (pair(convolution.kernel), pair(convolution.stride), pair(convolution.padding));
    // The place of a pixel within an image, if it is no padding.
    let place = |at: usize, axis: usize, len: usize| at.checked_sub(padding[axis]).filter(|&at| at < len);
    let size = channels * kernel[0] * kernel[1];
    let patch = |pixel: usize| {
        let (top, left) = (pixel / cols * stride[0], pixel % cols * stride[1]);
        (0..size).map(move |index| {
            let (channel, at) = (index / (kernel[0] * kernel[1]), index % (kernel[0] * kernel[1]));
            let (row, col) = (place(top + at / kernel[1], 0, height), place(left + at % kernel[1], 1, width));
            // an image has at most 2^26 elements
            row.zip(col).map(|(row, col)| ((channel * height + row) * width + col) as u32)
        })
    };
    let pixels = rows * cols;
    let words = x.words.gathered(channels * height * width, pixels * size, (0..pixels).flat_map(patch));
    Ok(Tensor { words, range: x.range.hull(SignedRange::new(0, 0)?) })
}

/// The mean of each unit over positions, or of each channel over pixels.
fn mean_pool(layers: &mut LayerBuilder<'_>, layer: &PlacedLayer, x: &Tensor) -> Result<Tensor, InferenceError> {
    if let &[positions, width] = &layer.input[..] {
        let count = x.words.len() / elements(&layer.input);
        let columns = x.permuted([count, positions as usize, width as usize], [0, 2, 1]);
        return row_means(layers, &layer.name, &columns, positions);
    }
    row_means(layers, &layer.name, x, layer.input[1..].iter().product())
}

/// Lengths of a transformer, for one of its parts alone.
const ONE_UNIT: TransformerShape =
    TransformerShape { layers: 1, width: 1, heads: 1, hidden: 1, sequence: 1, causal: false, norm: NormPlacement::Pre };

/// Limits that a part does not read.
const UNREAD: DeclaredLimits =
    DeclaredLimits { weights: 0, residual: 0, deviation: 0, projections: 0, scores: 0, hidden: 0 };

/// The length of the last axis of a layer's input.
fn last_axis(layer: &PlacedLayer) -> u32 {
    layer.input.last().copied().unwrap_or(1) // shapes are not empty
}

/// A failed proof of ranges with the layer's place and name; other errors as they are.
pub(super) fn of_layer(layer: &PlacedLayer, error: InferenceError) -> InferenceError {
    match error {
        InferenceError::Range(_)
        | InferenceError::Layout(_)
        | InferenceError::Pfss(PfssError::Range(_) | PfssError::Suf(_)) => {
            InferenceError::Layer { layer: layer.place.clone(), reason: Box::new(error) }
        }
        other => other,
    }
}
