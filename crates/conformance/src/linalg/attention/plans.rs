//! Attention by plans of tensors, and the steps of a decoder.

use backend_api::Real;
use core_types::params::attention::{AttentionParams, HeadStrides};
use nn_ops::{
    AttentionGradients, AttentionInputs, AttentionMask, AttentionOptions, AttentionPlan, AttentionSaved,
    AttentionShape, CacheShape, Dropout, DropoutStep, KeyValueCache, Tensor,
};

use super::{
    gradient_bound, hold_forward,
    model::{Problem, packed},
    rounding, unless_near,
};
use crate::{Case, Conditioned, Failure, spec::typed};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(typed!("both passes of permuted tensors with every option", passes()));
    for (name, sizes) in
        [("as many heads", [2, 2, 8]), ("groups of heads", [4, 2, 5]), ("one head of keys", [3, 1, 33])]
    {
        cases.extend(typed!(format!("a decoder, {name}"), decoder(sizes)));
    }
    cases.extend(typed!("sequences of several lengths", ragged()));
    cases
}

fn tensor<T: Real>(q: &Conditioned, shape: &[usize], values: &[f32]) -> Result<Tensor<Conditioned, T>, Failure> {
    Ok(Tensor::from_values(q, shape, &values.iter().map(|&value| T::from_f32(value)).collect::<Vec<T>>())?)
}

fn values<T: Real>(q: &Conditioned, tensor: &Tensor<Conditioned, T>) -> Result<Vec<f32>, Failure> {
    Ok(tensor.values(q)?.into_iter().map(Real::to_f32).collect())
}

/// Requires results within the rounding of weights and of the result.
fn unless_close<T: Real>(expected: &[f64], got: &[f32], factor: f64) -> Result<(), Failure> {
    Failure::unless_close(expected, got, rounding::<T>(), (1e-5 + 1.5 * rounding::<T>()) * factor)
}

/// Runs both passes on row-major `[batch, heads, rows, dim]` tensors.
fn passes<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    const P: f64 = 0.5;
    let shape = AttentionShape { batch: 2, heads: 4, kv_heads: 2, queries: 5, keys: 9, dim: 8 };
    let (step, at) = (11, Dropout::new(P, 77)?.at(5));
    let options = AttentionOptions { scale: Some(0.25), causal: Some(3), dropout: Some(at) };
    let mut params = packed([2, 4, 2, 5, 9, 8]);
    (params.scale, params.causal, params.causal_offset) = (0.25, 1, 3);
    (params.q, params.y) = (HeadStrides::by_head(4, 5, 8), HeadStrides::by_head(4, 5, 8));
    (params.k, params.v) = (HeadStrides::by_head(2, 9, 8), HeadStrides::by_head(2, 9, 8));
    params.mask = HeadStrides { batch: 0, head: 0, row: 9 };
    (params.dropout.seed, params.dropout.site, params.dropout.step) = (77, 5, step);
    (params.dropout.threshold, params.dropout.scale) = (1 << 31, 2.0);
    let keep: Vec<bool> = (0..45).map(|place| place % 4 != 1).collect();
    let mut problem = Problem::new(params, 41);
    (problem.keep, problem.key_lens) = (Some(keep.clone()), Some(vec![9, 6]));
    let (want, want_lse) = problem.forward();

    let (of_queries, of_keys, by_row) = ([2, 4, 5, 8], [2, 2, 9, 8], [0, 2, 1, 3]);
    let (x, g) = (tensor::<T>(q, &of_queries, &problem.q)?, tensor::<T>(q, &of_queries, &problem.g)?);
    let (k, v) = (tensor::<T>(q, &of_keys, &problem.k)?, tensor::<T>(q, &of_keys, &problem.v)?);
    let (keep, lens) = (Tensor::from_values(q, &[5, 9], &keep)?, Tensor::from_values(q, &[2], &[9u32, 6])?);
    let mut y = Tensor::<_, T>::alloc(q, &of_queries)?;
    let plan = AttentionPlan::new(shape, options)?;
    let mut lse = plan.lse(q)?;
    let inputs = AttentionInputs {
        mask: AttentionMask::Keep(keep.at()),
        key_lens: Some(lens.at()),
        step: DropoutStep::At(step),
        ..AttentionInputs::new(x.at().permuted(&by_row)?, k.at().permuted(&by_row)?, v.at().permuted(&by_row)?)
    };
    plan.forward(q, inputs, y.at_mut().permuted(&by_row)?, Some(lse.at_mut()))?;
    unless_close::<T>(&want, &values(q, &y)?, 2.0)?;
    Failure::unless_close(&want_lse, &lse.values(q)?, 1e-6, 1e-5)?;

    let (mut dq, mut dk) = (Tensor::<_, T>::alloc(q, &of_queries)?, Tensor::<_, T>::alloc(q, &of_keys)?);
    let mut dv = Tensor::<_, T>::alloc(q, &of_keys)?;
    let gradients = AttentionGradients {
        q: dq.at_mut().permuted(&by_row)?,
        k: dk.at_mut().permuted(&by_row)?,
        v: dv.at_mut().permuted(&by_row)?,
    };
    let saved = AttentionSaved { y: y.at().permuted(&by_row)?, lse: lse.at() };
    plan.backward(q, inputs, saved, g.at().permuted(&by_row)?, gradients)?;
    for ((name, got), want) in [("dq", dq), ("dk", dk), ("dv", dv)].iter().zip(problem.backward()) {
        unless_near(name, &want, &values(q, got)?, gradient_bound::<T>())?;
    }
    Ok(())
}

/// Decodes rows after a prompt: each step gives the rows of causal attention over all.
fn decoder<T: Real>(q: &Conditioned, [heads, kv_heads, dim]: [usize; 3]) -> Result<(), Failure> {
    const ROWS: usize = 14;
    let sizes = [2, heads, kv_heads, ROWS, ROWS, dim].map(|size| size as u64);
    let problem = Problem::new(AttentionParams { causal: 1, ..packed(sizes) }, 42);
    let (want, _) = problem.forward();
    let x = tensor::<T>(q, &[2, ROWS, heads, dim], &problem.q)?;
    let (k, v) = (&problem.k, &problem.v);
    let (k, v) = (tensor::<T>(q, &[2, ROWS, kv_heads, dim], k)?, tensor::<T>(q, &[2, ROWS, kv_heads, dim], v)?);
    let mut cache = KeyValueCache::new(q, CacheShape { batch: 2, capacity: ROWS, kv_heads, dim })?;
    for range in [0..9, 9..10, 10..11, 11..ROWS] {
        cache.append(q, k.at().narrowed(1, range.clone())?, v.at().narrowed(1, range.clone())?)?;
        let mut y = Tensor::alloc(q, &[2, range.len(), heads, dim])?;
        cache.step(q, x.at().narrowed(1, range.clone())?, None, y.at_mut())?;
        let row = heads * dim;
        let of_batch = |batch: usize| &want[(batch * ROWS + range.start) * row..][..range.len() * row];
        unless_close::<T>(&[of_batch(0), of_batch(1)].concat(), &values(q, &y)?, 1.0)?;
    }
    Ok(())
}

/// Attends from one query to the rows of a cache that each sequence has.
fn ragged<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let mut problem = Problem::new(packed([3, 2, 1, 1, 9, 8]), 43);
    problem.key_lens = Some(vec![9, 0, 4]);
    let (x, k) = (tensor::<T>(q, &[3, 1, 2, 8], &problem.q)?, tensor::<T>(q, &[3, 9, 1, 8], &problem.k)?);
    let (v, lens) = (tensor::<T>(q, &[3, 9, 1, 8], &problem.v)?, Tensor::from_values(q, &[3], &[9u32, 0, 4])?);
    let mut cache = KeyValueCache::new(q, CacheShape { batch: 3, capacity: 12, kv_heads: 1, dim: 8 })?;
    cache.append(q, k.at(), v.at())?;
    let shape = AttentionShape { batch: 3, heads: 2, kv_heads: 1, queries: 1, keys: cache.len(), dim: 8 };
    let plan = AttentionPlan::new(shape, AttentionOptions::default())?;
    let inputs = AttentionInputs::new(x.at(), cache.keys()?, cache.values()?);
    let mut y = Tensor::<_, T>::alloc(q, &[3, 1, 2, 8])?;
    plan.forward(q, AttentionInputs { key_lens: Some(lens.at()), ..inputs }, y.at_mut(), None)?;
    unless_close::<T>(&problem.forward().0, &values(q, &y)?, 1.0)?;
    // The same problem without the cache.
    hold_forward::<T>(q, &problem)
}
