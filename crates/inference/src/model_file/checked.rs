//! The checks of a model file, and its layers with their places and shapes.

use super::{
    ModelFile,
    error::ModelFileError,
    layer::{AttentionLimits, Content, Convolution, Input, Layer, LayerKind},
    shape::{MAX_ELEMENTS, MAX_LEN, Misfit, check_len, elements},
};
use crate::FRACTION_BITS;

/// The greatest declared magnitude, and the most characters of a name.
const MAX_LIMIT: u32 = 1 << 20;
const MAX_NAME: usize = 64;
/// The epsilon of layer norms: the inverse root is fitted from here on.
const EPSILON: f64 = 1.0 / 16.0;
/// The most axes of an input.
const MAX_AXES: usize = 3;

/// A checked layer.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLayer {
    /// Its place and name in the file, for errors.
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) kind: LayerKind,
    /// The shape of one input.
    pub(crate) input: Vec<u32>,
    /// The shape of the result for one input.
    pub(crate) output: Vec<u32>,
    /// The layers of a residual connection.
    pub(crate) inner: Vec<PlacedLayer>,
}

/// The layers checked so far.
pub(super) struct Checker<'a> {
    /// Their names, and whether the names of parts begin with them.
    names: Vec<(&'a str, bool)>,
    /// Elements of the largest tensor of one input.
    largest: u64,
}

impl PlacedLayer {
    /// Checks a layer that is not in a file.
    ///
    /// Returns the elements of its largest tensor for one input as well.
    pub(crate) fn alone(name: &str, kind: LayerKind, input: &[u32]) -> Result<(Self, u64), ModelFileError> {
        let layer = Layer { name: name.to_owned(), kind };
        let mut checker = Checker { names: Vec::new(), largest: 0 };
        let placed = checker.layer("layers[0]", &layer, input)?;
        Ok((placed, checker.largest))
    }
}

/// Checks the name, the input and the limits of a model that is not in a file.
pub(crate) fn check_head(name: &str, shape: &[u32], weights: u32, [min, max]: [i32; 2]) -> Result<(), ModelFileError> {
    let input = Input { shape: shape.to_vec(), fraction_bits: FRACTION_BITS, min, max };
    let layers = vec![Layer { name: "flatten".to_owned(), kind: LayerKind::Flatten }];
    let content = Content { version: ModelFile::VERSION, name: name.to_owned(), input, weight_limit: weights, layers };
    Checker::check(&content).map(drop)
}

impl<'a> Checker<'a> {
    /// Checks the content of a file.
    ///
    /// Returns its layers, the shape of the result, and the elements of the largest tensor of one
    /// input, at least 1.
    pub(super) fn check(content: &'a Content) -> Result<(Vec<PlacedLayer>, Vec<u32>, u64), ModelFileError> {
        // The head of the file.
        let Content { version, name, input, weight_limit, layers } = content;
        if *version != ModelFile::VERSION {
            return Err(refused("version", ModelFile::VERSION, version));
        }
        check_name("name", name)?;
        if !(1..=MAX_AXES).contains(&input.shape.len()) {
            let expected = format!("1 to {MAX_AXES} axes");
            return Err(refused("input.shape", expected, input.shape.len()));
        }
        let check_axis = |&len: &u32| check_len("input.shape", len, MAX_LEN);
        input.shape.iter().try_for_each(check_axis).map_err(|misfit| at("", misfit))?;
        if elements(&input.shape) > MAX_ELEMENTS {
            return Err(refused("input.shape", format!("at most {MAX_ELEMENTS} elements"), elements(&input.shape)));
        }
        if input.fraction_bits != FRACTION_BITS {
            return Err(refused("input.fraction_bits", FRACTION_BITS, input.fraction_bits));
        }
        let limit = MAX_LIMIT.cast_signed();
        if !(-limit..=limit).contains(&input.min) || !(input.min..=limit).contains(&input.max) {
            let expected = format!("-{limit} <= min <= max <= {limit}");
            return Err(refused("input", expected, format!("min {} and max {}", input.min, input.max)));
        }
        check_len("weight_limit", *weight_limit, MAX_LEN).map_err(|misfit| at("", misfit))?;
        if layers.is_empty() {
            return Err(refused("layers", format!("1 to {} layers", ModelFile::MAX_LAYERS), "none"));
        }
        // The layers.
        let mut checker = Self { names: Vec::new(), largest: elements(&input.shape) };
        let placed = checker.layers("", layers, &input.shape)?;
        if let Some(first) = placed.first().filter(|first| matches!(first.kind, LayerKind::Embedding { .. }))
            && (input.shape.len(), input.min, input.max) != (2, 0, 1)
        {
            let expected = "an input of shape [positions, vocabulary] with min 0 and max 1";
            let got = format!("the shape {:?} with min {} and max {}", input.shape, input.min, input.max);
            return Err(refused(&first.place, expected, got));
        }
        let output = placed.last().map_or_else(|| input.shape.clone(), |last| last.output.clone());
        Ok((placed, output, checker.largest.max(1)))
    }

    /// Checks a list of layers that take an input of this shape.
    fn layers(&mut self, prefix: &str, layers: &'a [Layer], input: &[u32]) -> Result<Vec<PlacedLayer>, ModelFileError> {
        let mut placed: Vec<PlacedLayer> = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            let place = format!("{prefix}layers[{index}]");
            let input = placed.last().map_or(input, |last| &last.output[..]);
            let layer = self.layer(&place, layer, input)?;
            placed.push(layer);
        }
        Ok(placed)
    }

    fn layer(&mut self, place: &str, layer: &'a Layer, input: &[u32]) -> Result<PlacedLayer, ModelFileError> {
        let Layer { name, kind } = layer;
        check_name(&format!("{place}: name"), name)?;
        let named = format!("{place} {name:?}");
        self.add_name(&named, name, kind)?;
        check_declared(kind).map_err(|misfit| at(&named, misfit))?;
        if matches!(kind, LayerKind::Embedding { .. }) && place != "layers[0]" {
            return Err(refused(&named, "an embedding as the first layer alone", "one after other layers"));
        }
        let output = kind.output_shape(input).map_err(|misfit| at(&named, misfit))?;
        let largest = kind.largest(input, &output);
        if largest > MAX_ELEMENTS {
            let expected = format!("at most {MAX_ELEMENTS} elements of a tensor");
            return Err(refused(&named, expected, largest));
        }
        self.largest = self.largest.max(largest);
        // A residual connection adds the results of its layers to its input.
        let mut inner = Vec::new();
        if let LayerKind::Residual { layers, .. } = kind {
            inner = self.layers(&format!("{place}."), layers, input)?;
            let got = inner.last().map(|last| &last.output[..]);
            if got != Some(input) {
                let got = got.map_or_else(|| "no layers".to_owned(), |got| format!("the shape {got:?}"));
                return Err(refused(&named, format!("layers with results of its input's shape {input:?}"), got));
            }
        }
        Ok(PlacedLayer { place: named, name: name.clone(), kind: kind.clone(), input: input.to_vec(), output, inner })
    }

    /// Adds a name, which no other layer may have.
    ///
    /// Weights and steps of a layer have its name, a dot and a part. So no layer's name may begin
    /// like that with another's, unless that one has no parts.
    fn add_name(&mut self, place: &str, name: &'a str, kind: &LayerKind) -> Result<(), ModelFileError> {
        if self.names.len() == ModelFile::MAX_LAYERS {
            return Err(refused(place, format!("at most {} layers", ModelFile::MAX_LAYERS), "one more"));
        }
        let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
        for &(other, has_parts) in &self.names {
            let is_part = has_parts && begins(name, other) || kind.has_parts() && begins(other, name);
            if name == other || is_part {
                let expected = format!("a name that is not {other:?}, nor a part of it or with it as a part");
                return Err(refused(place, expected, format!("{name:?}")));
            }
        }
        self.names.push((name, kind.has_parts()));
        Ok(())
    }
}

/// Checks the declared limits and the epsilon of a layer.
fn check_declared(kind: &LayerKind) -> Result<(), Misfit> {
    let limits = match kind {
        LayerKind::Dense { limit, .. }
        | LayerKind::Residual { limit, .. }
        | LayerKind::Conv2d(Convolution { limit, .. }) => vec![("limit", *limit)],
        LayerKind::Attention { limits, limit, .. } => {
            let [projections, scores] = match limits {
                Some(AttentionLimits { projections, scores }) => [Some(*projections), Some(*scores)],
                None => [None, None],
            };
            vec![("limits.projections", projections), ("limits.scores", scores), ("limit", *limit)]
        }
        LayerKind::LayerNorm { eps, deviation_limit, .. } => {
            if (eps - EPSILON).abs() > 0.0 {
                return Err(Misfit { what: "eps", expected: EPSILON.to_string(), got: eps.to_string() });
            }
            vec![("deviation_limit", *deviation_limit)]
        }
        _ => Vec::new(),
    };
    limits.into_iter().try_for_each(|(what, limit)| limit.map_or(Ok(()), |limit| check_len(what, limit, MAX_LIMIT)))
}

/// Checks that a name can stand in an error and in a safetensors file.
fn check_name(place: &str, name: &str) -> Result<(), ModelFileError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME).flat_map(char::escape_default).collect();
    let expected = format!("1 to {MAX_NAME} letters, digits, `_`, `-` and `.`");
    Err(refused(place, expected, format!("\"{shown}\" of {} bytes", name.len())))
}

/// The error for a value of a layer, or of the head of the file.
fn at(place: &str, misfit: Misfit) -> ModelFileError {
    let Misfit { what, expected, got } = misfit;
    let place = if place.is_empty() { what.to_owned() } else { format!("{place}: {what}") };
    ModelFileError::Value { place, expected, got }
}

fn refused(place: &str, expected: impl ToString, got: impl ToString) -> ModelFileError {
    ModelFileError::Value { place: place.to_owned(), expected: expected.to_string(), got: got.to_string() }
}
