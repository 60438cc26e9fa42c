//! Gated recurrent units of both variants, two to an ensemble.

use nn_ops::{
    GruColumns, GruGradientPlan, GruGradients, GruInputs, GruMember, GruPassValues, GruPlan, GruResults, GruUpstream,
    GruWeights, Tensor, TensorRef,
    io::{Tensor as HostTensor, Tensors},
};

use super::Goldens;

/// Relative and absolute error of states and gradients.
const BOUNDS: (f64, f64) = (1e-5, 5e-6);

const MEMBERS: usize = 2;

pub(super) fn hold(g: &Goldens) {
    for size in ["small", "wide"] {
        for variant in ["before", "after"] {
            ensemble(g, size, variant);
        }
    }
}

/// The unit of a member, from PyTorch's tensors or from the formulas' tensors.
pub(super) fn member(g: &Goldens, prefix: &str, input: usize, hidden: usize) -> GruMember {
    if prefix.contains("before") {
        let [w, u, b] = ["w", "u", "b"].map(|part| g.values(&format!("{prefix}/{part}")).to_vec());
        return GruMember::new(input, hidden, GruColumns { w, u, b, bu: None }).unwrap();
    }
    let tensor = |name: &str| {
        let (shape, data) = g.inputs[&format!("{prefix}/{name}")].clone();
        (name.to_owned(), HostTensor { shape, data })
    };
    let tensors: Tensors = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"].map(tensor).into();
    GruMember::from_torch(&tensors, "", 0).unwrap()
}

fn ensemble(g: &Goldens, size: &str, variant: &str) {
    let (q, of) = (&g.q, |part: &str| g.input(&format!("gru.{size}/{part}")));
    let (x, first, of_states, of_last) = (of("x"), of("first"), of("of_states"), of("of_last"));
    let &[steps, batch, input] = x.layout().shape() else { panic!("x is no sequence") };
    let hidden = first.layout().shape()[2];
    let prefix = |i: usize| format!("gru.{size}.{variant}.{i}");
    let members: Vec<GruMember> = (0..MEMBERS).map(|i| member(g, &prefix(i), input, hidden)).collect();
    let weights = GruWeights::new(q, &members).unwrap();
    let plan = GruPlan::new(&weights, batch, steps, GruInputs::Sequence).unwrap();

    let (mut states, mut last) = (g.room(of_states.layout().shape()), g.room(first.layout().shape()));
    let mut saved = g.room(&[5, MEMBERS, steps, batch, hidden]);
    let results = GruResults { states: Some(states.at_mut()), last: last.at_mut(), saved: Some(saved.at_mut()) };
    plan.forward(q, &weights, x.at(), Some(first.at()), results).unwrap();
    let (mut gates, mut of_first) = (g.room(&[MEMBERS, steps, batch, 3 * hidden]), g.room(first.layout().shape()));
    let upstream = GruUpstream { states: Some(of_states.at()), last: Some(of_last.at()) };
    let gradients = GruGradients { gates: gates.at_mut(), first: of_first.at_mut() };
    plan.backward(q, &weights, saved.at(), upstream, gradients).unwrap();

    assert!([-0.1, 1.1, f32::NAN].iter().all(|&decay| GruGradientPlan::new(&plan, decay).is_err()));
    let gradient = GruGradientPlan::new(&plan, 1.0).unwrap();
    let (mut workspace, mut of_weights) = (gradient.workspace(q).unwrap(), weights.like(q).unwrap());
    let values = GruPassValues { x: x.at(), saved: saved.at(), gates: gates.at() };
    gradient.weights(q, &mut workspace, values, &mut of_weights).unwrap();
    let mut of_x = Tensor::from_values(q, x.layout().shape(), &vec![0.0; x.layout().numel()]).unwrap();
    gradient.add_inputs(q, &mut workspace, &weights, gates.at(), of_x.at_mut()).unwrap();
    g.hold(&format!("gru.{size}.{variant}/d_x"), &of_x, BOUNDS);
    for (i, of_unit) in of_weights.members(q).unwrap().iter().enumerate() {
        for (name, got) in named_gradients(of_unit) {
            g.hold_values(&format!("{}/d_{name}", prefix(i)), &got, BOUNDS);
        }
    }

    let host = |of: TensorRef<'_, _, f32>| backend_api::Queue::read(q, of.view()).unwrap();
    let (states, last, of_first) = (host(states.at()), host(last.at()), host(of_first.at()));
    let state = batch * hidden;
    for i in 0..MEMBERS {
        let of_member = &states[i * steps * state..][..steps * state];
        assert_eq!(last[i * state..][..state], of_member[(steps - 1) * state..], "{}", prefix(i));
        g.hold_values(&format!("{}/states", prefix(i)), of_member, BOUNDS);
        g.hold_values(&format!("{}/d_first", prefix(i)), &of_first[i * state..][..state], BOUNDS);
    }
}

/// The gradients of a unit's weights, by the names of PyTorch's tensors or of the formulas'.
///
/// They have the unit's form.
pub(super) fn named_gradients(of_unit: &GruMember) -> Vec<(&'static str, Vec<f32>)> {
    let Some(of_bu) = of_unit.bu() else {
        let parts = [("w", of_unit.w()), ("u", of_unit.u()), ("b", of_unit.b())];
        return parts.into_iter().map(|(name, of)| (name, of.to_vec())).collect();
    };
    // weights only change their places and signs on the way; of a bias that is the sum of two, both have the gradient
    let mut tensors = Tensors::new();
    of_unit.to_torch("", 0, &mut tensors).unwrap();
    let hidden = of_bu.len();
    let (z, rest) = of_unit.b().split_at(hidden);
    let (r, c) = rest.split_at(hidden);
    let z: Vec<f32> = z.iter().map(|z| -z).collect();
    let weights = ["weight_ih_l0", "weight_hh_l0"].map(|name| (name, tensors[name].data.clone()));
    let biases = [("bias_ih_l0", [r, &z, c].concat()), ("bias_hh_l0", [r, &z, of_bu].concat())];
    weights.into_iter().chain(biases).collect()
}
