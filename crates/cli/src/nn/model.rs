//! Networks in files, and what they say of rows.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use nn_ops::{
    Mlp, Tensor,
    io::{Tensors, read_safetensors},
};
use runtime::AnyQueue;

use super::data::Rows;
use crate::{files, text::shown};

/// The names that the layers of a network have in files, in their order.
pub(super) fn names(layers: usize) -> Vec<String> {
    (0..layers).map(|layer| format!("layers.{layer}")).collect()
}

/// The network in a file, of the layers that are named or else those that [`names`] gives.
pub(super) fn read(q: &AnyQueue, path: &Path, layers: &[String]) -> Result<Mlp<AnyQueue>> {
    let said = || format!("reading {}", shown(&path.to_string_lossy()));
    let of_bytes = |bytes: &[u8]| -> Result<Mlp<AnyQueue>> {
        let tensors = read_safetensors(bytes)?;
        let layers = if layers.is_empty() { found(&tensors)? } else { layers.to_vec() };
        let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
        Ok(Mlp::import(q, &layers, &tensors)?)
    };
    let bytes = files::read(path).with_context(said)?;
    // messages repeat names that stand in the file
    of_bytes(&bytes).map_err(|error| anyhow!(shown(&format!("{error:#}")))).with_context(said)
}

/// The layers in a file that has them all under their usual names.
fn found(tensors: &Tensors) -> Result<Vec<String>> {
    let weight = |name: &String| tensors.contains_key(&format!("{name}.weight"));
    let layers: Vec<String> = names(tensors.len()).into_iter().take_while(weight).collect();
    let stored = tensors.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    ensure!(
        !layers.is_empty(),
        "there is no tensor `layers.0.weight`; `--layers` names others, of which there are {stored}"
    );
    Ok(layers)
}

/// The class of each row that a network with as many inputs gives.
pub(super) fn classify(q: &AnyQueue, network: &Mlp<AnyQueue>, rows: &Rows) -> Result<Vec<u32>> {
    let x = Tensor::from_values(q, &[rows.count(), rows.features], &rows.inputs)?;
    Ok(network.classify(q, x.at())?)
}

/// The share of rows whose class is their label.
pub(super) fn accuracy(predicted: &[u32], labels: &[u32]) -> f64 {
    let correct = predicted.iter().zip(labels).filter(|(class, label)| class == label).count();
    correct as f64 / labels.len().max(1) as f64
}
