//! Attention on rows of 16-bit elements: barriers, instructions, matrix products, equal bits.
//!
//! `docs/performance-notes.md` derives times on a device from these counts. The conformance suite
//! checks results.

use std::{borrow::Cow, iter};

use backend_api::{
    Buffer, BufferRef, Queue, Real,
    ops::linalg::{Attention, AttentionBackward, AttentionOps},
};
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
};
use cuda_backend::{CudaConfig, CudaQueue, KernelSource, ModuleText};
use cuda_sim::driver::simulate;
use half::{bf16, f16};
use sha2::{Digest, Sha256};

const HEADS: u64 = 2;
/// Elements of a row of the table in `docs/performance-notes.md`.
const DIM: u64 = 64;
/// Queries or keys of a block.
const ROWS: u64 = 64;
/// Warps of a block.
const WARPS: u64 = 4;
/// Keys or queries of a tile.
const LINES: u64 = 32;
/// Instructions of a warp for a tile of the forward pass, without masks and dropout.
const FORWARD: u64 = 383;
/// The same of both gradient kernels together.
const BACKWARD: u64 = 2460;

#[derive(Clone, Copy, Debug)]
enum AttentionPass {
    Forward,
    Backward,
}

/// The work of one pass over a batch of [`HEADS`] heads.
#[derive(Clone, Copy, Debug)]
struct PassCost {
    barriers: u64,
    /// Warp instructions of the PTX.
    instructions: u64,
}

impl PassCost {
    /// The work of the embedded kernels.
    fn of(pass: AttentionPass, params: &AttentionParams) -> Self {
        Self::by(KernelSource::Embedded, pass, params)
    }

    /// Operands are all ones, so that no line takes the path for elements that are not finite.
    fn by(kernels: KernelSource, pass: AttentionPass, params: &AttentionParams) -> Self {
        let session = simulate("mem=64M").unwrap();
        let config = CudaConfig { kernels, budget_bytes: Some(32 << 20), ..CudaConfig::default() };
        let queue = CudaQueue::open(config).unwrap();
        let (tokens, len) = (params.queries, (HEADS * params.queries * params.dim) as usize);
        let x = queue.upload(&vec![bf16::ONE; len]).unwrap();
        let mut results = [(); 3].map(|()| queue.zeros::<bf16>(len).unwrap());
        let lse = queue.zeros::<f32>((HEADS * tokens) as usize).unwrap();
        let [first, second, third] = results.each_mut().map(|result| result.view_mut());
        let ([q, k, v, y, g], lse) = ([x.view(); 5], lse.view());
        let (key_lens, keep, addend, state) = (None, None, None, None);

        // The launches of the pass alone.
        let before = session.counters().kernels;
        match pass {
            AttentionPass::Forward => {
                let (y, lse) = (first, None);
                queue.attention(Attention { params, q, k, v, key_lens, keep, addend, state, y, lse })
            }
            AttentionPass::Backward => {
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
fn parameters(tokens: u64, dim: u64, causal: bool) -> AttentionParams {
    let strides = HeadStrides::by_head(HEADS, tokens, dim);
    AttentionParams {
        batch: 1,
        heads: HEADS,
        kv_heads: HEADS,
        queries: tokens,
        keys: tokens,
        dim,
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

/// Queries, keys, values and gradients from -2 to 2.
fn operands<T: Real, const N: usize>(params: &AttentionParams) -> [Vec<T>; N] {
    let mut state = 1_u32;
    [(); N].map(|()| {
        let element = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            T::from_f32((state >> 8) as f32 / (1 << 22) as f32 - 2.0)
        };
        iter::repeat_with(element).take((HEADS * params.queries * params.dim) as usize).collect()
    })
}

/// The results and the logarithms of sums of a device.
fn forward<T: Real>(params: &AttentionParams, keep: Option<&[bool]>) -> (Vec<T>, Vec<f32>) {
    let queue = CudaQueue::open(CudaConfig { budget_bytes: Some(32 << 20), ..CudaConfig::default() }).unwrap();
    let operands = operands::<T, 3>(params).map(|operand| queue.upload(&operand).unwrap());
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
        operands::<T, 3>(params).map(|operand| operand.into_iter().map(|x| f64::from(x.to_f32())).collect::<Vec<_>>());
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
        let params = parameters(tokens, DIM, causal);
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
        let work = |causal| PassCost::of(AttentionPass::Forward, &parameters(ROWS * blocks, DIM, causal));
        let [all, below] = [false, true].map(|causal| work(causal).barriers);
        // One barrier for the queries and two for each tile. A causal block reads the keys up to its last query.
        let of_block = |rows: u64| 1 + 2 * rows / LINES;
        assert_eq!(all, HEADS * blocks * of_block(ROWS * blocks), "{blocks} blocks");
        assert_eq!(below, HEADS * (1..=blocks).map(|block| of_block(ROWS * block)).sum::<u64>(), "{blocks} blocks");
    }
}

#[test]
fn instructions_grow_by_the_documented_number_for_each_tile() {
    for (pass, documented) in [(AttentionPass::Forward, FORWARD), (AttentionPass::Backward, BACKWARD)] {
        let work = |blocks| PassCost::of(pass, &parameters(ROWS * blocks, DIM, false));
        let of_warp = |blocks| work(blocks).instructions / (HEADS * WARPS);
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

/// The module of attention with each matrix product executed twice, for the same result.
fn with_products_twice() -> ModuleText {
    const PTX: &str = include_str!("../ptx/linalg_attention.ptx");
    const MANIFEST: &str = include_str!("../ptx/linalg_attention.json");
    let is_product = |line: &str| line.trim_start().starts_with("mma.sync.");
    let lines = PTX.lines().flat_map(|line| iter::repeat_n(line, if is_product(line) { 2 } else { 1 }));
    let ptx = lines.collect::<Vec<_>>().join("\n") + "\n";
    let digest = |ptx: &str| Sha256::digest(ptx).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let manifest = MANIFEST.replace(&digest(PTX), &digest(&ptx));
    ModuleText { name: "linalg_attention".into(), ptx: Cow::Owned(ptx), manifest: Cow::Owned(manifest) }
}

#[test]
fn matrix_products_are_those_of_each_16_elements_of_a_row() {
    let twice = KernelSource::Texts(vec![with_products_twice()]);
    for (dim, steps) in [(1, 1), (16, 1), (17, 2), (32, 2), (48, 3), (64, 4), (65, 5), (80, 5), (96, 6), (128, 8)] {
        let params = parameters(ROWS, dim, false);
        // A step of 16 elements takes 4 products for 16 rows and a tile of lines. The forward pass has a product of
        // tiles for the scores and one for the results, the kernel for keys four and the kernel for queries three.
        for (pass, of_tiles) in [(AttentionPass::Forward, 2), (AttentionPass::Backward, 4 + 3)] {
            let extra =
                PassCost::by(twice.clone(), pass, &params).instructions - PassCost::of(pass, &params).instructions;
            assert_eq!(extra, HEADS * WARPS * ROWS / LINES * of_tiles * 4 * steps, "{pass:?}, {dim} elements");
        }
    }
}

/// The bits of results, gradients and logarithms of sums, of the first `dim` elements of a row.
fn both_passes<T: Real>(params: &AttentionParams, operands: [Vec<T>; 4], dim: u64) -> ([Vec<u32>; 4], Vec<u32>) {
    let queue = CudaQueue::open(CudaConfig { budget_bytes: Some(32 << 20), ..CudaConfig::default() }).unwrap();
    let operands = operands.map(|operand| queue.upload(&operand).unwrap());
    let [q, k, v, g] = operands.each_ref().map(|operand| operand.view());
    let mut results = [(); 4].map(|()| queue.zeros::<T>(q.len()).unwrap());
    let mut lse = queue.zeros::<f32>((HEADS * params.queries) as usize).unwrap();
    let (key_lens, keep, addend, state) = (None, None, None, None);

    let [y, dq, dk, dv] = results.each_mut();
    let (y_out, lse_out) = (y.view_mut(), Some(lse.view_mut()));
    queue.attention(Attention { params, q, k, v, key_lens, keep, addend, state, y: y_out, lse: lse_out }).unwrap();
    let (y, lse_in) = (y.view(), lse.view());
    let [dq, dk, dv] = [dq, dk, dv].map(|gradient| gradient.view_mut());
    let backward = AttentionBackward { params, q, k, v, key_lens, keep, addend, state, y, lse: lse_in, g, dq, dk, dv };
    queue.attention_backward(backward).unwrap();

    let bits = |all: Vec<T>| {
        let rows = all.chunks(params.dim as usize).flat_map(|row| &row[..dim as usize]);
        rows.map(|x| x.to_f32().to_bits()).collect()
    };
    let results = results.map(|result| bits(queue.download(&result).unwrap()));
    (results, queue.download(&lse).unwrap().into_iter().map(f32::to_bits).collect())
}

/// Compares short rows with the same rows padded with zeros to the greatest length of a kernel.
///
/// A key has a NaN, and another key and value infinite elements, which some queries read.
fn short_rows_have_the_bits_of_padded_ones<T: Real>() {
    let session = simulate("mem=64M;checks=sanitize").unwrap();
    let of_64 = [1, 10, 16, 20, 32, 48].map(|dim| (dim, 64));
    for (dim, longest) in of_64.into_iter().chain([66, 80, 112].map(|dim| (dim, 128))) {
        let short = parameters(72, dim, true);
        let mut operands = operands::<T, 4>(&short);
        for (operand, row, x) in [(1, 70, f32::NAN), (1, 50, f32::INFINITY), (2, 60, f32::NEG_INFINITY)] {
            operands[operand][row * dim as usize] = T::from_f32(x);
        }
        let padded = operands.each_ref().map(|operand| {
            let zeros = || iter::repeat_n(T::from_f32(0.0), (longest - dim) as usize);
            operand.chunks(dim as usize).flat_map(|row| row.iter().copied().chain(zeros())).collect()
        });
        let expected = both_passes::<T>(&parameters(72, longest, true), padded, dim);
        assert!(both_passes::<T>(&short, operands, dim) == expected, "rows of {dim} elements have other bits");
    }
    assert_eq!(session.reports(), []);
}

#[test]
fn short_rows_of_bf16_have_the_bits_of_rows_padded_with_zeros() {
    short_rows_have_the_bits_of_padded_ones::<bf16>();
}

#[test]
fn short_rows_of_f16_have_the_bits_of_rows_padded_with_zeros() {
    short_rows_have_the_bits_of_padded_ones::<f16>();
}
