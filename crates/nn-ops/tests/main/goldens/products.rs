//! Matrix products, dense layers and singular values.

use nn_ops::{
    Activation, LinearGradients, LinearOperands, LinearSaved, SvdOptions, SvdPlan, TensorRef, fill, linear,
    linear_backward, matmul, matmul_backward_lhs, matmul_backward_rhs,
};
use runtime::AnyQueue;

use super::Goldens;
use crate::common::DeviceTensor;

/// Relative and absolute error of sums of up to a dozen products.
const SUMS: (f64, f64) = (2e-6, 5e-6);

pub(super) fn hold(g: &Goldens) {
    batches(g);
    layers(g);
    spectra(g);
}

/// A tensor of zeros.
fn zeros(g: &Goldens, shape: &[usize]) -> DeviceTensor {
    let mut tensor = g.room(shape);
    fill(&g.q, 0.0, tensor.at_mut()).unwrap();
    tensor
}

fn batches(g: &Goldens) {
    let (q, a, b, upstream) = (&g.q, g.input("matmul/a"), g.input("matmul/b"), g.input("matmul/g"));
    let mut c = g.room(&[2, 3, 4, 6]);
    matmul(q, a.at(), b.at(), c.at_mut()).unwrap();
    let (mut da, mut db) = (zeros(g, a.layout().shape()), zeros(g, b.layout().shape()));
    matmul_backward_lhs(q, upstream.at(), b.at(), da.at_mut()).unwrap();
    matmul_backward_rhs(q, a.at(), upstream.at(), db.at_mut()).unwrap();
    for (name, got) in [("c", &c), ("d_a", &da), ("d_b", &db)] {
        g.hold(&format!("matmul/{name}"), got, SUMS);
    }
}

fn layers(g: &Goldens) {
    let (q, x, w, bias) = (&g.q, g.input("linear/x"), g.input("linear/w"), g.input("linear/bias"));
    for f in [Activation::Identity, Activation::GeluErf, Activation::Tanh] {
        let of = |part: &str| format!("linear.{}/{part}", f.name());
        let (mut p, mut y) = (g.room(&[9, 6]), g.room(&[9, 6]));
        let operands = || LinearOperands { x: x.at(), w: w.at(), bias: Some(bias.at()) };
        linear(q, operands(), Activation::Identity, p.at_mut()).unwrap();
        linear(q, operands(), f, y.at_mut()).unwrap();
        let (mut dx, mut dw, mut db) = (zeros(g, &[9, 13]), zeros(g, &[13, 6]), zeros(g, &[6]));
        let gradients = LinearGradients { x: Some(dx.at_mut()), w: dw.at_mut(), bias: Some(db.at_mut()) };
        let (saved, upstream) = (if f.saves_output() { y.at() } else { p.at() }, g.input(&of("g")));
        linear_backward(q, LinearSaved { x: x.at(), w: w.at(), f, saved }, upstream.at(), gradients).unwrap();
        for (name, got) in [("p", &p), ("y", &y), ("d_x", &dx), ("d_w", &dw), ("d_bias", &db)] {
            g.hold(&of(name), got, SUMS);
        }
    }
}

/// Singular values, all of a short side by a direct decomposition, and the greatest of a longer one by a randomized one.
///
/// All of them with their vectors make the matrix.
fn spectra(g: &Goldens) {
    for (name, rank, is_direct) in [("short", 24, true), ("long", 8, false)] {
        let a = g.input(&format!("svd.{name}/a"));
        let &[m, n] = a.layout().shape() else { panic!("{name} is no matrix") };
        let plan = SvdPlan::new(m, n, rank, SvdOptions::default()).unwrap();
        assert_eq!(plan.is_direct(), is_direct);
        let (mut factors, mut workspace) = (plan.factors(&g.q).unwrap(), plan.workspace(&g.q).unwrap());
        plan.run(&g.q, a.at(), &mut factors, &mut workspace).unwrap();
        let read = |x: TensorRef<'_, AnyQueue, f32>| backend_api::Queue::read(&g.q, x.view()).unwrap();
        let [u, s, v] = [factors.u(), factors.s(), factors.v()].map(read);
        let expected = g.first_of_result(&format!("svd.{name}/s"), rank);
        let greatest = expected[0];
        for (j, (&got, expected)) in s.iter().zip(expected).enumerate() {
            let error = (f64::from(got) - expected).abs();
            assert!(error <= 1e-5 * greatest, "{name}, singular value {j}: {got} instead of {expected}");
        }
        for (at, &a) in a.values(&g.q).unwrap().iter().enumerate().filter(|_| is_direct) {
            let (u, v) = (&u[at / n * rank..][..rank], &v[at % n * rank..][..rank]);
            let terms = u.iter().zip(&s).zip(v).map(|((&u, &s), &v)| f64::from(u) * f64::from(s) * f64::from(v));
            let error = (terms.sum::<f64>() - f64::from(a)).abs();
            assert!(error <= 1e-5 * greatest, "{name}, element {at}: off by {error}");
        }
    }
}
