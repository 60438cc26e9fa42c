//! Layers: gradients against central differences, saved state, and refusals.

use std::sync::Arc;

use backend_api::BackendError;
use nn_ops::{
    Activation, AnyLayer, CacheShape, Dense, Dropout, Embedding, Gru, GruInputs, GruPlan, GruResults, GruVariant,
    GruWeights, Indices, Init, KeyValueCache, Layer, LayerNorm, Mode, NnError, ParameterArena, ParameterId,
    ParameterSpec, ParameterTable, Parameters, RmsNorm, SelfAttention, Sequential, Start, Tensor,
};
use runtime::{AnyQueue, Choice};

use super::{Arena, Values, difference, expect_close, ones, tensor};
use crate::common::open;

const TRAINING: Mode = Mode::Training { step: 3 };

fn drawn(shape: &[usize], site: u32) -> Vec<f32> {
    super::drawn(11, shape, site)
}

fn random(q: &AnyQueue, table: &Arc<ParameterTable>) -> Arena {
    super::random(11, q, table)
}

/// The sum of the outputs times `weights`.
fn loss(q: &AnyQueue, layer: &AnyLayer, values: &Arena, x: &Values, weights: &[f32]) -> f64 {
    let (y, _) = layer.forward(q, values, TRAINING, x.at()).unwrap();
    y.values(q).unwrap().iter().zip(weights).map(|(&y, &c)| f64::from(y) * f64::from(c)).sum()
}

/// Compares all gradients of a layer with central differences.
fn expect_gradients(name: &str, layer: impl Into<AnyLayer>, table: &Arc<ParameterTable>, shape: &[usize]) {
    let (q, layer) = (open(Choice::Cpu), layer.into());
    let (mut values, x) = (random(&q, table), drawn(shape, 1));
    let input = tensor(&q, shape, &x);
    let (y, saved) = layer.forward(&q, &values, TRAINING, input.at()).unwrap();
    let weights = drawn(y.layout().shape(), 2);
    // A backward pass adds to the gradients of parameters.
    let mut gradients = ones(&q, table);
    let g = tensor(&q, y.layout().shape(), &weights);
    let of_x = layer.backward(&q, &values, saved, input.at(), g.at(), &mut gradients).unwrap();

    assert_eq!(of_x.layout().shape(), shape, "{name}");
    for (i, got) in of_x.values(&q).unwrap().into_iter().enumerate() {
        let expected = difference(&x, i, |x| loss(&q, &layer, &values, &tensor(&q, shape, x), &weights));
        expect_close(&format!("{name}, x[{i}]"), got, expected);
    }
    for id in layer.ids() {
        let own = values.values(&q, id).unwrap();
        for (i, got) in gradients.values(&q, id).unwrap().into_iter().enumerate() {
            let expected = difference(&own, i, |moved| {
                values.write(&q, id, moved).unwrap();
                loss(&q, &layer, &values, &input, &weights)
            });
            expect_close(&format!("{name}, {}[{i}]", table.name(id).unwrap()), got - 1.0, expected);
        }
        values.write(&q, id, &own).unwrap();
    }
}

fn table(specs: &[ParameterSpec]) -> Arc<ParameterTable> {
    ParameterTable::new(specs).unwrap()
}

#[test]
fn gradients_of_dense_layers_and_norms_are_central_differences() {
    let dense = table(&Dense::specs("layer", [3, 4]));
    for shape in [&[5, 3][..], &[2, 2, 3], &[3]] {
        expect_gradients("dense", Dense::find(&dense, "layer").unwrap(), &dense, shape);
    }
    let norm = table(&LayerNorm::specs("layer", 6));
    expect_gradients("layer norm", LayerNorm::find(&norm, "layer", 1e-2).unwrap(), &norm, &[2, 2, 6]);
    let norm = table(&RmsNorm::specs("layer", 6));
    expect_gradients("rms norm", RmsNorm::find(&norm, "layer", 1e-2).unwrap(), &norm, &[3, 6]);
}

#[test]
fn gradients_of_activations_and_dropout_are_central_differences() {
    let none = table(&[]);
    for f in Activation::ALL.into_iter().filter(|&f| f != Activation::Relu) {
        expect_gradients(f.name(), f, &none, &[4, 5]);
    }
    expect_gradients("dropout", Dropout::new(0.4, 5).unwrap().at(2), &none, &[6, 7]);
}

#[test]
fn gradients_of_attention_are_central_differences() {
    let all = table(&SelfAttention::specs("layer", 6));
    let layer = SelfAttention::find(&all, "layer", 2).unwrap();
    assert_eq!((layer.width(), layer.heads()), (6, 2));
    expect_gradients("attention", layer, &all, &[2, 3, 6]);
    expect_gradients("causal attention", layer.causal(), &all, &[2, 3, 6]);
    let dropout = Dropout::new(0.3, 9).unwrap().at(1);
    expect_gradients("attention with dropout", layer.causal().with_dropout(dropout), &all, &[1, 4, 6]);
}

#[test]
fn gradients_of_recurrent_units_are_central_differences() {
    for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
        let all = table(&Gru::specs("layer", [3, 4], variant));
        let layer = Gru::find(&all, "layer").unwrap();
        assert_eq!((layer.input(), layer.hidden()), (3, 4));
        expect_gradients(&format!("{variant:?}"), layer, &all, &[3, 2, 3]);
    }
}

#[test]
fn a_recurrent_layer_has_the_states_of_its_unit() {
    let q = open(Choice::Cpu);
    for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
        let weights = GruWeights::random(&q, 1, [3, 4], variant, 5).unwrap();
        let x = tensor(&q, &[5, 2, 3], &drawn(&[5, 2, 3], 0));
        let (mut states, mut last) =
            (Tensor::alloc(&q, &[1, 5, 2, 4]).unwrap(), Tensor::alloc(&q, &[1, 2, 4]).unwrap());
        let results = GruResults { states: Some(states.at_mut()), last: last.at_mut(), saved: None };
        let plan = GruPlan::new(&weights, 2, 5, GruInputs::Sequence).unwrap();
        plan.forward(&q, &weights, x.at(), None, results).unwrap();

        let all = table(&Gru::specs("layer", [3, 4], variant));
        let layer = Gru::find(&all, "layer").unwrap();
        let mut values = ParameterArena::zeros(&q, &all).unwrap();
        let units = weights.members(&q).unwrap();
        layer.import(&q, &mut values, &units[0]).unwrap();
        let y = layer.apply(&q, &values, x.at()).unwrap();
        assert_eq!(y.layout().shape(), [5, 2, 4]);
        assert_eq!(y.values(&q).unwrap(), states.values(&q).unwrap(), "{variant:?}");

        let smaller = table(&Gru::specs("layer", [3, 3], variant));
        let refused = Gru::find(&smaller, "layer").unwrap().import(&q, &mut random(&q, &smaller), &units[0]);
        assert!(matches!(refused, Err(NnError::ShapeMismatch { tensor: "a unit", .. })), "{refused:?}");
    }
}

#[test]
fn a_sequence_has_the_outputs_and_gradients_of_its_layers() {
    let q = open(Choice::Cpu);
    let all = table(&[Dense::specs("0", [3, 4]), Dense::specs("1", [4, 2])].concat());
    let [first, last] = ["0", "1"].map(|name| Dense::find(&all, name).unwrap());
    let network = Sequential::new([first.into(), Activation::Tanh.into(), last.into()]);
    let (values, shape) = (random(&q, &all), [5, 3]);
    assert_eq!(network.count(&all).unwrap(), 3 * 4 + 4 + 4 * 2 + 2);
    let (x, g) = (tensor(&q, &shape, &drawn(&shape, 1)), tensor(&q, &[5, 2], &drawn(&[5, 2], 2)));
    let mut by_network = ParameterArena::zeros(&q, &all).unwrap();
    let (y, saved) = network.forward(&q, &values, TRAINING, x.at()).unwrap();
    let of_x = network.backward(&q, &values, saved, x.at(), g.at(), &mut by_network).unwrap();

    let mut by_layers = ParameterArena::zeros(&q, &all).unwrap();
    let (a, of_first) = first.forward(&q, &values, TRAINING, x.at()).unwrap();
    let (b, of_second) = Activation::Tanh.forward(&q, &values, TRAINING, a.at()).unwrap();
    let (c, of_third) = last.forward(&q, &values, TRAINING, b.at()).unwrap();
    let of_b = last.backward(&q, &values, of_third, b.at(), g.at(), &mut by_layers).unwrap();
    let of_a = Activation::Tanh.backward(&q, &values, of_second, a.at(), of_b.at(), &mut by_layers).unwrap();
    let expected = first.backward(&q, &values, of_first, x.at(), of_a.at(), &mut by_layers).unwrap();
    assert_eq!(y.values(&q).unwrap(), c.values(&q).unwrap());
    assert_eq!(of_x.values(&q).unwrap(), expected.values(&q).unwrap());
    for id in all.ids() {
        assert_eq!(by_network.values(&q, id).unwrap(), by_layers.values(&q, id).unwrap());
    }

    let nothing = Sequential::new([]);
    let (y, saved) = nothing.forward(&q, &values, TRAINING, x.at()).unwrap();
    assert_eq!(y.values(&q).unwrap(), x.values(&q).unwrap());
    let of_x = nothing.backward(&q, &values, saved, x.at(), y.at(), &mut by_layers).unwrap();
    assert_eq!(of_x.values(&q).unwrap(), x.values(&q).unwrap());
}

#[test]
fn rows_decoded_one_by_one_are_the_rows_of_one_pass() {
    let q = open(Choice::Cpu);
    let (shape, all) = ([2, 5, 6], table(&SelfAttention::specs("layer", 6)));
    let layer = SelfAttention::find(&all, "layer", 3).unwrap();
    let (values, x) = (random(&q, &all), tensor(&q, &shape, &drawn(&shape, 1)));
    let whole = layer.causal().apply(&q, &values, x.at()).unwrap().values(&q).unwrap();
    let mut cache = KeyValueCache::new(&q, CacheShape { batch: 2, capacity: 5, kv_heads: 3, dim: 2 }).unwrap();
    let given = x.values(&q).unwrap();
    for row in 0..5 {
        let of_row = |values: &[f32]| [0, 1].map(|b| values[(b * 5 + row) * 6..][..6].to_vec()).concat();
        let one = tensor(&q, &[2, 1, 6], &of_row(&given));
        let y = layer.causal().decode(&q, &values, one.at(), &mut cache).unwrap();
        assert_eq!(y.layout().shape(), [2, 1, 6]);
        for (got, expected) in y.values(&q).unwrap().into_iter().zip(of_row(&whole)) {
            assert!((got - expected).abs() < 1e-5, "row {row}: {got} instead of {expected}");
        }
    }
    let full = layer.causal().decode(&q, &values, tensor(&q, &[2, 1, 6], &[0.0; 12]).at(), &mut cache);
    assert!(matches!(full, Err(NnError::Slice { len: 5, .. })), "{full:?}");
    let refused = layer.decode(&q, &values, tensor(&q, &[2, 1, 6], &[0.0; 12]).at(), &mut cache);
    assert!(matches!(refused, Err(NnError::Parameter { op: "decode", .. })), "{refused:?}");
}

#[test]
fn rows_of_a_table_are_read_and_their_gradients_added() {
    let q = open(Choice::Cpu);
    let all = table(&Embedding::specs("tokens", [4, 2]));
    let layer = Embedding::find(&all, "tokens").unwrap();
    assert_eq!((layer.rows(), layer.features()), (4, 2));
    let (values, mut gradients) = (random(&q, &all), random(&q, &all));
    let before = gradients.values(&q, layer.weight()).unwrap();
    let (indices, own) = (Indices::new(&q, 4, &[3, 0, 3]).unwrap(), values.values(&q, layer.weight()).unwrap());
    let y = layer.forward(&q, &values, &indices).unwrap();
    assert_eq!(y.values(&q).unwrap(), [&own[6..], &own[..2], &own[6..]].concat());
    layer.backward(&q, &indices, y.at(), &mut gradients).unwrap();
    let after = gradients.values(&q, layer.weight()).unwrap();
    for (i, uses) in [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0].into_iter().enumerate() {
        assert!((after[i] - before[i] - uses * own[i]).abs() < 1e-6, "element {i}");
    }
    let refused = layer.forward(&q, &values, &Indices::new(&q, 5, &[3]).unwrap());
    assert!(matches!(refused, Err(NnError::ShapeMismatch { tensor: "table", .. })), "{refused:?}");
}

/// Two uses of one layer.
struct Tied([Dense; 2]);

impl Parameters for Tied {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        self.0.iter().for_each(|layer| layer.visit(visitor));
    }
}

#[test]
fn parameters_start_as_the_visit_defines() {
    let q = open(Choice::Cpu);
    let specs = [&LayerNorm::specs("norm", 5)[..], &Dense::specs("dense", [5, 3]), &Embedding::specs("rows", [7, 5])];
    let all = table(&specs.concat());
    let (norm, dense) = (LayerNorm::find(&all, "norm", 1e-5).unwrap(), Dense::find(&all, "dense").unwrap());
    let mut values = random(&q, &all);
    norm.initialize(&q, &mut values, 1).unwrap();
    dense.initialize(&q, &mut values, 1).unwrap();
    Embedding::find(&all, "rows").unwrap().initialize(&q, &mut values, 1).unwrap();
    let of = |name: &str| values.values(&q, all.id(name).unwrap()).unwrap();
    assert_eq!((of("norm.weight"), of("norm.bias"), of("dense.bias")), (vec![1.0; 5], vec![0.0; 5], vec![0.0; 3]));
    assert_eq!(of("dense.weight"), Init::Glorot.values(&[5, 3], 1, 0).unwrap());
    assert!(of("rows.weight").iter().all(|value| value.abs() <= 0.05));

    // A parameter that is visited twice counts once.
    let tied = Tied([dense, dense]);
    assert_eq!((tied.ids().len(), tied.count(&all).unwrap()), (4, 5 * 3 + 3));
}

#[test]
fn inputs_and_tables_of_other_shapes_are_refused_by_name() {
    let q = open(Choice::Cpu);
    let all = table(&[&Dense::specs("dense", [3, 4])[..], &SelfAttention::specs("heads", 4)].concat());
    let values = random(&q, &all);
    let dense = Dense::find(&all, "dense").unwrap();
    let attention = SelfAttention::find(&all, "heads", 2).unwrap();
    let refused = |layer: AnyLayer, shape: &[usize]| {
        let x = tensor(&q, shape, &drawn(shape, 1));
        layer.forward(&q, &values, TRAINING, x.at()).map(drop).unwrap_err().to_string()
    };
    assert_eq!(refused(dense.into(), &[2, 4]), "`dense` expected x of shape [2, 3], got [2, 4]");
    assert_eq!(refused(dense.into(), &[]), "`dense` needs 1 axes or more, got 0");
    assert_eq!(refused(attention.into(), &[2, 4]), "`self_attention` expected x with 3 axes, got 2");
    let width = "`self_attention` expected x of shape [1, 2, 4], got [1, 2, 3]";
    assert_eq!(refused(attention.into(), &[1, 2, 3]), width);
    let turned = tensor(&q, &[3, 2], &[0.0; 6]);
    let turned = dense.apply(&q, &values, turned.at().transposed().unwrap());
    assert!(matches!(turned, Err(NnError::InvalidStride { op: "dense", tensor: "x", .. })), "{turned:?}");

    let heads = SelfAttention::find(&all, "heads", 3).unwrap_err().to_string();
    assert_eq!(heads, "`self_attention`: number of heads must be a divisor of the width, got 3");
    assert!(matches!(SelfAttention::find(&all, "heads", 0), Err(NnError::Parameter { .. })));
    let wide = SelfAttention::find(&table(&SelfAttention::specs("wide", 258)), "wide", 2).unwrap_err().to_string();
    assert_eq!(wide, "`attention`: dim must be at most 128, got 129");
    assert_eq!(LayerNorm::find(&all, "norm", 0.0).unwrap_err().to_string(), "there is no tensor `norm.weight`");
    assert!(matches!(RmsNorm::find(&all, "dense", 0.0), Err(NnError::NamedTensor { .. })));
    assert!(matches!(Gru::find(&all, "dense"), Err(NnError::MissingTensor { .. })));
    let misshapen = table(&[
        ParameterSpec::new("unit.w", &[1, 2, 9]),
        ParameterSpec::new("unit.u", &[1, 3, 9]),
        ParameterSpec::new("unit.b", &[1, 8]),
    ]);
    let unit = Gru::find(&misshapen, "unit").unwrap_err().to_string();
    assert_eq!(unit, "tensor `unit.b`: `gru` expected a tensor of shape [1, 9], got [1, 8]");
}

#[test]
fn refused_backward_passes_add_no_gradient() {
    let q = open(Choice::Cpu);
    let specs = [&Dense::specs("dense", [4, 2])[..], &LayerNorm::specs("norm", 4), &SelfAttention::specs("heads", 4)];
    let all = table(&specs.concat());
    let (values, mut gradients) = (random(&q, &all), random(&q, &all));
    let all_gradients = |of: &Arena| all.ids().map(|id| of.values(&q, id).unwrap()).collect::<Vec<_>>();
    let before = all_gradients(&gradients);
    let mut refused = |layer: AnyLayer, of: AnyLayer, g: &[usize]| {
        let (x, g) = (tensor(&q, &[2, 3, 4], &drawn(&[2, 3, 4], 1)), tensor(&q, g, &drawn(g, 2)));
        let (_, saved) = layer.forward(&q, &values, TRAINING, x.at()).unwrap();
        of.backward(&q, &values, saved, x.at(), g.at(), &mut gradients).map(drop).unwrap_err().to_string()
    };
    // Gradients with the same number of rows as the output, along other axes.
    let dense = AnyLayer::from(Dense::find(&all, "dense").unwrap());
    let expected = "`dense_backward` expected g of shape [2, 3, 2], got [3, 2, 2]";
    assert_eq!(refused(dense, dense, &[3, 2, 2]), expected);
    let norm = AnyLayer::from(LayerNorm::find(&all, "norm", 1e-5).unwrap());
    assert_eq!(refused(norm, norm, &[6, 4]), "`layer_norm_backward` expected g of shape [2, 3, 4], got [6, 4]");
    // A layer of the same tensors with other heads.
    let [two, four] = [2, 4].map(|heads| AnyLayer::from(SelfAttention::find(&all, "heads", heads).unwrap()));
    let expected = "`self_attention_backward` expected the saved state of this plan, got the saved state of another";
    assert_eq!(refused(two, four, &[2, 3, 4]), expected);
    assert_eq!(all_gradients(&gradients), before);
}

#[test]
fn saved_state_of_another_pass_is_refused() {
    let q = open(Choice::Cpu);
    let all = table(&[&LayerNorm::specs("norm", 3)[..], &Dense::specs("dense", [3, 3])].concat());
    let (norm, dense) = (LayerNorm::find(&all, "norm", 1e-5).unwrap(), Dense::find(&all, "dense").unwrap());
    let (values, mut gradients) = (random(&q, &all), random(&q, &all));
    let x = tensor(&q, &[2, 3], &drawn(&[2, 3], 1));
    let (_, inference) = norm.forward(&q, &values, Mode::Inference, x.at()).unwrap();
    let refused = norm.backward(&q, &values, inference, x.at(), x.at(), &mut gradients);
    assert!(matches!(refused, Err(NnError::NoGradient { op: "layer_norm_backward", .. })), "{refused:?}");
    let (_, of_dense) = dense.forward(&q, &values, TRAINING, x.at()).unwrap();
    let refused = norm.backward(&q, &values, of_dense, x.at(), x.at(), &mut gradients);
    assert!(matches!(refused, Err(NnError::OtherPlan { op: "layer_norm_backward", .. })), "{refused:?}");
    // State of the same form, from another kind of layer.
    let (_, of_tanh) = Activation::Tanh.forward(&q, &values, TRAINING, x.at()).unwrap();
    let refused = dense.backward(&q, &values, of_tanh, x.at(), x.at(), &mut gradients);
    assert!(matches!(refused, Err(NnError::OtherPlan { op: "dense_backward", .. })), "{refused:?}");
    let (_, of_norm) = norm.forward(&q, &values, TRAINING, x.at()).unwrap();
    let rms = RmsNorm::find(&all, "norm", 1e-5).unwrap();
    let refused = rms.backward(&q, &values, of_norm, x.at(), x.at(), &mut gradients);
    assert!(matches!(refused, Err(NnError::OtherPlan { op: "rms_norm_backward", .. })), "{refused:?}");

    // State on the processor, with everything else on the simulated device.
    let device = open(Choice::Sim);
    let (values, mut gradients) = (random(&device, &all), random(&device, &all));
    let there = tensor(&device, &[2, 3], &drawn(&[2, 3], 1));
    let on_processor = random(&q, &all);
    let (_, saved) = norm.forward(&q, &on_processor, TRAINING, x.at()).unwrap();
    let refused = norm.backward(&device, &values, saved, there.at(), there.at(), &mut gradients);
    let mixed = NnError::Backend(BackendError::MixedBackend { op: "layer_norm_backward" });
    assert_eq!(refused.map(drop), Err(mixed));
}
