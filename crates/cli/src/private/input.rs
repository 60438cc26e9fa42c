//! The inputs of `trefoil pfss infer`, and the digits of images where they are known.

use std::path::Path;

use anyhow::{Context as _, Result};
use inference::{
    Model,
    digits::{self, MAX_PIXEL},
};
use nn_ops::io::{NpyArray, read_npy};

use crate::{exit::UsageError, files};

/// How an `.npy` file begins.
const NPY: &[u8] = b"\x93NUMPY";

/// Inputs in fixed point, and the digits of images where they are known.
pub(super) type LabeledInputs = (Vec<u64>, Option<Vec<u8>>);

/// The first of the test digits that ship with the program.
pub(super) fn shipped(model: &Model) -> Result<LabeledInputs> {
    if model.architecture().file().is_some() {
        let name = model.architecture().name();
        return Err(UsageError(format!("no inputs of `{name}` ship with the program; give --input")).into());
    }
    let test = digits::load()?.1;
    if model.count() > test.count() {
        return Err(UsageError(format!("the shipped test set has {} images; give --images", test.count())).into());
    }
    let test = test.take(model.count());
    Ok((test.fixed_point(), Some(test.labels)))
}

/// Images and, if a file is given, their digits.
pub(super) fn images(model: &Model, path: &Path, labels: Option<&Path>) -> Result<LabeledInputs> {
    if model.architecture().file().is_some() {
        let name = model.architecture().name();
        return Err(UsageError(format!("expected --input for `{name}`, got --images")).into());
    }
    let (images, count, features) = (array::<u8>(path)?, model.count(), model.input_len());
    let fits = images.shape.first() == Some(&count) && images.data.len() == count * features;
    if !fits {
        let got = &images.shape;
        let reason = format!("expected the shape [{count}, {features}] (from the keys), got {got:?}");
        return Err(unusable(path, &reason));
    }
    if let Some(at) = images.data.iter().position(|&pixel| pixel > MAX_PIXEL) {
        let (image, got) = (at / features, images.data[at]);
        return Err(unusable(path, &format!("expected pixels of 0 to {MAX_PIXEL}, image {image} has {got}")));
    }
    let Some(labels) = labels else { return Ok((digits::fixed_point(&images.data), None)) };
    let truth = array::<u8>(labels)?;
    if truth.shape != [count] {
        let reason = format!("expected {count} labels, one for each image, got the shape {:?}", truth.shape);
        return Err(unusable(labels, &reason));
    }
    Ok((digits::fixed_point(&images.data), Some(truth.data)))
}

/// Numbers of any model: an `.npy` file, or 32-bit floats without a header.
pub(super) fn numbers(model: &Model, path: &Path) -> Result<LabeledInputs> {
    let file = files::read(path).with_context(|| format!("reading {}", path.display()))?;
    let NpyArray { shape, data } = if file.starts_with(NPY) {
        read_npy::<f32>(&file).with_context(|| format!("parsing {}", path.display()))?
    } else {
        raw(model, path, &file)?
    };
    let words = model.encode(&shape, &data).map_err(|error| unusable(path, &error.to_string()))?;
    Ok((words, None))
}

/// 32-bit floats, little-endian, whose number decides the shape.
fn raw(model: &Model, path: &Path, bytes: &[u8]) -> Result<NpyArray<f32>> {
    let shapes = model.input_shapes();
    let bytes_of = |shape: &[usize]| 4 * shape.iter().product::<usize>();
    let Some(shape) = shapes.iter().find(|shape| bytes_of(shape) == bytes.len()) else {
        let expected: Vec<String> =
            shapes.iter().map(|shape| format!("{} bytes for {shape:?}", bytes_of(shape))).collect();
        let reason = format!("expected 32-bit floats, {}, got {} bytes", expected.join(" or "), bytes.len());
        return Err(unusable(path, &reason));
    };
    let (floats, _) = bytes.as_chunks::<4>();
    Ok(NpyArray { shape: shape.clone(), data: floats.iter().map(|&float| f32::from_le_bytes(float)).collect() })
}

fn array<T: nn_ops::io::FromNpy>(path: &Path) -> Result<NpyArray<T>> {
    let file = files::read(path).with_context(|| format!("reading {}", path.display()))?;
    read_npy(&file).with_context(|| format!("parsing {}", path.display()))
}

fn unusable(path: &Path, reason: &str) -> anyhow::Error {
    UsageError(format!("{}: {reason}", path.display())).into()
}
