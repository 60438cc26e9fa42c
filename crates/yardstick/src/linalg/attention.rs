//! Causal attention of row-major `[batch, heads, rows, dim]` tensors, and a decoder step.
//!
//! Work counts the products of the queries with the keys that they read.

use backend_api::{Buffer, Queue as _, Real};
use half::bf16;
use nn_ops::{
    AttentionGradients, AttentionInputs, AttentionOptions, AttentionPlan, AttentionSaved, AttentionShape, CacheShape,
    KeyValueCache, Mask, NnError, SoftmaxPlan, TensorMut, TensorRef, matmul,
};

use crate::{
    Extent, Goal, Line,
    host::{against_peak, against_reading, tensor},
    line::RunSize,
};

/// Batches, heads, rows, and elements in a row.
type AttentionSizes = [usize; 4];

/// The axes of a plan's tensors, `[batch, rows, heads, dim]`.
const BY_ROW: [usize; 4] = [0, 2, 1, 3];

pub(super) fn contests() -> Vec<Line> {
    let forward = |sizes: AttentionSizes| {
        let line = forward::<f32>(&id("attention", sizes), sizes);
        against_peak(line).variant("trefoil, products and softmax in blocks", composed(sizes))
    };
    let decode = against_reading(decode("nn.attention_decode/2048", [4, 8, 2048, 64]));
    vec![
        forward([4, 8, 512, 64]),
        forward([1, 8, 2048, 64]),
        forward([8, 12, 128, 64]),
        against_peak(backward::<f32>(&id("attention_backward", [4, 8, 512, 64]), [4, 8, 512, 64])),
        decode.goal(Goal::Ratio { peer: 1, ratio: 0.8 }, ""),
    ]
}

pub(super) fn lines(extent: Extent) -> Vec<Line> {
    let sizes = match extent {
        Extent::Full => [4, 16, 2048, 64],
        Extent::Small => [1, 2, 20, 8],
    };
    vec![
        forward::<f32>(&id("attention.f32", sizes), sizes),
        forward::<bf16>(&id("attention.bf16", sizes), sizes),
        backward::<f32>(&id("attention_backward.f32", sizes), sizes),
        backward::<bf16>(&id("attention_backward.bf16", sizes), sizes),
        decode(&id("attention_decode", sizes), sizes),
    ]
}

fn id(op: &str, [batch, heads, rows, dim]: AttentionSizes) -> String {
    format!("nn.{op}/{batch}x{heads}x{rows}x{dim}")
}

/// The size of `products` products, each of two operations for each element of a row.
fn size<T>(products: usize, tensors: usize, [batch, heads, rows, dim]: AttentionSizes) -> RunSize {
    let pairs = batch * heads * rows * (rows + 1) / 2;
    let resident = (tensors * size_of::<T>() * batch * heads * rows * dim) as f64;
    RunSize::computing("flop", (2 * products * pairs * dim) as f64, resident)
}

fn plan([batch, heads, rows, dim]: AttentionSizes) -> Result<AttentionPlan, NnError> {
    let shape = AttentionShape { batch, heads, kv_heads: heads, queries: rows, keys: rows, dim };
    AttentionPlan::new(shape, AttentionOptions { causal: Some(0), ..AttentionOptions::default() })
}

fn forward<T: Real>(id: &str, sizes: AttentionSizes) -> Line {
    Line::new(id, size::<T>(2, 4, sizes), move |q| {
        let plan = plan(sizes)?;
        let (x, k, v) = (tensor::<T>(q, &sizes, 1.0)?, tensor::<T>(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?);
        let mut y = tensor::<T>(q, &sizes, 1.0)?;
        Ok(Box::new(move |q| {
            let (x, k, v) = (x.at().permuted(&BY_ROW)?, k.at().permuted(&BY_ROW)?, v.at().permuted(&BY_ROW)?);
            Ok(plan.forward(q, AttentionInputs::new(x, k, v), y.at_mut().permuted(&BY_ROW)?, None)?)
        }))
    })
}

/// The gradients of queries, keys and values, after a forward pass that is not measured.
fn backward<T: Real>(id: &str, sizes: AttentionSizes) -> Line {
    Line::new(id, size::<T>(5, 8, sizes), move |q| {
        let plan = plan(sizes)?;
        let (x, k, v) = (tensor::<T>(q, &sizes, 1.0)?, tensor::<T>(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?);
        let (g, mut y, mut lse) = (tensor::<T>(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?, plan.lse(q)?);
        let (mut dx, mut dk, mut dv) = (tensor(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?);
        let inputs =
            AttentionInputs::new(x.at().permuted(&BY_ROW)?, k.at().permuted(&BY_ROW)?, v.at().permuted(&BY_ROW)?);
        plan.forward(q, inputs, y.at_mut().permuted(&BY_ROW)?, Some(lse.at_mut()))?;
        Ok(Box::new(move |q| {
            let (x, k, v) = (x.at().permuted(&BY_ROW)?, k.at().permuted(&BY_ROW)?, v.at().permuted(&BY_ROW)?);
            let saved = AttentionSaved { y: y.at().permuted(&BY_ROW)?, lse: lse.at() };
            let gradients = AttentionGradients {
                q: dx.at_mut().permuted(&BY_ROW)?,
                k: dk.at_mut().permuted(&BY_ROW)?,
                v: dv.at_mut().permuted(&BY_ROW)?,
            };
            let g = g.at().permuted(&BY_ROW)?;
            Ok(plan.backward(q, AttentionInputs::new(x, k, v), saved, g, gradients)?)
        }))
    })
}

/// One query for each batch and head, against the keys of a full cache; all of them are read.
fn decode(id: &str, [batch, heads, rows, dim]: AttentionSizes) -> Line {
    let bytes = 2 * size_of::<f32>() * batch * heads * rows * dim;
    Line::new(id, RunSize::of_bytes(bytes), move |q| {
        let mut cache = KeyValueCache::new(q, CacheShape { batch, capacity: rows, kv_heads: heads, dim })?;
        let all = [batch, rows, heads, dim];
        let (k, v) = (tensor::<f32>(q, &all, 1.0)?, tensor(q, &all, 1.0)?);
        cache.append(q, k.at(), v.at())?;
        let one = [batch, 1, heads, dim];
        let (x, mut y) = (tensor(q, &one, 1.0)?, tensor(q, &one, 1.0)?);
        Ok(Box::new(move |q| Ok(cache.step(q, x.at(), None, y.at_mut())?)))
    })
}

/// The same attention by products and softmax, 64 queries at a time.
///
/// Blocks leave out the keys after their last query. Queries are already scaled.
fn composed(sizes: AttentionSizes) -> Line {
    const ROWS: usize = 64;
    Line::new(&id("attention_composed", sizes), size::<f32>(2, 4, sizes), move |q| {
        let [batch, heads, rows, dim] = sizes;
        let x = tensor::<f32>(q, &sizes, 1.0 / (dim as f32).sqrt())?;
        let (k, v, mut y) = (tensor(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?, tensor(q, &sizes, 1.0)?);
        let len = batch * heads * ROWS * rows;
        let (mut scores, mut weights) = (q.alloc::<f32>(len)?, q.alloc::<f32>(len)?);
        Ok(Box::new(move |q| {
            for first in (0..rows).step_by(ROWS) {
                let keys = (first + ROWS).min(rows);
                let block = [batch, heads, keys - first, keys];
                let (x, v) = (x.at().narrowed(2, first..keys)?, v.at().narrowed(2, 0..keys)?);
                let k = k.at().narrowed(2, 0..keys)?.transposed()?;
                matmul(q, x, k, TensorMut::contiguous(scores.view_mut(), &block)?)?;
                let from = TensorRef::contiguous(scores.view(), &block)?;
                let to = TensorMut::contiguous(weights.view_mut(), &block)?;
                SoftmaxPlan::new(&block, 3)?.softmax(q, from, Mask::Causal { offset: first as i64 }, to)?;
                let weights = TensorRef::contiguous(weights.view(), &block)?;
                matmul(q, weights, v, y.at_mut().narrowed(2, first..keys)?)?;
            }
            Ok(())
        }))
    })
}
