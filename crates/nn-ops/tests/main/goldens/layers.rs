//! Layers: their outputs, and the gradients of their inputs and parameters.

use std::sync::Arc;

use nn_ops::{
    Activation, Dense, Embedding, Gru, GruColumns, GruMember, GruVariant, Indices, Layer, LayerNorm, Mode,
    ParameterArena, ParameterSpec, ParameterTable, RmsNorm, SelfAttention, Sequential,
};
use runtime::AnyQueue;

use super::{
    Goldens,
    recurrent::{member, named_gradients},
};

type Arena = ParameterArena<AnyQueue, f32>;

/// Added to the variances and mean squares of all norms.
const EPS: f32 = 1e-3;

pub(super) fn hold(g: &Goldens) {
    let dense = table(&Dense::specs("layer", [7, 5]));
    hold_layer(g, "dense", &dense, &Dense::find(&dense, "layer").unwrap());
    let norm = table(&LayerNorm::specs("norm", 33));
    hold_layer(g, "layer_norm", &norm, &LayerNorm::find(&norm, "norm", EPS).unwrap());
    let norm = table(&RmsNorm::specs("norm", 33));
    hold_layer(g, "rms_norm", &norm, &RmsNorm::find(&norm, "norm", EPS).unwrap());
    for f in Activation::ALL {
        hold_layer(g, f.name(), &table(&[]), &f);
    }
    let all = table(&SelfAttention::specs("layer", 8));
    let attention = SelfAttention::find(&all, "layer", 2).unwrap();
    hold_layer(g, "attention", &all, &attention);
    hold_layer(g, "causal_attention", &all, &attention.causal());
    sequence(g);
    embedding(g);
    units(g);
}

fn table(specs: &[ParameterSpec]) -> Arc<ParameterTable> {
    ParameterTable::new(specs).unwrap()
}

/// Compares both passes of a layer whose parameters have the names of the inputs.
fn hold_layer(g: &Goldens, case: &str, table: &Arc<ParameterTable>, layer: &impl Layer) {
    let mut values = Arena::zeros(&g.q, table).unwrap();
    for id in table.ids() {
        let given = g.values(&format!("layers.{case}/{}", table.name(id).unwrap()));
        values.write(&g.q, id, given).unwrap();
    }
    let gradients = hold_passes(g, case, &values, layer);
    g.hold_arena(&format!("layers.{case}/d_"), &gradients);
}

/// Compares the output of a layer and the gradient of its input; returns the gradients of its parameters.
fn hold_passes(g: &Goldens, case: &str, values: &Arena, layer: &impl Layer) -> Arena {
    let of = |part: &str| format!("layers.{case}/{part}");
    let (q, x, upstream) = (&g.q, g.input(&of("x")), g.input(&of("g")));
    let mut gradients = Arena::zeros(q, values.table()).unwrap();
    let (y, saved) = layer.forward(q, values, Mode::Training { step: 0 }, x.at()).unwrap();
    let of_x = layer.backward(q, values, saved, x.at(), upstream.at(), &mut gradients).unwrap();
    g.hold_near(&of("y"), &y);
    g.hold_near(&of("d_x"), &of_x);
    gradients
}

fn sequence(g: &Goldens) {
    let specs = [
        &Dense::specs("0", [5, 6])[..],
        &LayerNorm::specs("1.norm", 6),
        &SelfAttention::specs("2", 6),
        &RmsNorm::specs("4.norm", 6),
        &Dense::specs("5", [6, 3]),
    ];
    let all = table(&specs.concat());
    let layers = Sequential::new([
        Dense::find(&all, "0").unwrap().into(),
        LayerNorm::find(&all, "1.norm", EPS).unwrap().into(),
        SelfAttention::find(&all, "2", 2).unwrap().causal().into(),
        Activation::Silu.into(),
        RmsNorm::find(&all, "4.norm", EPS).unwrap().into(),
        Dense::find(&all, "5").unwrap().into(),
    ]);
    hold_layer(g, "sequence", &all, &layers);
}

fn embedding(g: &Goldens) {
    let (q, of) = (&g.q, |part: &str| format!("layers.embedding/{part}"));
    let all = table(&Embedding::specs("layer", [7, 5]));
    let layer = Embedding::find(&all, "layer").unwrap();
    let [mut values, mut gradients] = [(); 2].map(|()| Arena::zeros(q, &all).unwrap());
    values.write(q, layer.weight(), g.values(&of("layer.weight"))).unwrap();
    let indices = Indices::new(q, layer.rows(), &g.indices(&of("indices"))).unwrap();
    let y = layer.forward(q, &values, &indices).unwrap();
    layer.backward(q, &indices, g.input(&of("g")).at(), &mut gradients).unwrap();
    g.hold_near(&of("y"), &y);
    g.hold_arena(&of("d_"), &gradients);
}

/// Both variants of a recurrent unit, from states of zeros.
fn units(g: &Goldens) {
    let [input, hidden] = [4, 6];
    for (name, variant) in [("before", GruVariant::ResetBefore), ("after", GruVariant::ResetAfter)] {
        let case = format!("gru.{name}");
        let all = table(&Gru::specs("layer", [input, hidden], variant));
        let layer = Gru::find(&all, "layer").unwrap();
        let mut values = Arena::zeros(&g.q, &all).unwrap();
        layer.import(&g.q, &mut values, &member(g, &format!("layers.{case}"), input, hidden)).unwrap();
        let gradients = hold_passes(g, &case, &values, &layer);
        let of = |part: &str| gradients.values(&g.q, all.id(&format!("layer.{part}")).unwrap()).unwrap();
        let bu = (variant == GruVariant::ResetAfter).then(|| of("bu"));
        let columns = GruColumns { w: of("w"), u: of("u"), b: of("b"), bu };
        for (part, got) in named_gradients(&GruMember::new(input, hidden, columns).unwrap()) {
            g.hold_values_near(&format!("layers.{case}/d_{part}"), &got);
        }
    }
}
