//! Batches of keys, with the kernels' results and the CPU's.

use core::ops::Range;
use std::sync::LazyLock;

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fss::{
        CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, CmpShape, DcfEvalWindow, DcfGen, DcfKeys, DcfShape, FssOps,
    },
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
pub(crate) static CPU: LazyLock<CpuQueue> = LazyLock::new(|| CpuQueue::open(CpuConfig::default()).unwrap());

pub(crate) fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u64(..)).take(len).collect()
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

/// Roots, corrections and leaves.
type CmpSections<Q> = (<Q as Queue>::Buf<Label>, <Q as Queue>::Buf<u128>, <Q as Queue>::Buf<u128>);

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
        let (corrections, leaves) = (Vec::new(), Vec::new());
        let mut batch = Self { params, shape, alphas, roots, x_hat: words(count, 2), corrections, leaves };
        [batch.corrections, batch.leaves] = batch.made_on(&*CPU).unwrap();
        batch
    }

    /// The corrections and leaves that a queue makes.
    pub(crate) fn made_on<Q: FssOps>(&self, q: &Q) -> Result<[Vec<u128>; 2], BackendError> {
        let CmpShape { row, levels, .. } = self.shape;
        let (alphas, roots) = (q.upload(&self.alphas)?, q.upload(&self.roots)?);
        let (mut corrections, mut leaves) = (q.zeros::<u128>(levels * row)?, q.zeros::<u128>(2 * row)?);
        q.cmp_gen(CmpGen {
            params: &self.params,
            alphas: alphas.view(),
            roots: roots.view(),
            corrections: corrections.view_mut(),
            leaves: leaves.view_mut(),
        })?;
        Ok([q.download(&corrections)?, q.download(&leaves)?])
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

    /// Passes the keys of `party`.
    fn keyed(&self, call: KernelCall, party: usize) -> KernelCall {
        let sections = self.sections_on(&*CPU).unwrap();
        let keys = self.keys_of::<CpuQueue>(party, &sections).unwrap();
        call.input(keys.roots).input(keys.corrections).input(keys.leaves)
    }

    /// The keys of `party` in sections of both parties.
    fn mine(&self, party: usize) -> Range<usize> {
        party * self.shape.row..(party + 1) * self.shape.row
    }

    /// Roots, corrections and leaves of both parties on a queue.
    fn sections_on<Q: FssOps>(&self, q: &Q) -> Result<CmpSections<Q>, BackendError> {
        Ok((q.upload(&self.roots)?, q.upload(&self.corrections)?, q.upload(&self.leaves)?))
    }

    fn keys_of<'a, Q: FssOps>(
        &self,
        party: usize,
        (roots, corrections, leaves): &'a CmpSections<Q>,
    ) -> Result<CmpKeys<'a, Q>, BackendError> {
        let mine = self.mine(party);
        let leaves = if self.shape.leaves == 1 { leaves.slice(mine.clone())? } else { leaves.view() };
        Ok(CmpKeys { roots: roots.slice(mine)?, corrections: corrections.view(), leaves })
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
        let call = self.keyed(KernelCall::new(kernel).value(&self.clustered(party, window)), party);
        let call = call.input(&self.x_hat).input(&offsets(self.shape.points, window, self.params.bits));
        call.output::<u32>(self.share_words()).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u32> {
        self.window_on(&*CPU, party, window).unwrap()
    }

    /// The shares at clustered points by the op of a queue.
    pub(crate) fn window_on<Q: FssOps>(&self, q: &Q, party: usize, window: u32) -> Result<Vec<u32>, BackendError> {
        let (params, x_hat) = (self.clustered(party, window), q.upload(&self.x_hat)?);
        let offsets = q.upload(&offsets(self.shape.points, window, self.params.bits))?;
        let (sections, mut shares) = (self.sections_on(q)?, q.zeros(self.share_words())?);
        q.cmp_eval_window(CmpEvalWindow {
            params: &params,
            keys: self.keys_of(party, &sections)?,
            x_hat: x_hat.view(),
            offsets: offsets.view(),
            shares: shares.view_mut(),
        })?;
        q.download(&shares)
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
        let call = self.keyed(KernelCall::new(kernel).value(&params), party);
        call.output::<u128>(len).run([blocks, parts, 1], options)
    }

    /// The shares at every point by the op of a queue.
    pub(crate) fn all_on<Q: FssOps>(&self, q: &Q, (party, first): (usize, u32)) -> Result<Vec<u128>, BackendError> {
        let (params, len) = self.all(party, first);
        let (sections, mut units) = (self.sections_on(q)?, q.zeros(len)?);
        let keys = self.keys_of(party, &sections)?;
        q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: units.view_mut() })?;
        q.download(&units)
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
        let (roots, x_hat) = (labels(2 * row, 9 + secret), words(shape.count, 2));
        let (corrections, values, last) = (Vec::new(), Vec::new(), Vec::new());
        let mut batch = Self { params, shape, alphas, betas, roots, x_hat, corrections, values, last };
        (batch.corrections, [batch.values, batch.last]) = batch.made_on(&*CPU).unwrap();
        batch
    }

    /// The corrections, and the values and last values, that a queue makes.
    pub(crate) fn made_on<Q: FssOps>(&self, q: &Q) -> Result<(Vec<u128>, [Vec<u64>; 2]), BackendError> {
        let DcfShape { row, levels, words, .. } = self.shape;
        let (alphas, betas, roots) = (q.upload(&self.alphas)?, q.upload(&self.betas)?, q.upload(&self.roots)?);
        let mut corrections = q.zeros::<u128>(levels * row)?;
        let (mut values, mut last) = (q.zeros::<u64>(levels * words * row)?, q.zeros::<u64>(words * row)?);
        q.dcf_gen(DcfGen {
            params: &self.params,
            alphas: alphas.view(),
            betas: betas.view(),
            roots: roots.view(),
            corrections: corrections.view_mut(),
            values: values.view_mut(),
            last: last.view_mut(),
        })?;
        Ok((q.download(&corrections)?, [q.download(&values)?, q.download(&last)?]))
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

    /// Passes the keys of `party`.
    fn keyed(&self, call: KernelCall, party: usize) -> KernelCall {
        let call = call.input(&self.roots[party * self.shape.row..][..self.shape.row]).input(&self.corrections);
        call.input(&self.values).input(&self.last)
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
        let call = self.keyed(KernelCall::new(kernel).value(&self.clustered(party, window)), party);
        let call = call.input(&self.x_hat).input(&offsets(self.shape.points, window, self.params.bits));
        call.output::<u64>(self.share_words()).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u64> {
        self.window_on(&*CPU, party, window).unwrap()
    }

    /// The shares at clustered points by the op of a queue.
    pub(crate) fn window_on<Q: FssOps>(&self, q: &Q, party: usize, window: u32) -> Result<Vec<u64>, BackendError> {
        let (params, row, x_hat) = (self.clustered(party, window), self.shape.row, q.upload(&self.x_hat)?);
        let offsets = q.upload(&offsets(self.shape.points, window, self.params.bits))?;
        let (roots, corrections) = (q.upload(&self.roots)?, q.upload(&self.corrections)?);
        let (values, last) = (q.upload(&self.values)?, q.upload(&self.last)?);
        let mut shares = q.zeros(self.share_words())?;
        let (roots, corrections) = (roots.slice(party * row..(party + 1) * row)?, corrections.view());
        q.dcf_eval_window(DcfEvalWindow {
            params: &params,
            keys: DcfKeys { roots, corrections, values: values.view(), last: last.view() },
            x_hat: x_hat.view(),
            offsets: offsets.view(),
            shares: shares.view_mut(),
        })?;
        q.download(&shares)
    }
}
