//! The transformer of `inference`'s `model/transformer.rs` in f32, forward and backward.

use backend_api::{
    Buffer as _, BufferRef as _, Queue, Ref,
    ops::{linalg::LinalgOps, tensor::TensorOps},
};
use inference::digits::CLASSES;
use nn_ops::{
    Activation, Binary, CrossEntropyResults, Dense, DenseGradients, Layout, Mask, NnError, NormAffine, NormGradients,
    NormPlan, NormResults, NormSaved, Optimizer, OptimizerConfig, ParameterArena, ParameterId, ParameterSpec,
    ParameterTable, SoftmaxPlan, TensorMut, TensorRef, activate, activate_backward, axpby, binary, cross_entropy,
    io::Tensors, matmul, matmul_backward_lhs, matmul_backward_rhs, sum_axis,
};
use rand_chacha::rand_core::Rng;

use crate::tensor;

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
    embed: ParameterId,
    positions: ParameterId,
    qkv: Dense,
    out: Dense,
    hidden: Dense,
    feed: Dense,
    head: Dense,
    values: ParameterArena<Q, f32>,
    gradients: ParameterArena<Q, f32>,
    optimizer: Optimizer<Q>,
}

/// The dense layers by their names in `inference`, with their inputs and outputs.
const LAYERS: [(&str, [usize; 2]); 5] = [
    ("attention.qkv", [WIDTH, 3 * WIDTH]),
    ("attention.out", [WIDTH, WIDTH]),
    ("feed.hidden", [WIDTH, HIDDEN]),
    ("feed.out", [HIDDEN, WIDTH]),
    ("head", [WIDTH, CLASSES]),
];

/// Activations for the backward pass of `count` images.
///
/// Row-major `[count][position][feature]`.
struct Activations<Q: Queue> {
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

impl<Q: LinalgOps + TensorOps + 'static> Network<Q> {
    pub(crate) fn new(q: &Q, config: OptimizerConfig, rng: &mut impl Rng) -> Result<Self, NnError> {
        // Uniform weights within this limit keep the variance of standardised inputs.
        let limit = |inputs: usize| (3.0 / inputs as f32).sqrt();
        let mut specs = vec![
            ParameterSpec::new("embed.weight", &[PATCH, WIDTH]),
            ParameterSpec::new("embed.bias", &[POSITIONS, WIDTH]).without_decay(),
        ];
        specs.extend(LAYERS.into_iter().flat_map(|(name, sizes)| Dense::specs(name, sizes)));
        let table = ParameterTable::new(&specs)?;
        let mut values = ParameterArena::zeros(q, &table)?;
        let (embed, positions) = (table.id("embed.weight")?, table.id("embed.bias")?);
        let mut uniform = |id, inputs, count| {
            let unit = |word: u32| 2.0 * (word >> 8) as f32 / (1 << 24) as f32 - 1.0;
            let drawn: Vec<f32> = (0..count).map(|_| limit(inputs) * unit(rng.next_u32())).collect();
            values.write(q, id, &drawn)
        };
        uniform(embed, PATCH, PATCH * WIDTH)?;
        let layers = LAYERS.map(|(name, _)| Dense::find(&table, name));
        for layer in &layers {
            let layer = layer.as_ref().map_err(Clone::clone)?;
            uniform(layer.weight(), layer.inputs(), layer.inputs() * layer.outputs())?;
        }
        let [qkv, out, hidden, feed, head] = layers;
        Ok(Self {
            embed,
            positions,
            qkv: qkv?,
            out: out?,
            hidden: hidden?,
            feed: feed?,
            head: head?,
            gradients: ParameterArena::zeros(q, &table)?,
            optimizer: Optimizer::new(q, config, &table)?,
            values,
        })
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
    ) -> Result<f32, NnError> {
        let trace = self.forward(q, images)?;
        let count = trace.count;
        let (mut losses, mut gradient) = (q.zeros::<f32>(count)?, q.zeros::<f32>(count * CLASSES)?);
        let logits = tensor::<Q>(&trace.logits, &[count, CLASSES])?;
        let targets = TensorRef::contiguous(targets, &[count])?;
        let results = CrossEntropyResults {
            losses: TensorMut::contiguous(losses.view_mut(), &[count])?,
            dlogits: TensorMut::contiguous(gradient.view_mut(), &[count, CLASSES])?,
        };
        cross_entropy(q, 1.0 / count as f32, logits, targets, results)?;
        self.backward(q, images, &trace, &gradient)?;
        self.optimizer.step(q, self.gradients.view(), self.values.view_mut(), None)?;
        Ok(q.download(&losses)?.iter().sum::<f32>() / count as f32)
    }

    pub(crate) fn tensors(&self, q: &Q) -> Result<Tensors, NnError> {
        let mut tensors = Tensors::new();
        self.values.export(q, "", &mut tensors)?;
        Ok(tensors)
    }

    fn forward(&self, q: &Q, images: Ref<'_, Q, f32>) -> Result<Activations<Q>, NnError> {
        let count = images.len() / (POSITIONS * PATCH);
        let rows = count * POSITIONS;

        let patches = TensorRef::contiguous(images, &[rows, PATCH])?;
        let mut products = q.zeros::<f32>(rows * WIDTH)?;
        matmul(q, patches, self.values.at(self.embed)?, TensorMut::contiguous(products.view_mut(), &[rows, WIDTH])?)?;
        let mut embedded = q.zeros::<f32>(rows * WIDTH)?;
        let sequences = [count, POSITIONS, WIDTH];
        let into = TensorMut::contiguous(embedded.view_mut(), &sequences)?;
        binary(q, Binary::Add, tensor::<Q>(&products, &sequences)?, self.values.at(self.positions)?, into)?;

        let first = self.norm(q, &embedded, rows)?;
        let projected = self.apply(q, &self.qkv, &first.y)?;
        let grid = [count, HEADS, POSITIONS, POSITIONS];
        let mut scores = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        let (queries, keys) = (heads::<Q>(&projected, count, 0)?, heads::<Q>(&projected, count, 1)?);
        matmul(q, queries, keys.transposed()?, TensorMut::contiguous(scores.view_mut(), &grid)?)?;
        let mut scaled = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        axpby(q, SCALE, tensor::<Q>(&scores, &grid)?, 0.0, TensorMut::contiguous(scaled.view_mut(), &grid)?)?;
        let mut attention = q.zeros::<f32>(count * HEADS * POSITIONS * POSITIONS)?;
        let into = TensorMut::contiguous(attention.view_mut(), &grid)?;
        SoftmaxPlan::new(&grid, 3)?.softmax(q, tensor::<Q>(&scaled, &grid)?, Mask::None, into)?;
        let mut mixed = q.zeros::<f32>(rows * WIDTH)?;
        let into = TensorMut::new(mixed.view_mut(), head_layout(count, WIDTH)?)?;
        matmul(q, tensor::<Q>(&attention, &grid)?, heads::<Q>(&projected, count, 2)?, into)?;
        let out = self.apply(q, &self.out, &mixed)?;
        let attended = sum::<Q>(q, &embedded, &out)?;

        let second = self.norm(q, &attended, rows)?;
        let hidden = self.apply(q, &self.hidden, &second.y)?;
        let mut activated = q.zeros::<f32>(rows * HIDDEN)?;
        let into = TensorMut::contiguous(activated.view_mut(), &[rows, HIDDEN])?;
        activate(q, Activation::GeluErf, tensor::<Q>(&hidden, &[rows, HIDDEN])?, into)?;
        let out = self.apply(q, &self.feed, &activated)?;
        let fed = sum::<Q>(q, &attended, &out)?;

        let mut sums = q.zeros::<f32>(count * WIDTH)?;
        let into = TensorMut::contiguous(sums.view_mut(), &[count, WIDTH])?;
        sum_axis(q, tensor::<Q>(&fed, &sequences)?, 1, false, into)?;
        let mut pooled = q.zeros::<f32>(count * WIDTH)?;
        let into = TensorMut::contiguous(pooled.view_mut(), &[count * WIDTH])?;
        axpby(q, 1.0 / POSITIONS as f32, tensor::<Q>(&sums, &[count * WIDTH])?, 0.0, into)?;
        let logits = self.apply(q, &self.head, &pooled)?;
        Ok(Activations {
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

    /// Computes the gradients of all weights for the gradient of the logits.
    fn backward(
        &mut self,
        q: &Q,
        images: Ref<'_, Q, f32>,
        trace: &Activations<Q>,
        logits: &Q::Buf<f32>,
    ) -> Result<(), NnError> {
        let count = trace.count;
        let rows = count * POSITIONS;

        let pooled = self.differentiate(q, self.head, &trace.pooled, logits)?;
        let mut fed = q.zeros::<f32>(rows * WIDTH)?;
        let share = q.upload(&[1.0 / POSITIONS as f32])?;
        let into = TensorMut::contiguous(fed.view_mut(), &[count, POSITIONS, WIDTH])?;
        binary(q, Binary::Mul, tensor::<Q>(&pooled, &[count, 1, WIDTH])?, tensor::<Q>(&share, &[1])?, into)?;

        let activated = self.differentiate(q, self.feed, &trace.activated, &fed)?;
        let mut hidden = q.zeros::<f32>(rows * HIDDEN)?;
        let shape = [rows, HIDDEN];
        let (saved, g) = (tensor::<Q>(&trace.hidden, &shape)?, tensor::<Q>(&activated, &shape)?);
        activate_backward(q, Activation::GeluErf, saved, g, TensorMut::contiguous(hidden.view_mut(), &shape)?)?;
        let second = self.differentiate(q, self.hidden, &trace.second.y, &hidden)?;
        let attended = sum::<Q>(q, &fed, &self.norm_backward(q, &trace.attended, &trace.second, &second, rows)?)?;

        let mixed = self.differentiate(q, self.out, &trace.mixed, &attended)?;
        let projected = attention_backward(q, trace, &mixed)?;
        let first = self.differentiate(q, self.qkv, &trace.first.y, &projected)?;
        let embedded = sum::<Q>(q, &attended, &self.norm_backward(q, &trace.embedded, &trace.first, &first, rows)?)?;

        let patches = TensorRef::contiguous(images, &[rows, PATCH])?;
        let of_embed = self.gradients.at_mut(self.embed)?;
        matmul(q, patches.transposed()?, tensor::<Q>(&embedded, &[rows, WIDTH])?, of_embed)?;
        let of_positions = self.gradients.at_mut(self.positions)?;
        sum_axis(q, tensor::<Q>(&embedded, &[count, POSITIONS, WIDTH])?, 0, false, of_positions)
    }

    /// The output of a layer.
    fn apply(&self, q: &Q, layer: &Dense, x: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
        let plan = layer.plan(x.len() / layer.inputs(), Activation::Identity)?;
        let mut y = q.alloc::<f32>(plan.output().numel())?;
        let into = TensorMut::new(y.view_mut(), *plan.output())?;
        plan.forward(q, layer, &self.values, TensorRef::new(x.view(), *plan.input())?, into)?;
        Ok(y)
    }

    /// Computes a layer's gradients from its output gradient `g`; returns its input gradient.
    fn differentiate(&mut self, q: &Q, layer: Dense, x: &Q::Buf<f32>, g: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
        let plan = layer.plan(x.len() / layer.inputs(), Activation::Identity)?;
        let mut dx = q.alloc::<f32>(plan.input().numel())?;
        let into = TensorMut::new(dx.view_mut(), *plan.input())?;
        let (x, g) = (TensorRef::new(x.view(), *plan.input())?, TensorRef::new(g.view(), *plan.output())?);
        let gradients = DenseGradients { output: g, parameters: &mut self.gradients, input: Some(into) };
        plan.backward(q, &layer, &self.values, x, gradients)?;
        Ok(dx)
    }

    fn norm(&self, q: &Q, x: &Q::Buf<f32>, rows: usize) -> Result<Normed<Q>, NnError> {
        let (shape, plan) = ([rows, WIDTH], NormPlan::new(&[rows, WIDTH], EPSILON)?);
        let (mut y, mut stats) = (q.zeros::<f32>(rows * WIDTH)?, plan.layer_stats(q)?);
        let results = NormResults {
            y: TensorMut::contiguous(y.view_mut(), &shape)?,
            stats: TensorMut::contiguous(stats.view_mut(), &[2, rows])?,
        };
        plan.layer_norm(q, tensor::<Q>(x, &shape)?, NormAffine::default(), results)?;
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
        let (shape, plan) = ([rows, WIDTH], NormPlan::new(&[rows, WIDTH], EPSILON)?);
        let stats = tensor::<Q>(&normed.stats, &[2, rows])?;
        let saved = NormSaved { x: tensor::<Q>(x, &shape)?, gamma: None, stats };
        let mut dx = q.zeros::<f32>(rows * WIDTH)?;
        let of_x = TensorMut::contiguous(dx.view_mut(), &shape)?;
        let gradients = NormGradients { x: of_x, gamma: None, beta: None };
        plan.layer_norm_backward(q, saved, tensor::<Q>(g, &shape)?, gradients)?;
        Ok(dx)
    }
}

/// The gradient of queries, keys and values, given the gradient of the mixed values.
fn attention_backward<Q: LinalgOps + TensorOps>(
    q: &Q,
    trace: &Activations<Q>,
    mixed: &Q::Buf<f32>,
) -> Result<Q::Buf<f32>, NnError> {
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
    let (y, g) = (tensor::<Q>(&trace.attention, &grid)?, tensor::<Q>(&attention, &grid)?);
    plan.softmax_backward(q, y, g, TensorMut::contiguous(scaled.view_mut(), &grid)?)?;
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

fn sum<Q: LinalgOps + TensorOps>(q: &Q, a: &Q::Buf<f32>, b: &Q::Buf<f32>) -> Result<Q::Buf<f32>, NnError> {
    let mut y = q.zeros::<f32>(a.len())?;
    let shape = [a.len()];
    binary(q, Binary::Add, tensor(a, &shape)?, tensor(b, &shape)?, TensorMut::contiguous(y.view_mut(), &shape)?)?;
    Ok(y)
}
