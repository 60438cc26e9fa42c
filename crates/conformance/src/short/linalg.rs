//! A small call of every linalg op, to be refused with any of its views an element short.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::linalg::{
        Activate, ActivateBackward, AdamW, Axpby, Binary, CrossEntropy, CrossEntropyProbs, Dropout, Gemm, LayerNorm,
        LayerNormBackward, LinalgOps, LogSoftmax, LogSoftmaxBackward, RmsNorm, RmsNormBackward, RowMask, Softmax,
        SoftmaxBackward, SumAxis,
    },
};
use core_types::params::{
    elementwise::{self, Activation, AdamWParams, BinaryParams, DropoutParams, SumParams},
    gemm::{GemmParams, MatrixStrides},
    rows::{AxisParams, NormParams, SoftmaxParams},
};

use super::case;
use crate::Case;

/// Tensors of 2 x 3 x 4.
const AXIS: AxisParams = AxisParams { outer: 2, len: 3, inner: 4 };
const COUNT: usize = 24;

const NORM: NormParams = NormParams { rows: 4, len: 6, eps: 1e-5 };

fn floats<Q: Queue>(q: &Q, len: usize) -> Result<Q::Buf<f32>, BackendError> {
    q.zeros(len)
}

pub(super) fn cases<Q: LinalgOps + 'static>() -> Vec<Case<Q>> {
    let mut all = element_cases();
    all.extend(softmax_cases());
    all.extend(norm_cases());
    all.extend(loss_cases());
    all.push(gemm());
    all
}

fn element_cases<Q: LinalgOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("activate", |q: &Q, short| {
            let (x, mut y) = (floats(q, 5)?, floats(q, 5)?);
            let f = Activation::Relu;
            q.activate(Activate { f, x: x.view(), y: y.view_mut() }.map(short)?)
        }),
        case("activate_backward", |q: &Q, short| {
            let (saved, g, mut dx) = (floats(q, 5)?, floats(q, 5)?, floats(q, 5)?);
            let (f, saved, g, dx) = (Activation::Relu, saved.view(), g.view(), dx.view_mut());
            q.activate_backward(ActivateBackward { f, saved, g, dx }.map(short)?)
        }),
        case("binary", |q: &Q, short| {
            let (a, b, mut y) = (floats(q, 6)?, floats(q, 3)?, floats(q, 6)?);
            let (op, rank, shape) = (elementwise::Binary::Add, 2, [2, 3, 1, 1, 1, 1]);
            let (a_strides, b_strides) = ([3, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]);
            let params = BinaryParams { op, rank, shape, a_strides, b_strides };
            q.binary(Binary { params: &params, a: a.view(), b: b.view(), y: y.view_mut() }.map(short)?)
        }),
        case("axpby", |q: &Q, short| {
            let (x, mut y) = (floats(q, 5)?, floats(q, 5)?);
            q.axpby(Axpby { alpha: 1.0, x: x.view(), beta: 1.0, y: y.view_mut() }.map(short)?)
        }),
        case("adam_w", |q: &Q, short| {
            let (g, mut m, mut v, mut w) = (floats(q, 5)?, floats(q, 5)?, floats(q, 5)?, floats(q, 5)?);
            let (rate, beta1, beta2, eps, decay) = (0.1, 0.9, 0.9, 1e-8, 0.0);
            let params = AdamWParams { rate, beta1, beta2, eps, decay, mean: 1.0, square: 1.0, reserved: 0 };
            let (g, m, v, w) = (g.view(), m.view_mut(), v.view_mut(), w.view_mut());
            q.adam_w(AdamW { params: &params, g, m, v, w }.map(short)?)
        }),
        case("sum_axis", |q: &Q, short| {
            let (x, mut y) = (floats(q, COUNT)?, floats(q, 8)?);
            let AxisParams { outer, len, inner } = AXIS;
            let params = SumParams { outer, len, inner, accumulate: 0 };
            q.sum_axis(SumAxis { params: &params, x: x.view(), y: y.view_mut() }.map(short)?)
        }),
        case("dropout", |q: &Q, short| {
            let (x, mut y) = (floats(q, 5)?, floats(q, 5)?);
            let params = DropoutParams { seed: 1, site: 2, step: 3, first: 0, threshold: 1 << 31, scale: 2.0 };
            q.dropout(Dropout { params: &params, x: x.view(), y: y.view_mut() }.map(short)?)
        }),
    ]
}

fn softmax_cases<Q: LinalgOps + 'static>() -> Vec<Case<Q>> {
    let params = SoftmaxParams { axis: AXIS, mask_period: 1, causal_offset: 0 };
    vec![
        case("softmax", move |q: &Q, short| {
            let (x, keep, mut y) = (floats(q, COUNT)?, q.upload(&[true; 12])?, floats(q, COUNT)?);
            let (x, mask, y) = (x.view(), RowMask::Keep(keep.view()), y.view_mut());
            q.softmax(Softmax { params: &params, x, mask, y }.map(short)?)
        }),
        case("log_softmax", move |q: &Q, short| {
            let (x, addend, mut y) = (floats(q, COUNT)?, floats(q, 12)?, floats(q, COUNT)?);
            let (x, mask, y) = (x.view(), RowMask::Additive(addend.view()), y.view_mut());
            q.log_softmax(LogSoftmax { params: &params, x, mask, y }.map(short)?)
        }),
        case("softmax_backward", |q: &Q, short| {
            let (y, g, mut dx) = (floats(q, COUNT)?, floats(q, COUNT)?, floats(q, COUNT)?);
            let (y, g, dx) = (y.view(), g.view(), dx.view_mut());
            q.softmax_backward(SoftmaxBackward { params: &AXIS, y, g, dx }.map(short)?)
        }),
        case("log_softmax_backward", |q: &Q, short| {
            let (y, g, mut dx) = (floats(q, COUNT)?, floats(q, COUNT)?, floats(q, COUNT)?);
            let (y, g, dx) = (y.view(), g.view(), dx.view_mut());
            q.log_softmax_backward(LogSoftmaxBackward { params: &AXIS, y, g, dx }.map(short)?)
        }),
    ]
}

fn norm_cases<Q: LinalgOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("layer_norm", |q: &Q, short| {
            let (x, gamma, beta) = (floats(q, COUNT)?, floats(q, 6)?, floats(q, 6)?);
            let (mut y, mut stats) = (floats(q, COUNT)?, floats(q, 8)?);
            let (x, gamma, beta) = (x.view(), Some(gamma.view()), Some(beta.view()));
            let (y, stats) = (y.view_mut(), stats.view_mut());
            q.layer_norm(LayerNorm { params: &NORM, x, gamma, beta, y, stats }.map(short)?)
        }),
        case("layer_norm_backward", |q: &Q, short| {
            let (x, gamma, stats, g) = (floats(q, COUNT)?, floats(q, 6)?, floats(q, 8)?, floats(q, COUNT)?);
            let (mut dx, mut dgamma, mut dbeta) = (floats(q, COUNT)?, floats(q, 6)?, floats(q, 6)?);
            let (x, gamma, stats, g) = (x.view(), Some(gamma.view()), stats.view(), g.view());
            let (dx, dgamma, dbeta) = (dx.view_mut(), Some(dgamma.view_mut()), Some(dbeta.view_mut()));
            q.layer_norm_backward(
                LayerNormBackward { params: &NORM, x, gamma, stats, g, dx, dgamma, dbeta }.map(short)?,
            )
        }),
        case("rms_norm", |q: &Q, short| {
            let (x, gamma) = (floats(q, COUNT)?, floats(q, 6)?);
            let (mut y, mut rstd) = (floats(q, COUNT)?, floats(q, 4)?);
            let (x, gamma, y, rstd) = (x.view(), Some(gamma.view()), y.view_mut(), rstd.view_mut());
            q.rms_norm(RmsNorm { params: &NORM, x, gamma, y, rstd }.map(short)?)
        }),
        case("rms_norm_backward", |q: &Q, short| {
            let (x, gamma, rstd, g) = (floats(q, COUNT)?, floats(q, 6)?, floats(q, 4)?, floats(q, COUNT)?);
            let (mut dx, mut dgamma) = (floats(q, COUNT)?, floats(q, 6)?);
            let (x, gamma, rstd, g) = (x.view(), Some(gamma.view()), rstd.view(), g.view());
            let (dx, dgamma) = (dx.view_mut(), Some(dgamma.view_mut()));
            q.rms_norm_backward(RmsNormBackward { params: &NORM, x, gamma, rstd, g, dx, dgamma }.map(short)?)
        }),
    ]
}

fn loss_cases<Q: LinalgOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("cross_entropy", |q: &Q, short| {
            let (logits, targets) = (floats(q, 6)?, q.zeros(2)?);
            let (mut losses, mut dlogits) = (floats(q, 2)?, floats(q, 6)?);
            let (logits, targets) = (logits.view(), targets.view());
            let (losses, dlogits) = (losses.view_mut(), dlogits.view_mut());
            q.cross_entropy(CrossEntropy { classes: 3, scale: 1.0, logits, targets, losses, dlogits }.map(short)?)
        }),
        case("cross_entropy_probs", |q: &Q, short| {
            let (logits, probs) = (floats(q, 6)?, floats(q, 6)?);
            let (mut losses, mut dlogits) = (floats(q, 2)?, floats(q, 6)?);
            let (logits, probs) = (logits.view(), probs.view());
            let (losses, dlogits) = (losses.view_mut(), dlogits.view_mut());
            q.cross_entropy_probs(
                CrossEntropyProbs { classes: 3, scale: 1.0, logits, probs, losses, dlogits }.map(short)?,
            )
        }),
    ]
}

fn gemm<Q: LinalgOps + 'static>() -> Case<Q> {
    case("gemm", |q: &Q, short| {
        let (a, b, bias, mut c) = (floats(q, 6)?, floats(q, 12)?, floats(q, 4)?, floats(q, 8)?);
        let row_major = |columns| MatrixStrides { batch: [0; 4], row: columns, col: 1 };
        let params = GemmParams {
            batch: [1; 4],
            m: 2,
            n: 4,
            k: 3,
            a: row_major(3),
            b: row_major(4),
            c: row_major(4),
            accumulate: 0,
            activation: Activation::Identity,
        };
        let (a, b, bias, c) = (a.view(), b.view(), Some(bias.view()), c.view_mut());
        q.gemm(Gemm { params: &params, a, b, bias, c }.map(short)?)
    })
}
