//! Batches of keys, what the kernels make of them, and what the processor does.

use std::sync::LazyLock;

use backend_api::ops::fss::{CmpAllShape, CmpShape, DcfShape, FssOps};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_sim::exec::Options;

use crate::device::{Call, Done};

/// The processor's queue, the model that kernels must equal bit for bit.
pub(crate) static CPU: LazyLock<CpuQueue> =
    LazyLock::new(|| CpuQueue::open(CpuConfig { allow_table_aes: true, ..CpuConfig::default() }).unwrap());

/// `len` words that look random.
pub(crate) fn words(len: usize, salt: u64) -> Vec<u64> {
    (0..len as u64).map(|i| (i + 1 + (salt << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ i).collect()
}

/// Tells the bitsliced kernel of payload keys that points come in rows; the other takes nothing else.
fn without_offsets(call: Call, kernel: &str) -> Call {
    if kernel.ends_with("_bitsliced") { call.value(&0u64) } else { call }
}

/// Offsets from a first one to 2^`window` behind it.
fn offsets(points: usize, window: u32) -> Vec<u64> {
    (0..points as u64).map(|j| 1_000_000 + (j << window) / (points as u64 - 1).max(1)).collect()
}

fn labels(len: usize, salt: u64) -> Vec<Label> {
    words(2 * len, salt).chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

/// A grid that covers `threads` threads of 256 in blocks along x, and `points` along y.
fn covering(threads: usize, points: usize) -> [u32; 3] {
    [threads.div_ceil(256) as u32, points as u32, 1]
}

/// CMP keys with their secrets and points.
pub(crate) struct CmpBatch {
    pub(crate) params: CmpParams,
    pub(crate) shape: CmpShape,
    pub(crate) alphas: Vec<u64>,
    pub(crate) roots: Vec<Label>,
    pub(crate) points: Vec<u64>,
    pub(crate) corrections: Vec<u128>,
    pub(crate) leaves: Vec<u128>,
}

impl CmpBatch {
    /// Keys that the processor made.
    pub(crate) fn new(count: usize, bits: u32, points: usize) -> Self {
        Self::with_secrets(count, bits, points, 0)
    }

    /// Keys whose roots and thresholds hang on `secret`, at points that do not.
    pub(crate) fn with_secrets(count: usize, bits: u32, points: usize, secret: u64) -> Self {
        let key = PrgKeys::from_nonce([9; 16]).child;
        let params = CmpParams { key, bits, party: 0, count: count as u32, points: points as u32 };
        let shape = CmpShape::new("test", &params).unwrap();
        let [alphas, roots, corrections, leaves] = shape.gen_lengths();
        let (alphas, roots) = (words(alphas, 1 + secret), labels(roots, 9 + secret));
        let (mut corrections, mut leaves) = (vec![0; corrections], vec![0; leaves]);
        CPU.cmp_gen(&params, &alphas, &roots, &mut corrections, &mut leaves).unwrap();
        Self { params, shape, alphas, roots, points: words(count * points, 2), corrections, leaves }
    }

    /// The kernel's corrections and leaves, by a grid of `blocks` blocks.
    pub(crate) fn generate(&self, blocks: u32, options: &Options) -> Done {
        let call = Call::new("fss_cmp_gen").value(&self.params).input(&self.alphas).input(&self.roots);
        let call = call.output::<u128>(self.corrections.len()).output::<u128>(self.leaves.len());
        call.run([blocks, 1, 1], options)
    }

    /// Blocks that make every key.
    pub(crate) fn tiles(&self) -> u32 {
        self.shape.row as u32 / 32
    }

    fn party(&self, party: usize) -> (CmpParams, &[Label], &[u128]) {
        let row = self.shape.row;
        let leaves = if self.shape.leaves == 1 { &self.leaves[party * row..][..row] } else { &self.leaves[..] };
        (CmpParams { party: party as u32, ..self.params }, &self.roots[party * row..][..row], leaves)
    }

    /// The kernel's shares of `party`.
    pub(crate) fn evaluate(&self, party: usize, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_by("fss_cmp_eval", party, grid, options)
    }

    /// The shares of `party` by one of the kernels for them.
    pub(crate) fn evaluate_by(&self, kernel: &'static str, party: usize, grid: [u32; 3], options: &Options) -> Done {
        let (params, roots, leaves) = self.party(party);
        let call = Call::new(kernel).value(&params).input(roots).input(&self.corrections).input(leaves);
        let call = call.input(&self.points);
        call.output::<u32>(self.shape.eval_lengths()[4]).run(grid, options)
    }

    /// The grid that the launch wrapper takes.
    pub(crate) fn grid(&self) -> [u32; 3] {
        covering(self.shape.count, self.shape.points)
    }

    /// The processor's shares of `party`.
    pub(crate) fn expected(&self, party: usize) -> Vec<u32> {
        let (params, roots, leaves) = self.party(party);
        let mut shares = vec![0; self.shape.eval_lengths()[4]];
        CPU.cmp_eval(&params, roots, &self.corrections, leaves, &self.points, &mut shares).unwrap();
        shares
    }

    /// The parameters of an evaluation at [`offsets`] in windows of 2^`window` points.
    fn clustered(&self, party: usize, window: u32) -> CmpWindowParams {
        let CmpParams { key, bits, count, points, .. } = self.params;
        CmpWindowParams { key, bits, party: party as u32, count, points, window, reserved: [0; 3] }
    }

    /// The kernel's shares of `party` at clustered points, the first points of the keys less [`offsets`].
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
        let ((_, roots, leaves), x_hat) = (self.party(party), &self.points[..self.shape.count]);
        let call = Call::new(kernel).value(&self.clustered(party, window)).input(roots);
        let call = call.input(&self.corrections).input(leaves).input(x_hat).input(&offsets(self.shape.points, window));
        call.output::<u32>(self.shape.window_lengths()[5]).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u32> {
        let ((_, roots, leaves), x_hat) = (self.party(party), &self.points[..self.shape.count]);
        let (params, offsets) = (self.clustered(party, window), offsets(self.shape.points, window));
        let mut shares = vec![0; self.shape.window_lengths()[5]];
        CPU.cmp_eval_window(&params, roots, &self.corrections, leaves, x_hat, &offsets, &mut shares).unwrap();
        shares
    }

    /// The parameters of an evaluation of the keys from `first` on at every point, and the number of words it makes.
    fn all(&self, party: usize, first: u32) -> (CmpAllParams, usize) {
        let CmpParams { key, bits, count, .. } = self.params;
        let (party, keys) = (party as u32, count - first);
        let params = CmpAllParams { key, bits, party, count, first, keys, reserved: [0; 3] };
        (params, CmpAllShape::new("test", &params).unwrap().eval_lengths()[3])
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
        let ((_, roots, leaves), (params, len)) = (self.party(party), self.all(party, first));
        let call = Call::new(kernel).value(&params).input(roots).input(&self.corrections).input(leaves);
        call.output::<u128>(len).run([blocks, parts, 1], options)
    }

    /// The processor's.
    pub(crate) fn expected_all(&self, (party, first): (usize, u32)) -> Vec<u128> {
        let ((_, roots, leaves), (params, len)) = (self.party(party), self.all(party, first));
        let mut units = vec![0; len];
        CPU.cmp_eval_all(&params, roots, &self.corrections, leaves, &mut units).unwrap();
        units
    }
}

/// DCF keys with their secrets and points.
pub(crate) struct DcfBatch {
    pub(crate) params: DcfParams,
    pub(crate) shape: DcfShape,
    alphas: Vec<u64>,
    betas: Vec<u64>,
    roots: Vec<Label>,
    points: Vec<u64>,
    pub(crate) corrections: Vec<u128>,
    pub(crate) values: Vec<u64>,
    pub(crate) last: Vec<u64>,
}

impl DcfBatch {
    /// Keys that the processor made, with payloads of `len` words modulo 2^`width`.
    pub(crate) fn new(count: usize, bits: u32, points: usize, payload: (u32, u32)) -> Self {
        Self::with_secrets(count, bits, points, payload, 0)
    }

    /// Keys whose roots, thresholds and payloads hang on `secret`, at points that do not.
    pub(crate) fn with_secrets(count: usize, bits: u32, points: usize, (len, width): (u32, u32), secret: u64) -> Self {
        let (keys, reserved) = (PrgKeys::from_nonce([4; 16]), [0; 2]);
        let (count, points) = (count as u32, points as u32);
        let params = DcfParams { keys, bits, party: 0, count, points, words: len, width, reserved };
        let shape = DcfShape::new("test", &params).unwrap();
        let [alphas, betas, roots, corrections, values, last] = shape.gen_lengths();
        let (alphas, betas) = (words(alphas, 1 + secret), words(betas, 3 + secret));
        let roots = labels(roots, 9 + secret);
        let (mut corrections, mut values, mut last) = (vec![0; corrections], vec![0; values], vec![0; last]);
        CPU.dcf_gen(&params, &alphas, &betas, &roots, &mut corrections, &mut values, &mut last).unwrap();
        let points = words(shape.count * shape.points, 2);
        Self { params, shape, alphas, betas, roots, points, corrections, values, last }
    }

    /// The kernel's corrections, values and last values, by a grid of `blocks` blocks.
    pub(crate) fn generate(&self, blocks: u32, options: &Options) -> Done {
        let call = Call::new("fss_dcf_gen").value(&self.params);
        let call =
            call.input(&self.alphas).input(&self.betas).input(&self.roots).output::<u128>(self.corrections.len());
        call.output::<u64>(self.values.len()).output::<u64>(self.last.len()).run([blocks, 1, 1], options)
    }

    /// Blocks that make every key.
    pub(crate) fn tiles(&self) -> u32 {
        self.shape.row as u32 / 32
    }

    fn party(&self, party: usize) -> (DcfParams, &[Label]) {
        let row = self.shape.row;
        (DcfParams { party: party as u32, ..self.params }, &self.roots[party * row..][..row])
    }

    /// The kernel's shares of `party`.
    pub(crate) fn evaluate(&self, party: usize, grid: [u32; 3], options: &Options) -> Done {
        self.evaluate_by("fss_dcf_eval", party, grid, options)
    }

    /// The shares of `party` by one of the kernels for them.
    pub(crate) fn evaluate_by(&self, kernel: &'static str, party: usize, grid: [u32; 3], options: &Options) -> Done {
        let (params, roots) = self.party(party);
        let call = Call::new(kernel).value(&params).input(roots).input(&self.corrections).input(&self.values);
        let call = without_offsets(call.input(&self.last).input(&self.points), kernel);
        call.output::<u64>(self.shape.eval_lengths()[5]).run(grid, options)
    }

    /// The grid that the launch wrapper takes.
    pub(crate) fn grid(&self) -> [u32; 3] {
        covering(self.shape.count, self.shape.points)
    }

    /// The processor's shares of `party`.
    pub(crate) fn expected(&self, party: usize) -> Vec<u64> {
        let (params, roots) = self.party(party);
        let mut shares = vec![0; self.shape.eval_lengths()[5]];
        CPU.dcf_eval(&params, roots, &self.corrections, &self.values, &self.last, &self.points, &mut shares).unwrap();
        shares
    }

    /// The parameters of an evaluation at [`offsets`] in windows of 2^`window` points.
    fn clustered(&self, party: usize, window: u32) -> DcfWindowParams {
        let DcfParams { keys, bits, count, points, words, width, .. } = self.params;
        DcfWindowParams { keys, bits, party: party as u32, count, points, words, width, window, reserved: 0 }
    }

    /// The kernel's shares of `party` at clustered points, the first points of the keys less [`offsets`].
    pub(crate) fn evaluate_window(&self, party: usize, window: u32, grid: [u32; 3], options: &Options) -> Done {
        let ((_, roots), x_hat) = (self.party(party), &self.points[..self.shape.count]);
        let call = Call::new("fss_dcf_eval_window").value(&self.clustered(party, window)).input(roots);
        let call = call.input(&self.corrections).input(&self.values).input(&self.last).input(x_hat);
        let call = call.input(&offsets(self.shape.points, window));
        call.output::<u64>(self.shape.window_lengths()[6]).run(grid, options)
    }

    /// The processor's.
    pub(crate) fn expected_window(&self, party: usize, window: u32) -> Vec<u64> {
        let ((_, roots), x_hat) = (self.party(party), &self.points[..self.shape.count]);
        let (params, offsets) = (self.clustered(party, window), offsets(self.shape.points, window));
        let mut shares = vec![0; self.shape.window_lengths()[6]];
        let (corrections, values, last) = (&self.corrections, &self.values, &self.last);
        CPU.dcf_eval_window(&params, roots, corrections, values, last, x_hat, &offsets, &mut shares).unwrap();
        shares
    }
}
