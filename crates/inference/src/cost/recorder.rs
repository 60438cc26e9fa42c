//! The steps of a layer of a transformer, recorded on zeros.

use pfss::SignedRange;

use crate::{
    DeclaredLimits, InferenceError, NormPlacement, Preference, Tensor, TransformerShape,
    engine::{RecordedStep, Recorder},
    fixed_point::ONE,
    model::{LayerBuilder, TransformerBlock, layer},
};

/// The steps of one layer on `count` sequences, as in a transformer of one layer.
///
/// Layers have equal steps, since all ranges that keys depend on are declared.
pub(super) fn layer_steps(
    shape: &TransformerShape,
    limits: DeclaredLimits,
    count: usize,
    preference: Preference,
) -> Result<Vec<RecordedStep>, InferenceError> {
    let shape = TransformerShape { layers: 1, ..*shape };
    let mut recorder = Recorder::default();
    run(&mut recorder, &shape, limits, count, preference)?;
    Ok(recorder.steps)
}

/// The range of the hidden states that a layer takes.
///
/// With norms before the blocks it is the declared range. With norms after the residual
/// connections it is the range of a norm's result, for the first layer too: the embeddings end in
/// a norm.
fn states(
    block: &TransformerBlock,
    limits: DeclaredLimits,
    preference: Preference,
) -> Result<SignedRange, InferenceError> {
    let residual = i64::from(limits.residual) * ONE;
    let range = SignedRange::new(-residual, residual)?;
    if block.shape.norm == NormPlacement::Pre {
        return Ok(range);
    }
    let block = TransformerBlock { shape: TransformerShape { layers: 1, sequence: 2, ..block.shape }, ..*block };
    let mut layers = LayerBuilder { engine: &mut Recorder::default(), weight_limit: limits.weights, preference };
    let words = vec![0; 2 * block.shape.width as usize];
    Ok(layer(&mut layers, &block, 0, &Tensor { words: words.into(), range })?.range)
}

/// Runs all layers of `shape` on hidden states that are zero.
fn run(
    recorder: &mut Recorder,
    shape: &TransformerShape,
    limits: DeclaredLimits,
    count: usize,
    preference: Preference,
) -> Result<Tensor, InferenceError> {
    let block = TransformerBlock { shape: *shape, limits: Some(limits) };
    let mut layers = LayerBuilder { engine: recorder, weight_limit: limits.weights, preference };
    let words = vec![0; count * shape.sequence as usize * shape.width as usize];
    let mut x = Tensor { words: words.into(), range: states(&block, limits, preference)? };
    for index in 0..shape.layers {
        x = layer(&mut layers, &block, index, &x)?;
    }
    Ok(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::PublishedModel;

    #[test]
    fn layers_have_equal_steps() {
        let all = [
            (PublishedModel::BertTiny, Preference::Rounds),
            (PublishedModel::BertTiny, Preference::KeyBytes),
            (PublishedModel::Gpt2, Preference::KeyBytes),
            (PublishedModel::BertTiny, Preference::Balanced),
        ];
        for (model, preference) in all {
            let shape = TransformerShape { layers: 3, ..model.shape(8).unwrap() };
            let one = layer_steps(&shape, PublishedModel::LIMITS, 2, preference).unwrap();
            let mut recorder = Recorder::default();
            let x = run(&mut recorder, &shape, PublishedModel::LIMITS, 2, preference).unwrap();
            assert_eq!(x.words.len(), 2 * 8 * shape.width as usize);
            assert_eq!(recorder.steps.len(), 3 * one.len());
            for (index, RecordedStep { step, product }) in recorder.steps.iter().enumerate() {
                let (layer, same) = (index / one.len(), &one[index % one.len()]);
                assert_eq!(step.name, format!("layer{layer}.{}", same.step.name));
                assert_eq!((&step.deals, product), (&same.step.deals, &same.product), "{}", step.name);
            }
        }
    }
}
