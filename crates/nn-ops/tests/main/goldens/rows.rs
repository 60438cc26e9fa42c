//! Softmax, norms, losses, reductions and rows by index.

use nn_ops::{
    CrossEntropyPlan, CrossEntropyResults, Indices, Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved,
    ReducePlan, Reduction, SoftmaxPlan, Tensor, arg_max, fill,
};

use super::{CLOSE, Goldens};

pub(super) fn hold(g: &Goldens) {
    softmaxes(g);
    norms(g);
    losses(g);
    reductions(g);
    tables(g);
}

fn softmaxes(g: &Goldens) {
    let (q, x) = (&g.q, g.input("softmax/x"));
    let shape = *x.layout();
    for axis in 0..3 {
        let plan = SoftmaxPlan::new(shape.shape(), axis).unwrap();
        let (mut y, mut dx) = (g.room(shape.shape()), g.room(shape.shape()));
        plan.softmax(q, x.at(), Mask::None, y.at_mut()).unwrap();
        let upstream = g.input(&format!("softmax.{axis}/g"));
        plan.softmax_backward(q, y.at(), upstream.at(), dx.at_mut()).unwrap();
        g.hold(&format!("softmax.{axis}/y"), &y, CLOSE);
        g.hold(&format!("softmax.{axis}/d_x"), &dx, CLOSE);

        plan.log_softmax(q, x.at(), Mask::None, y.at_mut()).unwrap();
        let upstream = g.input(&format!("log_softmax.{axis}/g"));
        plan.log_softmax_backward(q, y.at(), upstream.at(), dx.at_mut()).unwrap();
        g.hold(&format!("log_softmax.{axis}/y"), &y, CLOSE);
        g.hold(&format!("log_softmax.{axis}/d_x"), &dx, CLOSE);
    }
    let (plan, addend) = (SoftmaxPlan::new(shape.shape(), 2).unwrap(), g.input("softmax.masked/addend"));
    let mut y = g.room(shape.shape());
    for (name, mask) in [("additive", Mask::Additive(addend.at())), ("causal", Mask::Causal { offset: 1 })] {
        plan.softmax(q, x.at(), mask, y.at_mut()).unwrap();
        g.hold(&format!("softmax.{name}/y"), &y, CLOSE);
    }
}

fn norms(g: &Goldens) {
    let (q, x, gamma, beta) = (&g.q, g.input("norm/x"), g.input("norm/gamma"), g.input("norm/beta"));
    let shape = x.layout().shape();
    let (mut y, mut dx, mut dgamma, mut dbeta) = (g.room(shape), g.room(shape), g.room(&[33]), g.room(&[33]));
    let plan = NormPlan::new(shape, 1e-3).unwrap();
    let mut stats = g.room(&[2, 4]);
    let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
    plan.layer_norm(q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() }).unwrap();
    let saved = NormSaved { x: x.at(), gamma: Some(gamma.at()), stats: stats.at() };
    let upstream = g.input("layer_norm/g");
    let gradients = NormGradients { x: dx.at_mut(), gamma: Some(dgamma.at_mut()), beta: Some(dbeta.at_mut()) };
    plan.layer_norm_backward(q, saved, upstream.at(), gradients).unwrap();
    for (name, got) in [("y", &y), ("d_x", &dx), ("d_gamma", &dgamma), ("d_beta", &dbeta)] {
        g.hold(&format!("layer_norm/{name}"), got, CLOSE);
    }
    let plain = NormPlan::new(shape, 1e-5).unwrap();
    let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
    plain.layer_norm(q, x.at(), NormAffine::default(), results).unwrap();
    g.hold("layer_norm.plain/y", &y, CLOSE);

    let mut stats = g.room(&[4]);
    let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
    plan.rms_norm(q, x.at(), Some(gamma.at()), results).unwrap();
    let saved = NormSaved { x: x.at(), gamma: Some(gamma.at()), stats: stats.at() };
    let upstream = g.input("rms_norm/g");
    plan.rms_norm_backward(q, saved, upstream.at(), dx.at_mut(), Some(dgamma.at_mut())).unwrap();
    for (name, got) in [("y", &y), ("d_x", &dx), ("d_gamma", &dgamma)] {
        g.hold(&format!("rms_norm/{name}"), got, CLOSE);
    }
}

fn losses(g: &Goldens) {
    let (q, logits) = (&g.q, g.input("cross_entropy/logits"));
    let targets = Tensor::from_values(q, &[6], &g.indices("cross_entropy/targets")).unwrap();
    let (mut losses, mut d) = (g.room(&[6]), g.room(&[6, 10]));
    let (plan, scale) = (CrossEntropyPlan::new(6, 10).unwrap(), 1.0 / 6.0);
    let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: d.at_mut() };
    plan.cross_entropy(q, scale, logits.at(), targets.at(), results).unwrap();
    g.hold("cross_entropy/losses", &losses, CLOSE);
    g.hold("cross_entropy/d_logits", &d, CLOSE);
    let probs = g.input("cross_entropy/probs");
    let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: d.at_mut() };
    plan.cross_entropy_probs(q, scale, logits.at(), probs.at(), results).unwrap();
    g.hold("cross_entropy.probs/losses", &losses, CLOSE);
    g.hold("cross_entropy.probs/d_logits", &d, CLOSE);
}

fn reductions(g: &Goldens) {
    let x = g.input("reduce/x");
    let shape = x.layout().shape();
    for choice in 1..8 {
        let axes: Vec<usize> = (0..3).filter(|axis| choice >> axis & 1 == 1).collect();
        let name: String = axes.iter().map(usize::to_string).collect();
        for reduction in Reduction::ALL {
            let plan = ReducePlan::new(shape, &axes, reduction).unwrap();
            let mut y = g.room(plan.layout().shape());
            plan.run(&g.q, x.at(), y.at_mut()).unwrap();
            g.hold(&format!("reduce.{}.{name}/y", reduction.name()), &y, CLOSE);
        }
    }
    for axis in 0..3 {
        let kept: Vec<usize> = (0..3).filter(|&other| other != axis).map(|other| shape[other]).collect();
        let mut y = Tensor::alloc(&g.q, &kept).unwrap();
        arg_max(&g.q, x.at(), axis, y.at_mut()).unwrap();
        let places: Vec<f32> = y.values(&g.q).unwrap().into_iter().map(|place: u32| place as f32).collect();
        g.hold_values(&format!("arg_max.{axis}/y"), &places, (0.0, 0.0));
    }
}

fn tables(g: &Goldens) {
    let (q, table, upstream) = (&g.q, g.input("embedding/table"), g.input("embedding/g"));
    let indices = Indices::new(q, 9, &g.indices("embedding/indices")).unwrap();
    let (mut y, mut d) = (g.room(&[12, 5]), g.room(&[9, 5]));
    indices.gather(q, table.at(), y.at_mut()).unwrap();
    g.hold("embedding/y", &y, (0.0, 0.0));
    fill(q, 0.0, d.at_mut()).unwrap();
    indices.scatter_add(q, upstream.at(), d.at_mut()).unwrap();
    g.hold("embedding/d_table", &d, CLOSE);
}
