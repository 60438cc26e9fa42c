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

/// A tile or a strip.
pub(super) trait TransformStep {
    /// Runs all its layers.
    ///
    /// # Safety
    /// The words of the step are valid. A tile has at least `2^log_block` words. The width of a
    /// strip is a multiple of the vector width; with more than three layers its words are at most
    /// [`STRIP_WORDS`].
    unsafe fn run<L: WordVectors, const INVERSE: bool>(self, l: L);
}

/// What runs the steps: the level of a queue, or in tests a model of its lanes.
pub(super) trait StepRunner: Copy + Sync {
    /// Log of the words of a vector.
    fn log_width(self) -> u32;

    /// Runs a step.
    ///
    /// # Safety
    /// As [`TransformStep::run`], and no two concurrent steps share any word that one writes.
    unsafe fn run(self, step: impl TransformStep, inverse: bool);
}

impl StepRunner for Simd {
    fn log_width(self) -> u32 {
        dispatch(self, LogWidth)
    }

    unsafe fn run(self, step: impl TransformStep, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            if inverse {
                dispatch(self, DirectedStep::<_, true>::new(step));
            } else {
                dispatch(self, DirectedStep::<_, false>::new(step));
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

/// A step in one direction, as a kernel.
pub(super) struct DirectedStep<T, const INVERSE: bool>(T);

impl<T, const INVERSE: bool> DirectedStep<T, INVERSE> {
    /// # Safety
    /// As [`StepRunner::run`].
    pub(super) unsafe fn new(step: T) -> Self {
        Self(step)
    }
}

impl<T: TransformStep, const INVERSE: bool, L: WordVectors> LaneKernel<L> for DirectedStep<T, INVERSE> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // SAFETY: what `new` was promised.
        unsafe { self.0.run::<L, INVERSE>(l) }
    }
}

/// Number of layers of the next pass, with `remaining` layers left.
///
/// There are as few passes as possible, of nearly equal depth.
#[inline(always)]
fn pass_depth(remaining: u32) -> u32 {
    remaining.div_ceil(remaining.div_ceil(3))
}

/// One pass of `depth` layers, as a kernel that tiles and strips call.
struct RadixPass<const INVERSE: bool> {
    depth: u32,
    pass: Pass,
    source: StridedRows<*const u32>,
    target: StridedRows<*mut u32>,
}

impl<const INVERSE: bool> RadixPass<INVERSE> {
    /// # Safety
    /// As [`radix`].
    #[inline(always)]
    unsafe fn new(depth: u32, pass: Pass, source: StridedRows<*const u32>, target: StridedRows<*mut u32>) -> Self {
        Self { depth, pass, source, target }
    }
}

impl<L: WordVectors, const INVERSE: bool> LaneKernel<L> for RadixPass<INVERSE> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { depth, pass, source, target } = self;
        // SAFETY: what `new` was promised.
        unsafe {
            match depth {
                3 => radix::<L, 8, INVERSE>(l, pass, source, target),
                2 => radix::<L, 4, INVERSE>(l, pass, source, target),
                _ => radix::<L, 2, INVERSE>(l, pass, source, target),
            }
        }
    }
}

impl TransformStep for TransformTile {
    #[inline(always)]
    unsafe fn run<L: WordVectors, const INVERSE: bool>(self, l: L) {
        let log_rows = self.log_len - log_block(L::LOG);
        let mut source = self.source;
        let mut remaining = log_rows;
        // SAFETY: blocks and rows belong to the tile.
        unsafe {
            if INVERSE {
                blocks::<L, INVERSE>(l, self, source, if remaining == 0 { self.scale } else { 0 });
                while remaining > 0 {
                    let depth = pass_depth(remaining);
                    let scale = if remaining == depth { self.scale } else { 0 };
                    tile_pass::<L, INVERSE>(l, self, self.target, log_rows - remaining, depth, scale);
                    remaining -= depth;
                }
            } else {
                while remaining > 0 {
                    let depth = pass_depth(remaining);
                    remaining -= depth;
                    tile_pass::<L, INVERSE>(l, self, source, remaining, depth, 0);
                    source = self.target;
                }
                blocks::<L, INVERSE>(l, self, source, 0);
            }
        }
    }
}

/// The lowest layers of every block of a tile.
///
/// # Safety
/// As [`TransformStep::run`].
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
/// As [`TransformStep::run`].
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
    l.call(unsafe { RadixPass::<INVERSE>::new(depth, pass, source, target) });
}

impl TransformStep for TransformStrip {
    #[inline(always)]
    unsafe fn run<L: WordVectors, const INVERSE: bool>(self, l: L) {
        let Pass { width, log_rows, layer, scale, .. } = self.pass;
        let source = StridedRows { first: self.source, stride: 1 << layer };
        let target = StridedRows { first: self.target, stride: 1 << layer };
        if log_rows <= 3 {
            // SAFETY: the caller's promise.
            return l.call(unsafe { RadixPass::<INVERSE>::new(log_rows, self.pass, source, target) });
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
            let pass = Pass { skip, scale: if last { scale } else { 0 }, ..self.pass };
            let (from, to) = (if first { source } else { scratch_source }, if last { target } else { scratch });
            // SAFETY: at most STRIP_WORDS words go through the scratch, each written by the first pass before it is read.
            l.call(unsafe { RadixPass::<INVERSE>::new(depth, pass, from, to) });
            remaining -= depth;
        }
    }
}

#[repr(align(64))]
struct StripScratch(MaybeUninit<[u32; STRIP_WORDS]>);
