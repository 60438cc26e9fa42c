//! Attention on rows of 64 elements of 16 bits: barriers, instructions of a tile, equal paths.
//!
//! `docs/performance-notes.md` derives times on a device from these counts. The conformance suite
//! checks results.

use std::iter;

use backend_api::{
    Buffer, BufferRef, Queue, Real,
    ops::linalg::{Attention, AttentionBackward, AttentionOps},
};
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
};
use cuda_backend::{CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;
use half::{bf16, f16};

const HEADS: u64 = 2;
const DIM: u64 = 64;
/// Queries or keys of a block.
const ROWS: u64 = 64;
/// Warps of a block.
const WARPS: u64 = 4;
/// Keys or queries of a tile.
const LINES: u64 = 32;
/// Instructions of a warp for a tile of the forward pass, without masks and dropout.
const FORWARD: u64 = 380;
/// The same of both gradient kernels together.
const BACKWARD: u64 = 2453;

#[derive(Clone, Copy, Debug)]
enum Pass {
    Forward,
    Backward,
}

/// The work of one pass over a batch of [`HEADS`] heads.
#[derive(Clone, Copy, Debug)]
struct Work {
    barriers: u64,
    /// Warp instructions of the PTX.
    instructions: u64,
}

impl Work {
    /// Operands are all ones, so that no line takes the path for elements that are not finite.
    fn of(pass: Pass, tokens: u64, causal: bool) -> Self {
        let session = simulate("mem=64M").unwrap();
        let queue = CudaQueue::open(CudaConfig { budget_bytes: Some(32 << 20), ..CudaConfig::default() }).unwrap();
        let params = &parameters(tokens, causal);
        let len = (HEADS * tokens * DIM) as usize;
        let x = queue.upload(&vec![bf16::ONE; len]).unwrap();
        let mut results = [(); 3].map(|()| queue.zeros::<bf16>(len).unwrap());
        let lse = queue.zeros::<f32>((HEADS * tokens) as usize).unwrap();
        let [first, second, third] = results.each_mut().map(|result| result.view_mut());
        let ([q, k, v, y, g], lse) = ([x.view(); 5], lse.view());
        let (key_lens, keep, addend, state) = (None, None, None, None);

        // The launches of the pass alone.
        let before = session.counters().kernels;
        match pass {
            Pass::Forward => {
                let (y, lse) = (first, None);
                queue.attention(Attention { params, q, k, v, key_lens, keep, addend, state, y, lse })
            }
            Pass::Backward => {
                let (dq, dk, dv) = (first, second, third);
                queue.attention_backward(AttentionBackward {
                    params,
                    q,
                    k,
                    v,
                    key_lens,
                    keep,
                    addend,
                    state,
                    y,
                    lse,
                    g,
                    dq,
                    dk,
                    dv,
                })
            }
        }
        .unwrap();
        queue.finish().unwrap();
        let after = session.counters().kernels;
        Self {
            barriers: after.barriers - before.barriers,
            instructions: after.warp_instructions - before.warp_instructions,
        }
    }
}

/// Sizes, strides and causal mask of one batch of [`HEADS`] heads, without dropout.
fn parameters(tokens: u64, causal: bool) -> AttentionParams {
    let strides = HeadStrides::by_head(HEADS, tokens, DIM);
    AttentionParams {
        batch: 1,
        heads: HEADS,
        kv_heads: HEADS,
        queries: tokens,
        keys: tokens,
        dim: DIM,
        q: strides,
        k: strides,
        v: strides,
        y: strides,
        mask: HeadStrides::by_head(HEADS, tokens, tokens),
        causal_offset: 0,
        causal: u32::from(causal),
        scale: 0.125,
        dropout: DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 },
    }
}

/// Queries, keys and values from -2 to 2.
fn operands<T: Real>(params: &AttentionParams) -> [Vec<T>; 3] {
    let mut state = 1_u32;
    [(); 3].map(|()| {
        let element = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            T::from_f32((state >> 8) as f32 / (1 << 22) as f32 - 2.0)
        };
        iter::repeat_with(element).take((HEADS * params.queries * DIM) as usize).collect()
    })
}

/// The results and the logarithms of sums of a device.
fn forward<T: Real>(params: &AttentionParams, keep: Option<&[bool]>) -> (Vec<T>, Vec<f32>) {
    let queue = CudaQueue::open(CudaConfig { budget_bytes: Some(32 << 20), ..CudaConfig::default() }).unwrap();
    let operands = operands::<T>(params).map(|operand| queue.upload(&operand).unwrap());
    let [q, k, v] = operands.each_ref().map(|operand| operand.view());
    let keep = keep.map(|keep| queue.upload(keep).unwrap());
    let mut y = queue.zeros::<T>(q.len()).unwrap();
    let mut lse = queue.zeros::<f32>((HEADS * params.queries) as usize).unwrap();
    let (keep, y_out, lse_out) = (keep.as_ref().map(|keep| keep.view()), y.view_mut(), Some(lse.view_mut()));
    let (key_lens, addend, state) = (None, None, None);
    queue.attention(Attention { params, q, k, v, key_lens, keep, addend, state, y: y_out, lse: lse_out }).unwrap();
    (queue.download(&y).unwrap(), queue.download(&lse).unwrap())
}

/// The same in double precision, by the definition.
fn defined<T: Real>(params: &AttentionParams) -> (Vec<f64>, Vec<f64>) {
    let [q, k, v] =
        operands::<T>(params).map(|operand| operand.into_iter().map(|x| f64::from(x.to_f32())).collect::<Vec<_>>());
    let row = |tensor: &[f64], at: u64| tensor[(at * DIM) as usize..][..DIM as usize].to_vec();
    let (mut y, mut lse) = (Vec::new(), Vec::new());
    for query in 0..HEADS * params.queries {
        let (head, own) = (query / params.queries * params.queries, query % params.queries);
        let keys = if params.causal == 0 { params.keys } else { own + 1 };
        let of_query = row(&q, query);
        let score = |key| of_query.iter().zip(row(&k, head + key)).map(|(a, b)| a * b).sum::<f64>() * 0.125;
        let weights: Vec<f64> = (0..keys).map(|key| score(key).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mut mean = vec![0.0; DIM as usize];
        for (key, weight) in weights.iter().enumerate() {
            for (mean, value) in mean.iter_mut().zip(row(&v, head + key as u64)) {
                *mean += weight / sum * value;
            }
        }
        y.extend(mean);
        lse.push(sum.ln());
    }
    (y, lse)
}

/// Compares a pass with the definition, and with a pass that has the same mask as flags.
///
/// Flags take the path for masked tiles.
/// `rounding` is the greatest relative error of an element.
fn paths_are_right_and_equal<T: Real>(rounding: f64) {
    let session = simulate("mem=64M;checks=sanitize").unwrap();
    for (tokens, causal) in [(128, false), (72, false), (128, true), (200, true)] {
        let params = parameters(tokens, causal);
        let (y, lse) = forward::<T>(&params, None);
        let (expected_y, expected_lse) = defined::<T>(&params);
        for (y, expected) in y.iter().zip(expected_y) {
            let error = (f64::from(y.to_f32()) - expected).abs();
            assert!(error <= rounding * expected.abs() + 2e-5 + 3.0 * rounding, "{y:?}, expected {expected}");
        }
        for (lse, expected) in lse.iter().zip(expected_lse) {
            assert!((f64::from(*lse) - expected).abs() <= 1e-6 * expected.abs() + 1e-5, "{lse}, expected {expected}");
        }

        let flag = |at: u64| !causal || at % tokens <= at / tokens % tokens;
        let keep: Vec<bool> = (0..HEADS * tokens * tokens).map(flag).collect();
        let masked = forward::<T>(&AttentionParams { causal: 0, ..params }, Some(&keep));
        assert!((y, lse) == masked, "{tokens} tokens, causal {causal}: results with flags are others");
    }
    assert_eq!(session.reports(), []);
}

#[test]
fn whole_tiles_of_bf16_match_f64_and_masked_ones() {
    paths_are_right_and_equal::<bf16>(1.0 / 256.0);
}

#[test]
fn whole_tiles_of_f16_match_f64_and_masked_ones() {
    paths_are_right_and_equal::<f16>(1.0 / 2048.0);
}

#[test]
fn forward_pass_reads_the_tiles_up_to_the_diagonal() {
    for blocks in [1, 2, 3, 8] {
        let [all, below] = [false, true].map(|causal| Work::of(Pass::Forward, ROWS * blocks, causal).barriers);
        // One barrier for the queries and two for each tile. A causal block reads the keys up to its last query.
        let of_block = |rows: u64| 1 + 2 * rows / LINES;
        assert_eq!(all, HEADS * blocks * of_block(ROWS * blocks), "{blocks} blocks");
        assert_eq!(below, HEADS * (1..=blocks).map(|block| of_block(ROWS * block)).sum::<u64>(), "{blocks} blocks");
    }
}

#[test]
fn instructions_grow_by_the_documented_number_for_each_tile() {
    for (pass, documented) in [(Pass::Forward, FORWARD), (Pass::Backward, BACKWARD)] {
        let of_warp = |blocks| Work::of(pass, ROWS * blocks, false).instructions / (HEADS * WARPS);
        // A head of n blocks has n ROWS / LINES tiles for each of its blocks.
        let in_square = ROWS / LINES;
        let [one, two] = [1, 2].map(of_warp);
        let tile = (two - 2 * one) / (2 * in_square);
        let block = one - in_square * tile;
        for blocks in [3, 4] {
            assert_eq!(of_warp(blocks), blocks * (block + blocks * in_square * tile), "{pass:?}, {blocks} blocks");
        }
        assert_eq!(tile, documented, "{pass:?}: the table in docs/performance-notes.md has another number");
    }
}
