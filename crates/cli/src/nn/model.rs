//! Networks in files, and what they say of rows.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum;
use nn_ops::{
    Mlp, Tensor,
    io::{SavedTensors, Tensors},
};
use runtime::AnyQueue;

use super::data::DatasetRows;
use crate::{exit::UsageError, files::parsed, text::shown};

/// The names that the layers of a network have in files, in their order.
pub(super) fn names(layers: usize) -> Vec<String> {
    (0..layers).map(|layer| format!("layers.{layer}")).collect()
}

/// The layout of the weights in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WeightLayout {
    /// `[inputs, outputs]`, as this program writes them.
    InOut,
    /// `[outputs, inputs]`, as PyTorch does.
    OutIn,
}

/// The network in a file, of the layers that are named or else those that [`names`] gives.
///
/// If `layout` is `None`, the shapes of the biases decide; if they fit both layouts, a file that
/// this program wrote is [`WeightLayout::InOut`].
pub(super) fn read(
    q: &AnyQueue,
    path: &Path,
    layers: &[String],
    layout: Option<WeightLayout>,
) -> Result<Mlp<AnyQueue>> {
    let (layers, tensors, layout) = parsed(path, |bytes| {
        let file = SavedTensors::read(bytes)?;
        let own = file.has_digest().then_some(WeightLayout::InOut);
        let tensors = file.tensors()?;
        let layers = if layers.is_empty() { found(&tensors)? } else { layers.to_vec() };
        let layout = layout.or_else(|| layout_of(&layers, &tensors)).or(own);
        Ok((layers, tensors, layout))
    })?;
    let name = shown(&path.to_string_lossy());
    let Some(layout) = layout else {
        let reason = "every layer is square, so the weight layout is ambiguous; pass --layout in-out \
                      ([inputs, outputs]) or out-in ([outputs, inputs], PyTorch)";
        return Err(UsageError(format!("{name}: {reason}")).into());
    };
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    let network = match layout {
        WeightLayout::InOut => Mlp::import(q, &layers, &tensors),
        WeightLayout::OutIn => Mlp::from_torch(q, &layers, &tensors),
    };
    // Messages repeat names that stand in the file.
    let safe = |error| anyhow!(shown(&format!("{:#}", anyhow::Error::new(error))));
    network.map_err(safe).with_context(|| format!("reading {name}"))
}

/// The layout that the shapes of biases imply; none if all weights are square.
///
/// Shapes that fit neither are for the import to name.
fn layout_of(layers: &[String], tensors: &Tensors) -> Option<WeightLayout> {
    let shape = |layer: &String, part: &str| Some(&tensors.get(&format!("{layer}.{part}"))?.shape[..]);
    let fits = |outputs_at: usize| {
        layers.iter().all(|layer| match (shape(layer, "weight"), shape(layer, "bias")) {
            (Some(weight @ [_, _]), Some([outputs])) => weight[outputs_at] == *outputs,
            _ => false,
        })
    };
    match (fits(1), fits(0)) {
        (true, true) => None,
        (false, true) => Some(WeightLayout::OutIn),
        _ => Some(WeightLayout::InOut),
    }
}

/// The layers in a file that has them all under their usual names.
fn found(tensors: &Tensors) -> Result<Vec<String>> {
    let weight = |name: &String| tensors.contains_key(&format!("{name}.weight"));
    let layers: Vec<String> = names(tensors.len()).into_iter().take_while(weight).collect();
    let stored = tensors.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    ensure!(
        !layers.is_empty(),
        "expected a tensor `layers.0.weight`, or `--layers` with the names of the layers; the file has: {stored}"
    );
    Ok(layers)
}

/// Classifies each row by a network with one input for each feature.
pub(super) fn classify(q: &AnyQueue, network: &Mlp<AnyQueue>, rows: &DatasetRows) -> Result<Vec<u32>> {
    let x = Tensor::from_values(q, &[rows.count(), rows.features], &rows.inputs)?;
    Ok(network.classify(q, x.at())?)
}

/// The share of rows whose class is their label.
pub(crate) fn accuracy(predicted: &[u32], labels: &[u32]) -> f64 {
    let correct = predicted.iter().zip(labels).filter(|(class, label)| class == label).count();
    correct as f64 / labels.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use nn_ops::io::{Tensor as Stored, write_safetensors};
    use runtime::{Choice, Domain};

    use super::*;
    use crate::queue::open;

    /// A file as another program writes it: without a digest.
    fn foreign(tensors: &[(&str, &[usize], &[f32])]) -> tempfile::NamedTempFile {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        for (name, shape, values) in tensors {
            let start = data.len();
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            let end = data.len();
            header.push(format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}"#));
        }
        let header = format!("{{{}}}", header.join(","));
        written(&[&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat())
    }

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    /// The weights of the first layer as they are computed with.
    fn weights(file: &tempfile::NamedTempFile, layout: Option<WeightLayout>) -> Result<Vec<f32>> {
        let q = open(Domain::Nn, Some(Choice::Cpu))?;
        let network = read(&q, file.path(), &[], layout)?;
        let mut tensors = network.tensors(&q, &["layers.0"]).unwrap();
        Ok(tensors.remove("layers.0.weight").unwrap().data)
    }

    #[test]
    fn the_layout_of_a_network_is_known_or_asked_for() {
        let (plain, turned) = (vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 3.0, 2.0, 4.0]);
        let square = foreign(&[("layers.0.weight", &[2, 2], &plain), ("layers.0.bias", &[2], &[0.0, 0.0])]);
        let refused = weights(&square, None).unwrap_err();
        assert!(refused.is::<UsageError>() && refused.to_string().contains("--layout"), "{refused}");
        assert_eq!(weights(&square, Some(WeightLayout::InOut)).unwrap(), plain);
        assert_eq!(weights(&square, Some(WeightLayout::OutIn)).unwrap(), turned);

        let own = ["weight", "bias"].into_iter().zip([(vec![2, 2], plain.clone()), (vec![2], vec![0.0; 2])]);
        let own = own.map(|(part, (shape, data))| (format!("layers.0.{part}"), Stored { shape, data })).collect();
        assert_eq!(weights(&written(&write_safetensors(&own).unwrap()), None).unwrap(), plain);

        for (shape, outputs, expected) in [([1, 2], 1, [1.0, 2.0]), ([2, 1], 1, [1.0, 2.0]), ([1, 2], 2, [1.0, 2.0])] {
            let file = foreign(&[
                ("layers.0.weight", &shape, &[1.0, 2.0]),
                ("layers.0.bias", &[outputs], &vec![0.0; outputs]),
            ]);
            assert_eq!(weights(&file, None).unwrap(), expected, "{shape:?}");
        }
        let neither = foreign(&[("layers.0.weight", &[2, 3], &[0.0; 6]), ("layers.0.bias", &[4], &[0.0; 4])]);
        let refused = format!("{:#}", weights(&neither, None).unwrap_err());
        assert!(refused.contains("expected bias of shape [3], got [4]"), "{refused}");
    }
}
