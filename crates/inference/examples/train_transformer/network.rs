//! The transformer of `inference`'s `model/transformer.rs` in f32, forward and backward.

use backend_api::{
    Buffer as _, BufferRef as _, Queue, Ref,
    ops::linalg::{ActivateBackward, LinalgOps},
};
use inference::digits::CLASSES;
use nn_ops::{
    Activation, Binary, Layout, Mask, NnError, NormPlan, NormSaved, Sgd, SoftmaxPlan, TensorMut, TensorRef, activate,
    axpby, binary, cross_entropy, io::Tensors, matmul, matmul_backward_lhs, matmul_backward_rhs, sum_axis,
};
use rand_chacha::rand_core::Rng;

use crate::{dense::Dense, tensor};

const POSITIONS: usize = 8;
const PATCH: usize = 8;
const WIDTH: usize = 16;
const HEADS: usize = 4;
const HEAD_WIDTH: usize = WIDTH / HEADS;
const HIDDEN: usize = 32;
/// Scores are divided by the root of `HEAD_WIDTH`.
const SCALE: f32 = 0.5;
/// As in fixed point, where it bounds the reciprocal root.
const EPSILON: f32 = 1.0 / 16.0;

pub(crate) struct Network<Q: Queue> {
    /// Its biases are those of positions.
    embed: Dense<Q>,
    qkv: Dense<Q>,
    out: Dense<Q>,
    hidden: Dense<Q>,
    feed: Dense<Q>,
    head: Dense<Q>,
}

/// What the backward pass needs: activations of `count` images, row-major `[count][position][feature]`.
struct Trace<Q: Queue> {
    count: usize,
    embedded: Q::Buf<f32>,
    first: Normed<Q>,
    projected: Q::Buf<f32>,
    attention: Q::Buf<f32>,
    mixed: Q::Buf<f32>,
    attended: Q::Buf<f32>,
    second: Normed<Q>,
    hidden: Q::Buf<f32>,
    activated: Q::Buf<f32>,
    pooled: Q::Buf<f32>,
    logits: Q::Buf<f32>,
}

/// A layer norm's result and the statistics of its rows.
struct Normed<Q: Queue> {
    y: Q::Buf<f32>,
    stats: Q::Buf<f32>,
}

impl<Q: LinalgOps + 'static> Network<Q> {
    pub(crate) fn new(q: &Q, rng: &mut impl Rng) -> Result<Self, NnError> {
        let mut dense = |inputs, outputs, bias: &[usize]| Dense::new(q, inputs, outputs, bias, rng);
        Ok(Self {
            embed: dense(PATCH, WIDTH, &[POSITIONS, WIDTH])?,
            qkv: dense(WIDTH, 3 * WIDTH, &[3 * WIDTH])?,
            out: dense(WIDTH, WIDTH, &[WIDTH])?,
            hidden: dense(WIDTH, HIDDEN, &[HIDDEN])?,
            feed: dense(HIDDEN, WIDTH, &[WIDTH])?,
            head: dense(WIDTH, CLASSES, &[CLASSES])?,
        })
    }

    /// The layers by their names in `inference`.
    fn layers(&mut self) -> [(&'static str, &mut Dense<Q>); 6] {
        [
            ("embed", &mut self.embed),
            ("attention.qkv", &mut self.qkv),
            ("attention.out", &mut self.out),
            ("feed.hidden", &mut self.hidden),
            ("feed.out", &mut self.feed),
            ("head", &mut self.head),
        ]
    }

    /// The logits `[count][CLASSES]` of images `[count][PIXELS]`.
    pub(crate) fn logits(&self, q: &Q, images: Ref<'_, Q, f32>) -> Result<Vec<f32>, NnError> {
        Ok(q.download(&self.forward(q, images)?.logits)?)
    }

    /// One step of gradient descent on the mean cross-entropy of a batch; gives that mean from before the step.
    pub(crate) fn train_step(
        &mut self,
        q: &Q,
        images: Ref<'_, Q, f32>,
        targets: Ref<'_, Q, u32>,
        sgd: Sgd,
    ) -> Result<f32, NnError> {
        let trace = self.forward(q, images)?;
        let count = trace.count;
        let (mut losses, mut gradient) = (q.zeros::<f32>(count)?, q.zeros::<f32>(count * CLASSES)?);
        let logits = tensor::<Q>(&trace.logits, &[count, CLASSES])?;
        let into = TensorMut::contiguous(gradient.view_mut(), &[count, CLASSES])?;
        cross_entropy(q, 1.0 / count as f32, logits, targets, losses.view_mut(), into)?;
        self.backward(q, images, &trace, &gradient)?;
        self.layers().into_iter().try_for_each(|(_, layer)| layer.descend(q, sgd))?;
        Ok(q.download(&losses)?.iter().sum::<f32>() / count as f32)
    }

    pub(crate) fn tensors(&mut self, q: &Q) -> Result<Tensors, NnError> {
        let mut tensors = Tensors::new();
        self.layers().into_iter().try_for_each(|(name, layer)| layer.export(q, name, &mut tensors))?;
        Ok(tensors)
    }

    fn forward(&self, q: &Q, images: Ref<'_, Q, f32>) -> Result<Trace<Q>, NnError> {
        let count = images.len() / (POSITIONS * PATCH);
        let rows = count * POSITIONS;

        let patches = TensorRef::contiguous(images, &[rows, PATCH])?;
        let mut products = q.zeros::<f32>(rows * WIDTH)?;
        matmul(q, patches, self.embed.weight.value()?, TensorMut::contiguous(products.view_mut(), &[rows, WIDTH])?)?;
        let mut embedded = q.zeros::<f32>(rows * WIDTH)?;
        let sequences = [count, POSITIONS, WIDTH];
        let into = TensorMut::contiguous(embedded.view_mut(), &sequences)?;
        binary(q, Binary::Add, tensor::<Q>(&products, &sequences)?, self.embed.bias.value()?, into)?;

        let first = self.norm(q, &embedded, rows)?;
        let projected = self.qkv.forward(q, &first.y)?;
        let grid = [count, HEADS, POSITIONS, POSITIONS];
        let mut scores = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        let (queries, keys) = (heads::<Q>(&projected, count, 0)?, heads::<Q>(&projected, count, 1)?);
        matmul(q, queries, keys.transposed()?, TensorMut::contiguous(scores.view_mut(), &grid)?)?;
        let mut scaled = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        axpby(q, SCALE, tensor::<Q>(&scores, &grid)?, 0.0, TensorMut::contiguous(scaled.view_mut(), &grid)?)?;
        let mut attention = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        SoftmaxPlan::new(&grid, 3)?.softmax(q, scaled.view(), Mask::None, attention.view_mut())?;
        let mut mixed = q.zeros::<f32>(rows * WIDTH)?;
        let into = TensorMut::new(mixed.view_mut(), head_layout(count, WIDTH)?)?;
        matmul(q, tensor::<Q>(&attention, &grid)?, heads::<Q>(&projected, count, 2)?, into)?;
        let out = self.out.forward(q, &mixed)?;
        let attended = sum::<Q>(q, &embedded, &out)?;

        let second = self.norm(q, &attended, rows)?;
        let hidden = self.hidden.forward(q, &second.y)?;
        let mut activated = q.zeros::<f32>(rows * HIDDEN)?;
        let into = TensorMut::contiguous(activated.view_mut(), &[rows, HIDDEN])?;
        activate(q, Activation::GeluErf, tensor::<Q>(&hidden, &[rows, HIDDEN])?, into)?;
        let out = self.feed.forward(q, &activated)?;
        let fed = sum::<Q>(q, &attended, &out)?;

        let mut sums = q.zeros::<f32>(count * WIDTH)?;
        let into = TensorMut::contiguous(sums.view_mut(), &[count, WIDTH])?;
        sum_axis(q, tensor::<Q>(&fed, &sequences)?, 1, false, into)?;
        let mut pooled = q.zeros::<f32>(count * WIDTH)?;
        let into = TensorMut::contiguous(pooled.view_mut(), &[count * WIDTH])?;
        axpby(q, 1.0 / POSITIONS as f32, tensor::<Q>(&sums, &[count * WIDTH])?, 0.0, into)?;
        let logits = self.head.forward(q, &pooled)?;
        Ok(Trace {
            count,
            embedded,
            first,
            projected,
            attention,
            mixed,
            attended,
            second,
            hidden,
            activated,
            pooled,
            logits,
        })
    }

    /// Adds the gradients of all weights for the gradient of the logits.
    fn backward(
        &mut self,
        q: &Q,
        images: Ref<'_, Q, f32>,
        trace: &Trace<Q>,
        logits: &Q::Buf<f32>,
    ) -> Result<(), NnError> {
        let count = trace.count;
        let rows = count * POSITIONS;

        let pooled = self.head.backward(q, &trace.pooled, logits)?;
        let mut fed = q.zeros::<f32>(rows * WIDTH)?;
        let share = q.upload(&[1.0 / POSITIONS as f32])?;
        let into = TensorMut::contiguous(fed.view_mut(), &[count, POSITIONS, WIDTH])?;
        binary(q, Binary::Mul, tensor::<Q>(&pooled, &[count, 1, WIDTH])?, tensor::<Q>(&share, &[1])?, into)?;

        let activated = self.feed.backward(q, &trace.activated, &fed)?;
        let mut hidden = q.zeros::<f32>(rows * HIDDEN)?;
        q.activate_backward(ActivateBackward {
            f: Activation::GeluErf,
            saved: trace.hidden.view(),
            g: activated.view(),
            dx: hidden.view_mut(),
        })?;
        let second = self.hidden.backward(q, &trace.second.y, &hidden)?;
        let attended = sum::<Q>(q, &fed, &self.norm_backward(q, &trace.attended, &trace.second, &second, rows)?)?;

        let mixed = self.out.backward(q, &trace.mixed, &attended)?;
        let projected = attention_backward(q, trace, &mixed)?;
        let first = self.qkv.backward(q, &trace.first.y, &projected)?;
        let embedded = sum::<Q>(q, &attended, &self.norm_backward(q, &trace.embedded, &trace.first, &first, rows)?)?;

        let patches = TensorRef::contiguous(images, &[rows, PATCH])?;
        matmul_backward_rhs(q, patches, tensor::<Q>(&embedded, &[rows, WIDTH])?, self.embed.weight.gradient()?)?;
        let bias = self.embed.bias.gradient()?;
        sum_axis(q, tensor::<Q>(&embedded, &[count, POSITIONS, WIDTH])?, 0, true, bias)
    }

    fn norm(&self, q: &Q, x: &Q::Buf<f32>, rows: usize) -> Result<Normed<Q>, NnError> {
        let plan = NormPlan::new(rows, WIDTH, EPSILON)?;
        let (mut y, mut stats) = (q.zeros::<f32>(rows * WIDTH)?, plan.layer_stats(q)?);
        plan.layer_norm(q, x.view(), None, None, y.view_mut(), stats.view_mut())?;
        Ok(Normed { y, stats })
    }

    fn norm_backward(
        &self,
        q: &Q,
        x: &Q::Buf<f32>,
        normed: &Normed<Q>,
        g: &Q::Buf<f32>,
        rows: usize,
    ) -> Result<Q::Buf<f32>, NnError> {
        let plan = NormPlan::new(rows, WIDTH, EPSILON)?;
        let saved = NormSaved { x: x.view(), gamma: None, stats: normed.stats.view() };
        let mut dx = q.zeros::<f32>(rows * WIDTH)?;
        plan.layer_norm_backward(q, saved, g.view(), dx.view_mut(), None, None)?;
        Ok(dx)
    }
}

/// The gradient of queries, keys and values for that of the mixed values.
fn attention_backward<Q: LinalgOps>(q: &Q, trace: &Trace<Q>, mixed: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
    let count = trace.count;
    let grid = [count, HEADS, POSITIONS, POSITIONS];
    let len = count * HEADS * POSITIONS * POSITIONS;
    let head = |part| heads::<Q>(&trace.projected, count, part);
    let (queries, keys, values) = (head(0)?, head(1)?, head(2)?);
    let mixed = TensorRef::new(mixed.view(), head_layout(count, WIDTH)?)?;
    let mut projected = q.zeros::<f32>(count * POSITIONS * 3 * WIDTH)?;

    let mut attention = q.zeros::<f32>(len)?;
    matmul_backward_lhs(q, mixed, values, TensorMut::contiguous(attention.view_mut(), &grid)?)?;
    matmul_backward_rhs(q, tensor::<Q>(&trace.attention, &grid)?, mixed, part::<Q>(&mut projected, count, 2)?)?;

    let mut scaled = q.zeros::<f32>(len)?;
    let plan = SoftmaxPlan::new(&grid, 3)?;
    plan.softmax_backward(q, trace.attention.view(), attention.view(), scaled.view_mut())?;
    let mut scores = q.zeros::<f32>(len)?;
    axpby(q, SCALE, tensor::<Q>(&scaled, &grid)?, 0.0, TensorMut::contiguous(scores.view_mut(), &grid)?)?;
    let scores = tensor::<Q>(&scores, &grid)?;
    matmul_backward_lhs(q, scores, keys.transposed()?, part::<Q>(&mut projected, count, 0)?)?;
    // the gradient of the keys is the transpose of scores, times queries
    matmul_backward_rhs(q, scores, queries, part::<Q>(&mut projected, count, 1)?)?;
    Ok(projected)
}

/// `[count][head][position][unit]` within rows `[count][position]` of `width` elements.
fn head_layout(count: usize, width: usize) -> Result<Layout, NnError> {
    Layout::strided(&[count, HEADS, POSITIONS, HEAD_WIDTH], &[POSITIONS * width, HEAD_WIDTH, width, 1])
}

/// Queries, keys or values (0, 1, 2) by heads.
fn heads<Q: Queue>(projected: &Q::Buf<f32>, count: usize, part: usize) -> Result<TensorRef<'_, Q, f32>, NnError> {
    let view = projected.slice(part * WIDTH..projected.len())?;
    TensorRef::new(view, head_layout(count, 3 * WIDTH)?)
}

/// The same to be written.
fn part<Q: Queue>(projected: &mut Q::Buf<f32>, count: usize, part: usize) -> Result<TensorMut<'_, Q, f32>, NnError> {
    let len = projected.len();
    TensorMut::new(projected.slice_mut(part * WIDTH..len)?, head_layout(count, 3 * WIDTH)?)
}

fn sum<Q: LinalgOps>(q: &Q, a: &Q::Buf<f32>, b: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
    let mut y = q.zeros::<f32>(a.len())?;
    let shape = [a.len()];
    binary(q, Binary::Add, tensor(a, &shape)?, tensor(b, &shape)?, TensorMut::contiguous(y.view_mut(), &shape)?)?;
    Ok(y)
}
