//! Batches of keys, with the kernels' results and the CPU's.

use std::sync::LazyLock;

use backend_api::ops::fss::{
    CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, CmpShape, DcfEvalWindow, DcfGen, DcfKeys, DcfShape, FssOps,
};
use core_types::{
    Label, PrgKeys, Ring,
    cmp::{cmp_blocks, cmp_leaves, cmp_levels},
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, padded},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_sim::exec::Options;

use crate::fss_kernels::device::{Done, KernelCall};

/// The processor's queue, the model that kernels must equal bit for bit.
static CPU: LazyLock<CpuQueue> = LazyLock::new(|| CpuQueue::open(CpuConfig::default()).unwrap());

pub(crate) fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u64(..)).take(len).collect()
}

fn with_cmp_keys(call: KernelCall, keys: &CmpKeys<'_, CpuQueue>) -> KernelCall {
    call.input(keys.roots).input(keys.corrections).input(keys.leaves)
}

fn with_dcf_keys(call: KernelCall, keys: &DcfKeys<'_, CpuQueue>) -> KernelCall {
    call.input(keys.roots).input(keys.corrections).input(keys.values).input(keys.last)
}

/// Offsets from a first one to 2^`window` past it; anywhere for a window of all `bits` bits.
fn offsets(points: usize, window: u32, bits: u32) -> Vec<u64> {
    if window == bits {
        return words(points, 2);
    }
    (0..points as u64).map(|j| 1_000_000 + (j << window) / (points as u64 - 1).max(1)).collect()
}

fn labels(len: usize, seed: u64) -> Vec<Label> {
    words(2 * len, seed).chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

/// A grid that covers `threads` threads of 256 in blocks along x, and `points` along y.
fn covering(threads: usize, points: usize) -> [u32; 3] {
    [threads.div_ceil(256) as u32, points as u32, 1]
}

/// CMP keys with their secrets and points.
pub(crate) struct CmpBatch {
    pub(crate) params: CmpGenParams,
    pub(crate) shape: CmpShape,
    pub(crate) alphas: Vec<u64>,
    pub(crate) roots: Vec<Label>,
    /// Masked inputs.
    pub(crate) x_hat: Vec<u64>,
    pub(crate) corrections: Vec<u128>,
    pub(crate) leaves: Vec<u128>,
}

impl CmpBatch {
    /// Keys that the processor made.
    pub(crate) fn new(count: usize, bits: u32, points: usize) -> Self {
        Self::with_secrets(count, bits, points, 0)
    }

    /// Keys whose roots and thresholds depend on `secret`, at points that do not.
    pub(crate) fn with_secrets(count: usize, bits: u32, points: usize, secret: u64) -> Self {
        let key = PrgKeys::from_nonce([9; 16]).child;
        let params = CmpGenParams { key, bits, count: count as u32, reserved: [0; 2] };
        let (row, levels, leaves) = (padded(params.count), cmp_levels(bits) as usize, cmp_leaves(bits) as usize);
        let shape = CmpShape { row, count, points, levels, leaves };
        let (alphas, roots) = (words(count, 1 + secret), labels(2 * row, 9 + secret));
        let (mut corrections, mut leaves) = (vec![0; levels * row], vec![0; 2 * row]);
        CPU.cmp_gen(CmpGen {
            params: &params,
            alphas: &alphas,
            roots: &roots,
            corrections: &mut corrections,
            leaves: &mut leaves,
        })
        .unwrap();
        Self { params, shape, alphas, roots, x_hat: words(count, 2), corrections, leaves }
    }

    /// The kernel's corrections and leaves, by a grid of `blocks` blocks.
    pub(crate) fn generate(&self, blocks: u32, options: &Options) -> Done {
        let call = KernelCall::new("fss_cmp_gen").value(&self.params).input(&self.alphas).input(&self.roots);
        let call = call.output::<u128>(self.corrections.len()).output::<u128>(self.leaves.len());
        call.run([blocks, 1, 1], options)
    }

    /// Blocks that make every key.
    pub(crate) fn tiles(&self) -> u32 {
        self.shape.row as u32 / 32
    }

    fn keys(&self, party: usize) -> CmpKeys<'_, CpuQueue> {
        let row = self.shape.row;
        let leaves = if self.shape.leaves == 1 { &self.leaves[party * row..][..row] } else { &self.leaves[..] };
        CmpKeys { roots: &self.roots[party * row..][..row], corrections: &self.corrections, leaves }
    }

    /// Words of shares at all points.
    fn share_words(&self) -> usize {
        self.shape.points * self.shape.row / 32
    }

    /// The kernel's shares of `party` at points anywhere.
    pub(crate) fn evaluate(&self, party: usize, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_window(party, self.params.bits, grid, options)
    }

    /// The grid that gives each point a block.
    pub(crate) fn grid(&self) -> [u32; 3] {
        covering(self.shape.count, self.shape.points)
    }

    /// The processor's shares of `party` at points anywhere.
    pub(crate) fn expected(&self, party: usize) -> Vec<u32> {
        self.expected_window(party, self.params.bits)
    }

    /// The parameters of an evaluation at [`offsets`] in windows of 2^`window` points.
    fn clustered(&self, party: usize, window: u32) -> CmpWindowParams {
        let (CmpGenParams { key, bits, count, .. }, points) = (self.params, self.shape.points as u32);
        CmpWindowParams { key, bits, party: party as u32, count, points, window, reserved: [0; 3] }
    }

    /// The kernel's shares of `party` at clustered points, the masked inputs less [`offsets`].
    pub(crate) fn evaluate_window(&self, party: usize, window: u32, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_window_by("fss_cmp_eval_window", (party, window), grid, options)
    }

    /// The shares at clustered points by one of the kernels for them.
    pub(crate) fn evaluate_window_by(
        &self,
        kernel: &'static str,
        (party, window): (usize, u32),
        grid: [u32; 3],
        options: &Options,
    ) -> Done {
        let call = with_cmp_keys(KernelCall::new(kernel).value(&self.clustered(party, window)), &self.keys(party));
        let call = call.input(&self.x_hat).input(&offsets(self.shape.points, window, self.params.bits));
        call.output::<u32>(self.share_words()).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u32> {
        let (params, keys, x_hat) = (self.clustered(party, window), self.keys(party), &self.x_hat);
        let (offsets, mut shares) = (offsets(self.shape.points, window, self.params.bits), vec![0; self.share_words()]);
        CPU.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets: &offsets, shares: &mut shares })
            .unwrap();
        shares
    }

    /// The parameters of an evaluation of the keys from `first` on at every point, and the number of words it makes.
    fn all(&self, party: usize, first: u32) -> (CmpAllParams, usize) {
        let CmpGenParams { key, bits, count, .. } = self.params;
        let (party, keys) = (party as u32, count - first);
        let params = CmpAllParams { key, bits, party, count, first, keys, reserved: [0; 3] };
        (params, cmp_blocks(bits) as usize * keys as usize)
    }

    /// The kernel's shares of `party` at every point, for the keys from `first` on, in `parts` parts by `blocks` blocks
    /// each.
    pub(crate) fn evaluate_all(&self, of: (usize, u32), grid: [u32; 2], options: &Options) -> Done {
        self.evaluate_all_by("fss_cmp_eval_all", of, grid, options)
    }

    /// The shares at every point by one of the kernels for them.
    pub(crate) fn evaluate_all_by(
        &self,
        kernel: &'static str,
        (party, first): (usize, u32),
        [blocks, parts]: [u32; 2],
        options: &Options,
    ) -> Done {
        let (params, len) = self.all(party, first);
        let call = with_cmp_keys(KernelCall::new(kernel).value(&params), &self.keys(party));
        call.output::<u128>(len).run([blocks, parts, 1], options)
    }

    /// The processor's.
    pub(crate) fn expected_all(&self, (party, first): (usize, u32)) -> Vec<u128> {
        let (params, len) = self.all(party, first);
        let mut units = vec![0; len];
        CPU.cmp_eval_all(CmpEvalAll { params: &params, keys: self.keys(party), units: &mut units }).unwrap();
        units
    }
}

/// DCF keys with their secrets and points.
pub(crate) struct DcfBatch {
    pub(crate) params: DcfGenParams,
    pub(crate) shape: DcfShape,
    alphas: Vec<u64>,
    betas: Vec<u64>,
    roots: Vec<Label>,
    x_hat: Vec<u64>,
    pub(crate) corrections: Vec<u128>,
    pub(crate) values: Vec<u64>,
    pub(crate) last: Vec<u64>,
}

impl DcfBatch {
    /// Keys that the processor made, with payloads of `len` words modulo 2^`width`.
    pub(crate) fn new(count: usize, bits: u32, points: usize, payload: (u32, u32)) -> Self {
        Self::with_secrets(count, bits, points, payload, 0)
    }

    /// Keys whose roots, thresholds and payloads depend on `secret`, at points that do not.
    pub(crate) fn with_secrets(count: usize, bits: u32, points: usize, (len, width): (u32, u32), secret: u64) -> Self {
        let keys = PrgKeys::from_nonce([4; 16]);
        let (row, levels) = (padded(count as u32), bits as usize);
        let shape = DcfShape { row, count, points, levels, words: len as usize, width: Ring::new(width).unwrap() };
        let params = DcfGenParams { keys, bits, count: count as u32, words: len, width };
        let (alphas, betas) = (words(shape.count, 1 + secret), words(shape.words * shape.count, 3 + secret));
        let roots = labels(2 * row, 9 + secret);
        let (mut corrections, mut last) = (vec![0; levels * row], vec![0; shape.words * row]);
        let mut values = vec![0; levels * shape.words * row];
        CPU.dcf_gen(DcfGen {
            params: &params,
            alphas: &alphas,
            betas: &betas,
            roots: &roots,
            corrections: &mut corrections,
            values: &mut values,
            last: &mut last,
        })
        .unwrap();
        let x_hat = words(shape.count, 2);
        Self { params, shape, alphas, betas, roots, x_hat, corrections, values, last }
    }

    /// The kernel's corrections, values and last values, by a grid of `blocks` blocks.
    pub(crate) fn generate(&self, blocks: u32, options: &Options) -> Done {
        let call = KernelCall::new("fss_dcf_gen").value(&self.params);
        let call =
            call.input(&self.alphas).input(&self.betas).input(&self.roots).output::<u128>(self.corrections.len());
        call.output::<u64>(self.values.len()).output::<u64>(self.last.len()).run([blocks, 1, 1], options)
    }

    /// Blocks that make every key.
    pub(crate) fn tiles(&self) -> u32 {
        self.shape.row as u32 / 32
    }

    fn keys(&self, party: usize) -> DcfKeys<'_, CpuQueue> {
        let roots = &self.roots[party * self.shape.row..][..self.shape.row];
        DcfKeys { roots, corrections: &self.corrections, values: &self.values, last: &self.last }
    }

    /// Shares at all points.
    fn share_words(&self) -> usize {
        self.shape.points * self.shape.words * self.shape.count
    }

    /// The kernel's shares of `party` at points anywhere.
    pub(crate) fn evaluate(&self, party: usize, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_window(party, self.params.bits, grid, options)
    }

    /// The grid that gives each point a block.
    pub(crate) fn grid(&self) -> [u32; 3] {
        covering(self.shape.count, self.shape.points)
    }

    /// The processor's shares of `party` at points anywhere.
    pub(crate) fn expected(&self, party: usize) -> Vec<u64> {
        self.expected_window(party, self.params.bits)
    }

    /// The parameters of an evaluation at [`offsets`] in windows of 2^`window` points.
    fn clustered(&self, party: usize, window: u32) -> DcfWindowParams {
        let (DcfGenParams { keys, bits, count, words, width }, points) = (self.params, self.shape.points as u32);
        DcfWindowParams { keys, bits, party: party as u32, count, points, words, width, window, reserved: 0 }
    }

    /// The kernel's shares of `party` at clustered points, the masked inputs less [`offsets`].
    pub(crate) fn evaluate_window(&self, party: usize, window: u32, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_window_by("fss_dcf_eval_window", (party, window), grid, options)
    }

    /// The shares at clustered points by one of the kernels for them.
    pub(crate) fn evaluate_window_by(
        &self,
        kernel: &'static str,
        (party, window): (usize, u32),
        grid: [u32; 3],
        options: &Options,
    ) -> Done {
        let call = with_dcf_keys(KernelCall::new(kernel).value(&self.clustered(party, window)), &self.keys(party));
        let call = call.input(&self.x_hat).input(&offsets(self.shape.points, window, self.params.bits));
        call.output::<u64>(self.share_words()).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u64> {
        let (params, keys, x_hat) = (self.clustered(party, window), self.keys(party), &self.x_hat);
        let (offsets, mut shares) = (offsets(self.shape.points, window, self.params.bits), vec![0; self.share_words()]);
        CPU.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets: &offsets, shares: &mut shares })
            .unwrap();
        shares
    }
}
