//! The function-secret-sharing op set.
//!
//! By default AES uses lookups in shared memory, in a table that each of the 32 banks holds whole
//! and that a lane reads only in its own bank. No two lookups of a warp collide, so the time does
//! not depend on the indices; the addresses do, and the indices come from labels that are secrets
//! of this party or of the dealer. This matters if others share the GPU, against whom the op set
//! then promises nothing. Under [`AesKernel::Bitsliced`](crate::AesKernel::Bitsliced) the ops of a
//! party, `cmp_eval_window`, `dcf_eval_window`, `cmp_eval_all` and `expand_seed`, look nothing up;
//! the dealer's ops do.
//!
//! Evaluation and generation give each thread of the grid one key, or a quarter of one, at a time;
//! kernels use a grid-stride loop. For each kernel that evaluates keys or expands a seed there is
//! one that does so with bitsliced AES, with the same results; the one for payload keys walks to
//! each point from the root, even where points are clustered. Truth tables need no AES.

use backend_api::{
    BackendError, BufferMut as _, Queue as _,
    ops::fss::{
        CmpAllShape, CmpEvalAll, CmpEvalWindow, CmpGen, CmpGenShape, CmpKeys, CmpShape, DcfEvalWindow, DcfGen,
        DcfGenShape, DcfKeys, DcfShape, ExpandSeed, PackBits, PackShape, UnpackBits,
    },
};
use core_types::{
    cmp::{CMP_TABLE_BITS, cmp_blocks},
    params::fss::{CmpWindowParams, DcfWindowParams},
};

use crate::{AesKernel, CudaQueue, checked::FssOps, submit::Launch};

/// Width at which packed and unpacked elements are the same words.
const WHOLE_WORDS: u32 = 64;

/// Blocks along y; more points or rows than this are left to the stride.
const MOST_POINTS: u32 = 65_535;

/// Threads that make a key together.
const THREADS_OF_KEY_MADE: usize = 4;

/// Keys, or blocks of a key stream, that a thread of a bitsliced kernel stands for.
const KEYS_OF_BITSLICED: u32 = 2;

/// Most parts that the trees of a small batch are cut into.
///
/// Each part walks down to its subtree: 8 of them take 24 AES blocks where the whole tree takes 14.
const MOST_PARTS: u64 = 8;

impl FssOps for CudaQueue {
    fn cmp_eval_window(&self, op: CmpEvalWindow<'_, Self>, _: CmpShape) -> Result<(), BackendError> {
        let p = op.params;
        let (kernel, of_thread) = walking(self, p.bits, ["fss_cmp_eval_window", "fss_cmp_eval_window_bitsliced"]);
        let (launch, parts) = keys_with_points(self, self.kernel(kernel)?, of_thread, p.count, p.points);
        let window = window_of_parts(p.window, (p.bits, CMP_TABLE_BITS), p.points, parts);
        let launch = cmp_keys(launch.value("params", &CmpWindowParams { window, ..*p }), &op.keys);
        let launch = launch.input("x_hat", op.x_hat).input("offsets", op.offsets).output("shares", &op.shares);
        // SAFETY: `CmpEvalWindow::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn cmp_eval_all(&self, op: CmpEvalAll<'_, Self>, _: CmpAllShape) -> Result<(), BackendError> {
        let p = op.params;
        let (kernel, of_thread) = walking(self, p.bits, ["fss_cmp_eval_all", "fss_cmp_eval_all_bitsliced"]);
        let launch = self.kernel(kernel)?;
        let tiles = u64::from(p.keys.div_ceil(of_thread).div_ceil(launch.width()));
        let parts = parts_of_trees(launch.at_once(), tiles, cmp_blocks(p.bits));
        let launch = launch.grid([tiles, parts, 1]).value("params", p);
        let launch = cmp_keys(launch, &op.keys).output("units", &op.units);
        // SAFETY: `CmpEvalAll::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn cmp_gen(&self, op: CmpGen<'_, Self>, _: CmpGenShape) -> Result<(), BackendError> {
        let launch = keys_made(self.kernel("fss_cmp_gen")?, op.params.count);
        let launch = launch.value("params", op.params).input("alphas", op.alphas);
        let launch = launch.input("roots", op.roots).output("corrections", &op.corrections);
        let launch = launch.output("leaves", &op.leaves);
        // SAFETY: `CmpGen::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn dcf_eval_window(&self, op: DcfEvalWindow<'_, Self>, _: DcfShape) -> Result<(), BackendError> {
        let p = op.params;
        let launch = if self.device().aes() == AesKernel::Bitsliced {
            // it walks to each point from the root
            let launch = self.kernel("fss_dcf_eval_window_bitsliced")?;
            keys_by_points(launch, KEYS_OF_BITSLICED, p.count, p.points).value("params", p)
        } else {
            let (launch, parts) = keys_with_points(self, self.kernel("fss_dcf_eval_window")?, 1, p.count, p.points);
            let window = window_of_parts(p.window, (p.bits, 0), p.points, parts);
            launch.value("params", &DcfWindowParams { window, ..*p })
        };
        let launch = dcf_keys(launch, &op.keys).input("x_hat", op.x_hat).input("offsets", op.offsets);
        let launch = launch.output("shares", &op.shares);
        // SAFETY: `DcfEvalWindow::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn dcf_gen(&self, op: DcfGen<'_, Self>, _: DcfGenShape) -> Result<(), BackendError> {
        let launch = keys_made(self.kernel("fss_dcf_gen")?, op.params.count).value("params", op.params);
        let launch = launch.input("alphas", op.alphas).input("betas", op.betas).input("roots", op.roots);
        let launch = launch.output("corrections", &op.corrections).output("values", &op.values);
        let launch = launch.output("last", &op.last);
        // SAFETY: `DcfGen::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn expand_seed(&self, op: ExpandSeed<'_, Self>) -> Result<(), BackendError> {
        let p = op.params;
        let (kernel, of_thread) = match self.device().aes() {
            AesKernel::Table => ("fss_expand_seed", 1),
            AesKernel::Bitsliced => ("fss_expand_seed_bitsliced", KEYS_OF_BITSLICED),
        };
        let launch = rows_of_blocks(self.kernel(kernel)?, of_thread, p.rows, p.blocks);
        let launch = launch.value("params", p).output("words", &op.words);
        // SAFETY: `ExpandSeed::check` verified the length; the grid has no more rows than the words.
        unsafe { launch.launch() }
    }

    fn pack_bits(&self, op: PackBits<'_, Self>, _: PackShape) -> Result<(), BackendError> {
        if op.params.bits == WHOLE_WORDS {
            return self.copy(op.elements, op.words);
        }
        let len = op.words.len() as u32; // no more words than elements, which `u32` counts
        let launch = self.kernel("fss_pack_bits")?.cover(op.words.len()).value("params", op.params);
        let launch = launch.input("elements", op.elements).output("words", &op.words).value("len", &len);
        // SAFETY: `PackBits::check` verified all lengths; the kernel receives the number of words.
        unsafe { launch.launch() }
    }

    fn unpack_bits(&self, op: UnpackBits<'_, Self>, _: PackShape) -> Result<(), BackendError> {
        if op.params.bits == WHOLE_WORDS {
            return self.copy(op.words, op.elements);
        }
        let launch = self.kernel("fss_unpack_bits")?.cover(op.elements.len()).value("params", op.params);
        let launch = launch.input("words", op.words).output("elements", &op.elements);
        // SAFETY: `UnpackBits::check` verified all lengths.
        unsafe { launch.launch() }
    }
}

/// The parts that each tree of `blocks` blocks is cut into.
///
/// A device that the keys do not fill, with `at_once` blocks of threads for `tiles`, takes several.
fn parts_of_trees(at_once: u64, tiles: u64, blocks: u64) -> u64 {
    (at_once / tiles.max(1)).clamp(1, MOST_PARTS.min(blocks.div_ceil(2)))
}

/// The kernel that walks trees of `bits` bits, and the keys of each of its threads.
fn walking(queue: &CudaQueue, bits: u32, [by_table, bitsliced]: [&'static str; 2]) -> (&'static str, u32) {
    let is_bitsliced = queue.device().aes() == AesKernel::Bitsliced && bits > CMP_TABLE_BITS;
    if is_bitsliced { (bitsliced, KEYS_OF_BITSLICED) } else { (by_table, 1) }
}

/// One thread per `keys` keys along x, one block per point along y.
fn keys_by_points(launch: Launch<'_>, keys: u32, count: u32, points: u32) -> Launch<'_> {
    let tiles = count.div_ceil(keys).div_ceil(launch.width());
    launch.grid([tiles.into(), points.min(MOST_POINTS).into(), 1])
}

/// One thread per `of_thread` blocks of a row along x, and the rows along y.
///
/// There are no more blocks of threads than the device holds at once, or one for each row.
fn rows_of_blocks(launch: Launch<'_>, of_thread: u32, rows: u32, blocks: u32) -> Launch<'_> {
    let (tiles, rows) = (blocks.div_ceil(of_thread).div_ceil(launch.width()), u64::from(rows.min(MOST_POINTS)));
    let along_x = u64::from(tiles).min(launch.at_once().div_ceil(rows.max(1)));
    launch.grid([along_x, rows, 1])
}

/// Four threads for each of `count` keys.
fn keys_made(launch: Launch<'_>, count: u32) -> Launch<'_> {
    launch.cover(THREADS_OF_KEY_MADE * count as usize)
}

/// A grid of one thread per `keys` keys along x, and of parts of the points along y.
///
/// There are enough parts to give every multiprocessor a block. More would not be faster: the
/// lookups of one block keep shared memory busy, and each part walks to its windows again.
///
/// Returns the number of parts with the launch.
fn keys_with_points<'a>(
    queue: &CudaQueue,
    launch: Launch<'a>,
    keys: u32,
    count: u32,
    points: u32,
) -> (Launch<'a>, u32) {
    let tiles = count.div_ceil(keys).div_ceil(launch.width());
    let parts = (queue.device().info().multiprocessors / tiles.max(1)).clamp(1, points.clamp(1, MOST_POINTS));
    (launch.grid([tiles.into(), parts.into(), 1]), parts)
}

/// The window to give a kernel whose points are cut into `parts` parts.
///
/// The tree has `bits` levels and ends `leaf` levels early. Each part walks to both blocks of the
/// window again. If walking to each point from the root takes no more levels than that, the window
/// is the one of all `bits` bits, which has no blocks.
fn window_of_parts(window: u32, (bits, leaf): (u32, u32), points: u32, parts: u32) -> u32 {
    let part = u64::from(points.div_ceil(parts.max(1)));
    let (alone, shared) = (u64::from(bits.saturating_sub(leaf)), u64::from(window.saturating_sub(leaf)));
    if 2 * u64::from(bits.saturating_sub(window)) + part * shared < part * alone { window } else { bits }
}

/// Gives the kernel the sections of comparison keys.
fn cmp_keys<'a, 'k: 'a>(launch: Launch<'a>, keys: &CmpKeys<'k, CudaQueue>) -> Launch<'a> {
    launch.input("roots", keys.roots).input("corrections", keys.corrections).input("leaves", keys.leaves)
}

/// Gives the kernel the sections of payload keys.
fn dcf_keys<'a, 'k: 'a>(launch: Launch<'a>, keys: &DcfKeys<'k, CudaQueue>) -> Launch<'a> {
    let launch = launch.input("roots", keys.roots).input("corrections", keys.corrections);
    launch.input("values", keys.values).input("last", keys.last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;

    #[test]
    fn grids_are_of_keys_along_x_and_of_points_or_parts_along_y() {
        let (_machine, queue) = rig::queue(12);
        let launch = || queue.kernel(rig::KERNELS[0]).unwrap();
        // A block has 128 threads.
        for ([keys, count, points], tiles, by_points, parts) in [
            ([1, 0, 0], 0, 0, 1),
            ([1, 128, 9], 1, 9, 9),
            ([1, 128, 13], 1, 13, 12),
            ([1, 129, 13], 2, 13, 6),
            ([2, 256, 70_000], 1, 65_535, 12),
            ([2, 257, 65_536], 2, 65_535, 6),
            ([2, 3073, 5], 13, 5, 1),
        ] {
            let name = format!("{keys} {count} {points}");
            assert_eq!(
                keys_by_points(launch(), keys, count, points).geometry(),
                ([tiles, by_points, 1], None),
                "{name}"
            );
            let (launch, got) = keys_with_points(&queue, launch(), keys, count, points);
            assert_eq!((launch.geometry(), got), (([tiles, parts, 1], None), parts as u32), "{name}");
        }
        // The device holds 12 blocks of threads at once.
        for ([of_thread, rows, blocks], grid) in [
            ([1, 3, 0], [0, 3]),
            ([1, 0, 500], [4, 0]),
            ([1, 3, 128], [1, 3]),
            ([1, 3, 500], [4, 3]),
            ([1, 3, 700], [4, 3]),
            ([2, 1, 513], [3, 1]),
            ([1, 5, 700], [3, 5]),
            ([1, 70_000, 700], [1, 65_535]),
        ] {
            let name = format!("{of_thread} {rows} {blocks}");
            let expected = ([grid[0], grid[1], 1], None);
            assert_eq!(rows_of_blocks(launch(), of_thread, rows, blocks).geometry(), expected, "{name}");
        }
        for (count, blocks) in [(0, 0), (32, 1), (33, 2)] {
            assert_eq!(keys_made(launch(), count).geometry(), ([blocks, 1, 1], None), "{count}");
        }
        for ([at_once, tiles, blocks], parts) in
            [([12, 0, 64], 8), ([12, 1, 64], 8), ([12, 5, 64], 2), ([12, 13, 64], 1), ([12, 1, 8], 4)]
        {
            assert_eq!(parts_of_trees(at_once, tiles, blocks), parts, "{at_once} {tiles} {blocks}");
        }
    }

    #[test]
    fn windows_are_kept_only_if_they_save_levels() {
        for ((window, trees, points, parts), expected) in [
            // One or two points in a part walk from the root: two cost the same either way.
            ((10, (64, 7), 1, 1), 64),
            ((10, (64, 7), 2, 1), 64),
            ((10, (64, 7), 3, 1), 10),
            ((4, (12, 0), 4, 2), 12),
            ((4, (12, 0), 5, 2), 4),
            // Below the leaf a window has no levels: 2 * 61 against 57 for each point.
            ((3, (64, 7), 2, 1), 64),
            ((3, (64, 7), 3, 1), 3),
            ((64, (64, 7), 9, 1), 64),
            ((10, (64, 7), 3, 0), 10),
        ] {
            assert_eq!(window_of_parts(window, trees, points, parts), expected, "{window} {trees:?} {points} {parts}");
        }
    }
}
