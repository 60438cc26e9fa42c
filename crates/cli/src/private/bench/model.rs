//! The model of a bench: a whole one, or a layer of a published shape.

use anyhow::Result;
use inference::{
    Attention, DeclaredLimits, InferenceError, Layers, Model, ModelLimits, NormPlacement, TransformerShape, Value,
    cost::{PlannedModel, PublishedModel},
};

use crate::{
    exit::UsageError,
    private::model::{ModelArg, described},
};

/// A model that runs, and the number of such layers in the whole model.
pub(super) struct BenchModel {
    pub(super) model: Model,
    pub(super) layers: u32,
}

impl BenchModel {
    /// The named model for `count` inputs, of `sequence` positions if it is a shape.
    pub(super) fn new(named: &ModelArg<PlannedModel>, sequence: Option<u32>, count: u32) -> Result<Self> {
        let planned = match named {
            ModelArg::Known(planned) => planned.clone(),
            ModelArg::File(path) => PlannedModel::Runs(described(path)?),
        };
        let (architecture, layers) = match planned {
            PlannedModel::Runs(model) if sequence.is_some() => {
                return Err(UsageError(format!("`--sequence`: the inputs of `{model}` have a fixed length")).into());
            }
            PlannedModel::Runs(model) => (model, 1),
            PlannedModel::Published(model) => {
                let sequence = sequence.unwrap_or(PublishedModel::PUBLISHED_SEQUENCE);
                let shape = model.shape(sequence).map_err(|error| UsageError(format!("`--sequence`: {error}")))?;
                (layer(model, shape)?.architecture().clone(), shape.layers)
            }
        };
        Ok(Self { model: Model::new(architecture, count as usize)?, layers })
    }
}

/// One layer of `model` on hidden states, as a separate model.
///
/// Limits on magnitudes are those that costs are planned with. Norms after the residual connections
/// give the range of inputs; with norms before them it is the declared one.
fn layer(model: PublishedModel, shape: TransformerShape) -> Result<Model, InferenceError> {
    let DeclaredLimits { weights, residual, .. } = PublishedModel::LIMITS;
    let most = match shape.norm {
        NormPlacement::Pre => residual,
        // a normed row has a length of at most the root of its width
        NormPlacement::Post => weights * (shape.width.isqrt() + 2),
    };
    let limits = ModelLimits { weights, inputs: [-(most as i32), most as i32] };
    let name = format!("{}-layer", model.name());
    Model::from_fn(&name, &[shape.sequence, shape.width], limits, move |layers, x| block(layers, &shape, x))
}

/// Attention and feed-forward network, each with its norm and its residual connection.
fn block(layers: &mut Layers<'_>, shape: &TransformerShape, x: &Value) -> Result<Value, InferenceError> {
    let DeclaredLimits { residual, deviation, projections, scores, .. } = PublishedModel::LIMITS;
    let attention = Attention { heads: shape.heads, causal: shape.causal, limits: Some([projections, scores]) };
    let deviation = Some(deviation);
    match shape.norm {
        NormPlacement::Pre => {
            let normed = layers.layer_norm("attention-norm", x, false, deviation)?;
            let y = layers.attention("attention", &normed, &attention)?;
            let x = layers.limited("attention-sum", &x.add(&y)?, residual)?;
            let normed = layers.layer_norm("feed-norm", &x, false, deviation)?;
            let y = feed_forward(layers, shape, &normed)?;
            layers.limited("feed-sum", &x.add(&y)?, residual)
        }
        NormPlacement::Post => {
            let y = layers.attention("attention", x, &attention)?;
            let sum = layers.limited("attention-sum", &x.add(&y)?, residual)?;
            let x = layers.layer_norm("attention-norm", &sum, true, deviation)?;
            let y = feed_forward(layers, shape, &x)?;
            let sum = layers.limited("feed-sum", &x.add(&y)?, residual)?;
            layers.layer_norm("feed-norm", &sum, true, deviation)
        }
    }
}

/// Dense layer, GeLU, dense layer.
fn feed_forward(layers: &mut Layers<'_>, shape: &TransformerShape, x: &Value) -> Result<Value, InferenceError> {
    let hidden = layers.dense("feed-hidden", x, shape.hidden, true)?;
    let hidden = layers.limited("feed-hidden", &hidden, PublishedModel::LIMITS.hidden)?;
    let activated = layers.gelu("feed-gelu", &hidden)?;
    layers.dense("feed-out", &activated, shape.width, true)
}

#[cfg(test)]
mod tests {
    use inference::{Preference, cost::ModelCost};

    use super::*;

    #[test]
    fn layers_take_the_rounds_and_elements_that_are_planned_for_their_shape() {
        for published in PublishedModel::ALL {
            let shape = published.shape(4).unwrap();
            let model = layer(published, shape).unwrap();
            let cost = ModelCost::of_model(&model).unwrap();
            let planned = published.cost(4, 1, Preference::Rounds).unwrap();
            let (got, layer) = (cost.total(), planned.layers[0].work());
            // The run ends with the opening of the results.
            assert_eq!((got.rounds, got.multiplications), (layer.rounds + 1, layer.multiplications), "{published}");
            let elements = |cost: &ModelCost, gate: &str| {
                let of_gate = cost.layers[0].gates.iter().filter(|cost| cost.gate == gate);
                of_gate.map(|cost| cost.elements).sum::<u64>()
            };
            for gate in ["suf", "relu", "product", "matrix product"] {
                assert_eq!(elements(&cost, gate), elements(&planned, gate), "{published}: {gate}");
            }
        }
    }
}
