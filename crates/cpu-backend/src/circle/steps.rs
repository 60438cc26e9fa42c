//! The steps of a transform: tiles and strips.
//!
//! # Safety
//! Every `unsafe` function of this file requires pointers and twiddles that are valid for the words
//! its arguments name.

use core::mem::MaybeUninit;

use super::pass::{Pass, StridedRows, Twiddles, block, radix};
use crate::simd::{LaneKernel, Simd, dispatch, words::WordVectors};

/// Consecutive positions, small enough for the first-level cache, and all their layers.
#[derive(Clone, Copy)]
pub(super) struct TransformTile {
    /// The first position's word.
    pub(super) source: *const u32,
    /// Where its result goes; equal to `source` or disjoint.
    pub(super) target: *mut u32,
    /// Log of the number of positions, at least [`log_block`].
    pub(super) log_len: u32,
    /// The stored position of the first.
    pub(super) position: usize,
    /// The doubled twiddles of the domain.
    pub(super) twiddles: Twiddles,
    /// Power of two that the inverse multiplies its results by.
    pub(super) scale: u32,
}

/// Neighbouring columns of all rows of a region, and the layers between rows.
#[derive(Clone, Copy)]
pub(super) struct TransformStrip {
    /// The first column's word in row 0; the row stride is `2^pass.layer`.
    pub(super) source: *const u32,
    /// Where its result goes, with the same stride; equal to `source` or disjoint.
    pub(super) target: *mut u32,
    /// The rows and their layers; `skip` and `scale` apply to the strip as a whole.
    pub(super) pass: Pass,
}

/// Words that a strip of more than three layers may hold.
pub(super) const STRIP_WORDS: usize = 1 << 14;

/// Log of the smallest tile on vectors of `2^log_width` words: eight vectors.
pub(super) const fn log_block(log_width: u32) -> u32 {
    log_width + 3
}

/// Log of the tile that fits the cache and leaves only full three-layer passes.
pub(super) const fn log_tile(log_width: u32) -> u32 {
    log_width + 9
}

/// What runs the steps: the level of a queue, or in tests a model of its lanes.
pub(super) trait StepRunner: Copy + Sync {
    /// Log of the words of a vector.
    fn log_width(self) -> u32;

    /// Runs all layers of a tile.
    ///
    /// # Safety
    /// The tile's words are valid, no two concurrent steps sharing any that one writes, and there
    /// are at least `2^log_block` of them.
    unsafe fn tile(self, tile: TransformTile, inverse: bool);

    /// Runs the layers of a strip.
    ///
    /// # Safety
    /// The strip's words are valid, no two concurrent steps sharing any that one writes. Its width
    /// is a multiple of the vector width; with more than three layers its words are at most
    /// [`STRIP_WORDS`].
    unsafe fn strip(self, strip: TransformStrip, inverse: bool);
}

impl StepRunner for Simd {
    fn log_width(self) -> u32 {
        dispatch(self, LogWidth)
    }

    unsafe fn tile(self, tile: TransformTile, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            if inverse {
                dispatch(self, TileStep::<true>::new(tile));
            } else {
                dispatch(self, TileStep::<false>::new(tile));
            }
        }
    }

    unsafe fn strip(self, strip: TransformStrip, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            if inverse {
                dispatch(self, StripStep::<true>::new(strip));
            } else {
                dispatch(self, StripStep::<false>::new(strip));
            }
        }
    }
}

/// Asks for the log of the words of a vector.
struct LogWidth;

impl<L: WordVectors> LaneKernel<L> for LogWidth {
    type Out = u32;

    #[inline(always)]
    fn run(self, _: L) -> u32 {
        L::LOG
    }
}

/// All layers of a tile.
pub(super) struct TileStep<const INVERSE: bool>(TransformTile);

impl<const INVERSE: bool> TileStep<INVERSE> {
    /// # Safety
    /// As [`StepRunner::tile`].
    pub(super) unsafe fn new(tile: TransformTile) -> Self {
        Self(tile)
    }
}

impl<const INVERSE: bool, L: WordVectors> LaneKernel<L> for TileStep<INVERSE> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // SAFETY: what `new` was promised.
        unsafe { tile::<L, INVERSE>(l, self.0) }
    }
}

/// The layers of a strip.
pub(super) struct StripStep<const INVERSE: bool>(TransformStrip);

impl<const INVERSE: bool> StripStep<INVERSE> {
    /// # Safety
    /// As [`StepRunner::strip`].
    pub(super) unsafe fn new(strip: TransformStrip) -> Self {
        Self(strip)
    }
}

impl<const INVERSE: bool, L: WordVectors> LaneKernel<L> for StripStep<INVERSE> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // SAFETY: what `new` was promised.
        unsafe { strip::<L, INVERSE>(l, self.0) }
    }
}

/// Number of layers of the next pass, with `remaining` layers left.
///
/// There are as few passes as possible, of nearly equal depth.
#[inline(always)]
fn pass_depth(remaining: u32) -> u32 {
    remaining.div_ceil(remaining.div_ceil(3))
}

/// Runs one pass of `depth` layers.
///
/// # Safety
/// As [`radix`].
#[inline(always)]
unsafe fn radix_of_depth<L: WordVectors, const INVERSE: bool>(
    l: L,
    depth: u32,
    pass: Pass,
    source: StridedRows<*const u32>,
    target: StridedRows<*mut u32>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match depth {
            3 => radix::<L, 8, INVERSE>(l, pass, source, target),
            2 => radix::<L, 4, INVERSE>(l, pass, source, target),
            _ => radix::<L, 2, INVERSE>(l, pass, source, target),
        }
    }
}

/// # Safety
/// As [`StepRunner::tile`].
#[inline(always)]
unsafe fn tile<L: WordVectors, const INVERSE: bool>(l: L, tile: TransformTile) {
    let log_rows = tile.log_len - log_block(L::LOG);
    let mut source = tile.source;
    let mut remaining = log_rows;
    // SAFETY: blocks and rows belong to the tile.
    unsafe {
        if INVERSE {
            blocks::<L, INVERSE>(l, tile, source, if remaining == 0 { tile.scale } else { 0 });
            while remaining > 0 {
                let depth = pass_depth(remaining);
                let scale = if remaining == depth { tile.scale } else { 0 };
                tile_pass::<L, INVERSE>(l, tile, tile.target, log_rows - remaining, depth, scale);
                remaining -= depth;
            }
        } else {
            while remaining > 0 {
                let depth = pass_depth(remaining);
                remaining -= depth;
                tile_pass::<L, INVERSE>(l, tile, source, remaining, depth, 0);
                source = tile.target;
            }
            blocks::<L, INVERSE>(l, tile, source, 0);
        }
    }
}

/// The lowest layers of every block of a tile.
///
/// # Safety
/// As [`StepRunner::tile`].
#[inline(always)]
unsafe fn blocks<L: WordVectors, const INVERSE: bool>(l: L, tile: TransformTile, source: *const u32, scale: u32) {
    let mut offset = 0;
    while offset < 1usize << tile.log_len {
        // SAFETY: the block at `offset` lies inside the tile.
        unsafe {
            let (from, to) = (source.add(offset), tile.target.add(offset));
            block::<L, INVERSE>(l, from, to, tile.twiddles, tile.position + offset, scale);
        }
        offset += 1 << log_block(L::LOG);
    }
}

/// Applies `depth` layers of a tile, starting `skip` layers above its blocks.
///
/// Rows have the length of the distance within a pair.
///
/// # Safety
/// As [`StepRunner::tile`].
#[inline(always)]
unsafe fn tile_pass<L: WordVectors, const INVERSE: bool>(
    l: L,
    tile: TransformTile,
    source: *const u32,
    skip: u32,
    depth: u32,
    scale: u32,
) {
    let layer = log_block(L::LOG) + skip;
    let pass = Pass {
        width: 1 << layer,
        log_rows: tile.log_len - layer,
        layer,
        skip: 0,
        position: tile.position,
        twiddles: tile.twiddles,
        scale,
    };
    let (source, target) =
        (StridedRows { first: source, stride: 1 << layer }, StridedRows { first: tile.target, stride: 1 << layer });
    // SAFETY: the rows belong to the tile.
    unsafe { radix_of_depth::<L, INVERSE>(l, depth, pass, source, target) };
}

/// # Safety
/// As [`StepRunner::strip`].
#[inline(always)]
unsafe fn strip<L: WordVectors, const INVERSE: bool>(l: L, strip: TransformStrip) {
    let Pass { width, log_rows, layer, scale, .. } = strip.pass;
    let source = StridedRows { first: strip.source, stride: 1 << layer };
    let target = StridedRows { first: strip.target, stride: 1 << layer };
    if log_rows <= 3 {
        // SAFETY: the caller's promise.
        return unsafe { radix_of_depth::<L, INVERSE>(l, log_rows, strip.pass, source, target) };
    }
    // The first pass gathers into a scratch without stride, the last scatters from it: power-of-two strides would
    // keep all rows in a few cache sets.
    let mut scratch = StripScratch(MaybeUninit::uninit());
    let scratch = StridedRows { first: scratch.0.as_mut_ptr().cast::<u32>(), stride: width };
    let scratch_source = StridedRows { first: scratch.first.cast_const(), stride: width };
    let mut remaining = log_rows;
    while remaining > 0 {
        let depth = pass_depth(remaining);
        let (first, last) = (remaining == log_rows, remaining == depth);
        let skip = if INVERSE { log_rows - remaining } else { remaining - depth };
        let pass = Pass { skip, scale: if last { scale } else { 0 }, ..strip.pass };
        let (from, to) = (if first { source } else { scratch_source }, if last { target } else { scratch });
        // SAFETY: at most STRIP_WORDS words go through the scratch, each written by the first pass before it is read.
        unsafe { radix_of_depth::<L, INVERSE>(l, depth, pass, from, to) };
        remaining -= depth;
    }
}

#[repr(align(64))]
struct StripScratch(MaybeUninit<[u32; STRIP_WORDS]>);
