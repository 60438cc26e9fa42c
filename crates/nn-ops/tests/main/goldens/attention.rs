//! Attention with every mask, forward and backward.

use backend_api::Element;
use nn_ops::{
    AttentionGradients, AttentionInputs, AttentionMask, AttentionOptions, AttentionPlan, AttentionSaved,
    AttentionShape, Tensor,
};
use runtime::AnyQueue;

use super::Goldens;

/// The cases of `networks.py`, with the offsets of their causal masks.
const CASES: [(&str, Option<i64>); 9] = [
    ("plain", None),
    ("causal", Some(3)),
    ("grouped", None),
    ("keep", None),
    ("additive", None),
    ("ragged", None),
    ("together", Some(3)),
    ("nothing", None),
    ("long", Some(37)),
];

pub(super) fn hold(g: &Goldens) {
    CASES.into_iter().for_each(|(name, causal)| case(g, name, causal));
}

/// An input that only some cases have.
fn given<T: Element>(g: &Goldens, name: &str, convert: impl Fn(f32) -> T) -> Option<Tensor<AnyQueue, T>> {
    let (shape, values) = g.inputs.get(name)?;
    let values: Vec<T> = values.iter().map(|&value| convert(value)).collect();
    Some(Tensor::from_values(&g.q, shape, &values).unwrap())
}

fn case(g: &Goldens, name: &str, causal: Option<i64>) {
    let (queue, of) = (&g.q, |part: &str| format!("attention.{name}/{part}"));
    let [q, k, v, upstream] = ["q", "k", "v", "g"].map(|part| g.input(&of(part)));
    let &[batch, queries, heads, dim] = q.layout().shape() else { panic!("{name}: q does not have four axes") };
    let &[_, keys, kv_heads, _] = k.layout().shape() else { panic!("{name}: k does not have four axes") };
    let shape = AttentionShape { batch, heads, kv_heads, queries, keys, dim };
    let plan = AttentionPlan::new(shape, AttentionOptions { causal, ..AttentionOptions::default() }).unwrap();

    let keep = given(g, &of("keep"), |value| value != 0.0);
    let (addend, lens) = (given(g, &of("addend"), |value| value), given(g, &of("lens"), |value| value as u32));
    let mask = match (&keep, &addend) {
        (Some(keep), _) => AttentionMask::Keep(keep.at()),
        (None, Some(addend)) => AttentionMask::Additive(addend.at()),
        (None, None) => AttentionMask::None,
    };
    let key_lens = lens.as_ref().map(Tensor::at);
    let inputs = AttentionInputs { mask, key_lens, ..AttentionInputs::new(q.at(), k.at(), v.at()) };

    let (mut y, mut lse) = (g.room(q.layout().shape()), plan.lse(queue).unwrap());
    plan.forward(queue, inputs, y.at_mut(), Some(lse.at_mut())).unwrap();
    let [mut dq, mut dk, mut dv] = [&q, &k, &v].map(|tensor| g.room(tensor.layout().shape()));
    let gradients = AttentionGradients { q: dq.at_mut(), k: dk.at_mut(), v: dv.at_mut() };
    plan.backward(queue, inputs, AttentionSaved { y: y.at(), lse: lse.at() }, upstream.at(), gradients).unwrap();
    for (part, got) in [("y", &y), ("lse", &lse), ("d_q", &dq), ("d_k", &dk), ("d_v", &dv)] {
        g.hold_near(&of(part), got);
    }
}
