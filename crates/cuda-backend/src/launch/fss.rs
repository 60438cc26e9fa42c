//! Launches of the function-secret-sharing kernels.
//!
//! Evaluation and generation give each thread of the grid one key, or a quarter of one, at a time; kernels stride over
//! what a smaller grid leaves. For each kernel that evaluates keys there is one that does so by bitsliced AES, with the
//! same results; that of payload keys walks to each point from the root, also where points are clustered. Truth tables
//! need no AES.

use backend_api::{BackendError, BufferMut};
use core_types::{
    Label,
    cmp::{CMP_TABLE_BITS, cmp_blocks},
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

use super::Launch;
use crate::{AesKernel, CudaMut, CudaQueue, CudaRef};

/// Blocks along y; more points than this are left to the stride.
const MOST_POINTS: u32 = 65_535;

/// Keys that a block makes at a time, and to a multiple of which rows are padded.
const KEYS_MADE: u32 = 32;

/// Blocks of `aes_ctr_fill` that every multiprocessor holds at once by its bound of registers.
const FILLING: u32 = 6;

/// Blocks of `cmp_eval_all` that every multiprocessor holds at once by its bound of registers.
const EXPANDING: u32 = 3;

/// Those of its bitsliced form.
const EXPANDING_BITSLICED: u32 = 4;

/// Keys that a thread of a bitsliced kernel stands for.
const KEYS_OF_BITSLICED: u32 = 2;

/// Most parts that the trees of a small batch are cut into. Each part walks down to its subtree: 8 of them take 24 AES
/// blocks where the whole tree takes 14.
const MOST_PARTS: u32 = 8;

/// The sections of one party's CMP keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CmpKeys<'a> {
    pub(crate) roots: CudaRef<'a, Label>,
    pub(crate) corrections: CudaRef<'a, u128>,
    pub(crate) leaves: CudaRef<'a, u128>,
}

/// The sections of one party's DCF keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DcfKeys<'a> {
    pub(crate) roots: CudaRef<'a, Label>,
    pub(crate) corrections: CudaRef<'a, u128>,
    pub(crate) values: CudaRef<'a, u64>,
    pub(crate) last: CudaRef<'a, u64>,
}

/// The sections of new DCF keys.
#[derive(Debug)]
pub(crate) struct DcfSections<'a> {
    pub(crate) corrections: CudaMut<'a, u128>,
    pub(crate) values: CudaMut<'a, u64>,
    pub(crate) last: CudaMut<'a, u64>,
}

/// Whether trees of so many bits are to be walked by bitsliced AES.
fn bitsliced(queue: &CudaQueue, bits: u32) -> bool {
    queue.device().aes() == AesKernel::Bitsliced && bits > CMP_TABLE_BITS
}

/// One thread per `keys` keys along x, one block per point along y.
fn keys_by_points(launch: Launch<'_>, keys: u32, count: u32, points: u32) -> Launch<'_> {
    let tiles = count.div_ceil(keys * launch.block()[0]);
    launch.grid([tiles.into(), points.min(MOST_POINTS).into(), 1])
}

/// One thread per `keys` keys along x; along y, as many parts of the points as it takes to give every multiprocessor a block.
/// More would not be faster: the look-ups of one block keep shared memory busy, and each part walks to its windows anew.
///
/// The number of parts comes with the launch.
fn keys_with_points<'a>(
    queue: &CudaQueue,
    launch: Launch<'a>,
    keys: u32,
    count: u32,
    points: u32,
) -> (Launch<'a>, u32) {
    let tiles = count.div_ceil(keys * launch.block()[0]);
    let parts = (queue.device().info().multiprocessors / tiles.max(1)).clamp(1, points.clamp(1, MOST_POINTS));
    (launch.grid([tiles.into(), parts.into(), 1]), parts)
}

/// The window of points of which each of `parts` parts walks to both blocks of the window anew, in a tree of `bits` levels
/// that ends `leaf` levels early: all points, which asks for no block, where that takes no more levels.
fn window_of_parts(window: u32, (bits, leaf): (u32, u32), points: u32, parts: u32) -> u32 {
    let part = u64::from(points.div_ceil(parts.max(1)));
    let (alone, shared) = (u64::from(bits.saturating_sub(leaf)), u64::from(window.saturating_sub(leaf)));
    if 2 * u64::from(bits.saturating_sub(window)) + part * shared < part * alone { window } else { bits }
}

/// The view, or a null pointer.
fn or_null<'a>(launch: Launch<'a>, view: Option<CudaRef<'a, u64>>) -> Launch<'a> {
    match view {
        Some(view) => launch.input(view),
        None => launch.value(&0u64),
    }
}

/// The public points of clustered evaluations: masked inputs, from each of which all offsets are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster<'a> {
    pub(crate) x_hat: CudaRef<'a, u64>,
    pub(crate) offsets: CudaRef<'a, u64>,
}

pub(crate) fn cmp_eval(
    queue: &CudaQueue,
    p: &CmpParams,
    keys: CmpKeys<'_>,
    points: CudaRef<'_, u64>,
    shares: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let (kernel, of_thread) =
        if bitsliced(queue, p.bits) { ("fss_cmp_eval_bitsliced", KEYS_OF_BITSLICED) } else { ("fss_cmp_eval", 1) };
    let launch = keys_by_points(queue.kernel(kernel)?, of_thread, p.count, p.points).value(p);
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.leaves).input(points).output(shares);
    // SAFETY: the op has checked that the views have the lengths of `CmpShape::eval_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn cmp_eval_window(
    queue: &CudaQueue,
    p: &CmpWindowParams,
    keys: CmpKeys<'_>,
    points: Cluster<'_>,
    shares: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let (kernel, of_thread) = if bitsliced(queue, p.bits) {
        ("fss_cmp_eval_window_bitsliced", KEYS_OF_BITSLICED)
    } else {
        ("fss_cmp_eval_window", 1)
    };
    let (launch, parts) = keys_with_points(queue, queue.kernel(kernel)?, of_thread, p.count, p.points);
    let window = window_of_parts(p.window, (p.bits, CMP_TABLE_BITS), p.points, parts);
    let launch = launch.value(&CmpWindowParams { window, ..*p });
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.leaves);
    let launch = launch.input(points.x_hat).input(points.offsets).output(shares);
    // SAFETY: the op has checked that the views have the lengths of `CmpShape::window_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn cmp_eval_all(
    queue: &CudaQueue,
    p: &CmpAllParams,
    keys: CmpKeys<'_>,
    units: &CudaMut<'_, u128>,
) -> Result<(), BackendError> {
    let (kernel, of_thread, at_once) = if bitsliced(queue, p.bits) {
        ("fss_cmp_eval_all_bitsliced", KEYS_OF_BITSLICED, EXPANDING_BITSLICED)
    } else {
        ("fss_cmp_eval_all", 1, EXPANDING)
    };
    let launch = queue.kernel(kernel)?;
    let [threads, ..] = launch.block();
    let tiles = p.keys.div_ceil(of_thread * threads);
    // a device that the keys do not fill takes parts of each tree
    let busy = queue.device().info().multiprocessors * at_once;
    let most = MOST_PARTS.min(cmp_blocks(p.bits).div_ceil(2) as u32);
    let parts = (busy / tiles.max(1)).clamp(1, most);
    let launch = launch.grid([tiles.into(), parts.into(), 1]).value(p);
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.leaves).output(units);
    // SAFETY: the op has checked that the views have the lengths of `CmpAllShape::eval_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn cmp_gen(
    queue: &CudaQueue,
    p: &CmpParams,
    alphas: CudaRef<'_, u64>,
    roots: CudaRef<'_, Label>,
    corrections: &CudaMut<'_, u128>,
    leaves: &CudaMut<'_, u128>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_cmp_gen")?.grid([p.count.div_ceil(KEYS_MADE).into(), 1, 1]).value(p);
    let launch = launch.input(alphas).input(roots).output(corrections).output(leaves);
    // SAFETY: the op has checked that the views have the lengths of `CmpShape::gen_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn dcf_eval(
    queue: &CudaQueue,
    p: &DcfParams,
    keys: DcfKeys<'_>,
    points: CudaRef<'_, u64>,
    shares: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    if queue.device().aes() == AesKernel::Bitsliced {
        return dcf_eval_bitsliced(queue, p, keys, (points, None), shares);
    }
    let launch = keys_by_points(queue.kernel("fss_dcf_eval")?, 1, p.count, p.points).value(p);
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.values).input(keys.last);
    let launch = launch.input(points).output(shares);
    // SAFETY: the op has checked that the views have the lengths of `DcfShape::eval_lengths` for `p`.
    unsafe { launch.launch() }
}

/// As [`cmp_eval_bitsliced`].
fn dcf_eval_bitsliced(
    queue: &CudaQueue,
    p: &DcfParams,
    keys: DcfKeys<'_>,
    (points, offsets): (CudaRef<'_, u64>, Option<CudaRef<'_, u64>>),
    shares: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_dcf_eval_bitsliced")?;
    let launch = keys_by_points(launch, KEYS_OF_BITSLICED, p.count, p.points).value(p);
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.values).input(keys.last);
    let launch = or_null(launch.input(points), offsets).output(shares);
    // SAFETY: the op has checked that the views have the lengths of `DcfShape::eval_lengths` for `p`, or, with offsets,
    // those of `DcfShape::window_lengths`.
    unsafe { launch.launch() }
}

pub(crate) fn dcf_eval_window(
    queue: &CudaQueue,
    p: &DcfWindowParams,
    keys: DcfKeys<'_>,
    points: Cluster<'_>,
    shares: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    if queue.device().aes() == AesKernel::Bitsliced {
        return dcf_eval_bitsliced(queue, &p.anywhere(), keys, (points.x_hat, Some(points.offsets)), shares);
    }
    let (launch, parts) = keys_with_points(queue, queue.kernel("fss_dcf_eval_window")?, 1, p.count, p.points);
    let window = window_of_parts(p.window, (p.bits, 0), p.points, parts);
    let launch = launch.value(&DcfWindowParams { window, ..*p });
    let launch = launch.input(keys.roots).input(keys.corrections).input(keys.values).input(keys.last);
    let launch = launch.input(points.x_hat).input(points.offsets).output(shares);
    // SAFETY: the op has checked that the views have the lengths of `DcfShape::window_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn dcf_gen(
    queue: &CudaQueue,
    p: &DcfParams,
    alphas: CudaRef<'_, u64>,
    betas: CudaRef<'_, u64>,
    roots: CudaRef<'_, Label>,
    made: &DcfSections<'_>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_dcf_gen")?.grid([p.count.div_ceil(KEYS_MADE).into(), 1, 1]).value(p);
    let launch = launch.input(alphas).input(betas).input(roots);
    let launch = launch.output(&made.corrections).output(&made.values).output(&made.last);
    // SAFETY: the op has checked that the views have the lengths of `DcfShape::gen_lengths` for `p`.
    unsafe { launch.launch() }
}

pub(crate) fn aes_ctr_fill(queue: &CudaQueue, p: &AesCtrParams, words: &CudaMut<'_, u64>) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_aes_ctr_fill")?;
    // one round of blocks, since filling the table costs as much as some AES blocks
    let busy = u64::from(queue.device().info().multiprocessors * FILLING);
    let tiles = (words.len() as u64).div_ceil(2 * u64::from(launch.block()[0]));
    let launch = launch.grid([tiles.min(busy), 1, 1]).value(p).output(words).value(&(words.len() as u64));
    // SAFETY: the kernel is told the length of its view.
    unsafe { launch.launch() }
}

pub(crate) fn pack_bits(
    queue: &CudaQueue,
    p: &PackParams,
    elements: CudaRef<'_, u64>,
    words: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let len = words.len() as u32; // no more words than elements, which `u32` counts
    let launch = queue.kernel("fss_pack_bits")?.cover(words.len());
    let launch = launch.value(p).input(elements).output(words).value(&len);
    // SAFETY: the op has checked that `elements` are `p.count`; the kernel is told the number of words.
    unsafe { launch.launch() }
}

pub(crate) fn unpack_bits(
    queue: &CudaQueue,
    p: &PackParams,
    words: CudaRef<'_, u64>,
    elements: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_unpack_bits")?.cover(elements.len()).value(p).input(words).output(elements);
    // SAFETY: the op has checked that `elements` are `p.count` and `words` as many as those fill.
    unsafe { launch.launch() }
}
