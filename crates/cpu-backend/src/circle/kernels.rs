//! The steps of a transform, compiled once per vector level.
//!
//! # Safety
//! Every `unsafe` function of this file requires a processor that has the level of its lanes, and pointers and factors
//! that are valid for the words that its arguments name.

use core::mem::MaybeUninit;

use super::{
    lanes::{Lanes, Portable},
    pass::{Factors, Pass, Rows, block, radix},
};
use crate::SimdLevel;

/// Consecutive positions, small enough for the first-level cache, and all their layers.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The first position's word.
    pub(super) source: *const u32,
    /// Where its result goes; equal to `source` or disjoint.
    pub(super) target: *mut u32,
    /// Log of the number of positions, at least [`Kernels::log_block`].
    pub(super) log_len: u32,
    /// The stored position of the first.
    pub(super) position: usize,
    /// The doubled factors of the domain.
    pub(super) factors: Factors,
    /// Power of two that the inverse multiplies its results with.
    pub(super) scale: u32,
}

/// Neighbouring columns of all rows of a region, and the layers between rows.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// The first column's word in row 0; the row stride is `2^pass.layer`.
    pub(super) source: *const u32,
    /// Where its result goes, with the same stride; equal to `source` or disjoint.
    pub(super) target: *mut u32,
    /// The rows and their layers; `skip` and `scale` apply to the strip as a whole.
    pub(super) pass: Pass,
}

/// Words that a strip of more than three layers may hold.
pub(super) const STRIP_WORDS: usize = 1 << 14;

/// The compiled steps of one vector level.
///
/// # Safety
/// Calling a step requires a processor with the level, and pointers valid for the words that the step covers, no two
/// concurrent steps sharing any that one writes. A tile has at least `2^log_block` positions. A strip's width is a
/// multiple of the vector width; with more than three layers its words are at most [`STRIP_WORDS`].
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    /// Log of the smallest tile.
    pub(super) log_block: u32,
    /// Log of the tile that fits the cache and leaves whole three-layer passes.
    pub(super) log_tile: u32,
    pub(super) tile_inverse: unsafe fn(Tile),
    pub(super) tile_forward: unsafe fn(Tile),
    pub(super) strip_inverse: unsafe fn(Strip),
    pub(super) strip_forward: unsafe fn(Strip),
}

impl Kernels {
    /// The steps of `level`; a `Simd` value has shown that the processor has it.
    pub(super) fn of(level: SimdLevel) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => avx2::KERNELS,
            _ => portable::KERNELS,
        }
    }
}

/// The number of layers of each pass over `layers` layers: as few passes as possible, of nearly equal depth.
#[inline(always)]
fn pass_depth(remaining: u32) -> u32 {
    remaining.div_ceil(remaining.div_ceil(3))
}

/// Runs one pass of `depth` layers.
///
/// # Safety
/// As [`radix`].
#[inline(always)]
unsafe fn radix_of_depth<L: Lanes, const INVERSE: bool>(
    depth: u32,
    pass: Pass,
    source: Rows<*const u32>,
    target: Rows<*mut u32>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match depth {
            3 => radix::<L, 8, INVERSE>(pass, source, target),
            2 => radix::<L, 4, INVERSE>(pass, source, target),
            _ => radix::<L, 2, INVERSE>(pass, source, target),
        }
    }
}

/// # Safety
/// As [`Kernels`].
#[inline(always)]
unsafe fn tile<L: Lanes, const INVERSE: bool>(tile: Tile) {
    let log_rows = tile.log_len - (L::LOG + 3);
    let mut source = tile.source;
    let mut remaining = log_rows;
    // SAFETY: blocks and rows are those of the tile.
    unsafe {
        if INVERSE {
            blocks::<L, INVERSE>(tile, source, if remaining == 0 { tile.scale } else { 0 });
            while remaining > 0 {
                let depth = pass_depth(remaining);
                let scale = if remaining == depth { tile.scale } else { 0 };
                tile_pass::<L, INVERSE>(tile, tile.target, log_rows - remaining, depth, scale);
                remaining -= depth;
            }
        } else {
            while remaining > 0 {
                let depth = pass_depth(remaining);
                remaining -= depth;
                tile_pass::<L, INVERSE>(tile, source, remaining, depth, 0);
                source = tile.target;
            }
            blocks::<L, INVERSE>(tile, source, 0);
        }
    }
}

/// The lowest layers of every block of a tile.
///
/// # Safety
/// As [`Kernels`].
#[inline(always)]
unsafe fn blocks<L: Lanes, const INVERSE: bool>(tile: Tile, source: *const u32, scale: u32) {
    let log_block = L::LOG + 3;
    let mut offset = 0;
    while offset < 1usize << tile.log_len {
        // SAFETY: the block at `offset` lies inside the tile.
        unsafe {
            let (from, to) = (source.add(offset), tile.target.add(offset));
            block::<L, INVERSE>(from, to, tile.factors, tile.position + offset, scale);
        }
        offset += 1 << log_block;
    }
}

/// `depth` layers of a tile from `skip` above its blocks on: neighbouring rows are as long as the pairs are apart.
///
/// # Safety
/// As [`Kernels`].
#[inline(always)]
unsafe fn tile_pass<L: Lanes, const INVERSE: bool>(tile: Tile, source: *const u32, skip: u32, depth: u32, scale: u32) {
    let layer = L::LOG + 3 + skip;
    let pass = Pass {
        width: 1 << layer,
        log_rows: tile.log_len - layer,
        layer,
        skip: 0,
        position: tile.position,
        factors: tile.factors,
        scale,
    };
    let (source, target) =
        (Rows { first: source, stride: 1 << layer }, Rows { first: tile.target, stride: 1 << layer });
    // SAFETY: the rows are those of the tile.
    unsafe { radix_of_depth::<L, INVERSE>(depth, pass, source, target) };
}

/// # Safety
/// As [`Kernels`].
#[inline(always)]
unsafe fn strip<L: Lanes, const INVERSE: bool>(strip: Strip) {
    let Pass { width, log_rows, layer, scale, .. } = strip.pass;
    let source = Rows { first: strip.source, stride: 1 << layer };
    let target = Rows { first: strip.target, stride: 1 << layer };
    if log_rows <= 3 {
        // SAFETY: the caller's promise.
        return unsafe { radix_of_depth::<L, INVERSE>(log_rows, strip.pass, source, target) };
    }
    // The first pass gathers into a scratch without stride, the last scatters from it: power-of-two strides would
    // keep all rows in a few cache sets.
    let mut scratch = Scratch(MaybeUninit::uninit());
    let scratch = Rows { first: scratch.0.as_mut_ptr().cast::<u32>(), stride: width };
    let scratch_source = Rows { first: scratch.first.cast_const(), stride: width };
    let mut remaining = log_rows;
    while remaining > 0 {
        let depth = pass_depth(remaining);
        let (first, last) = (remaining == log_rows, remaining == depth);
        let skip = if INVERSE { log_rows - remaining } else { remaining - depth };
        let pass = Pass { skip, scale: if last { scale } else { 0 }, ..strip.pass };
        let (from, to) = (if first { source } else { scratch_source }, if last { target } else { scratch });
        // SAFETY: at most STRIP_WORDS words go through the scratch, each written by the first pass before it is read.
        unsafe { radix_of_depth::<L, INVERSE>(depth, pass, from, to) };
        remaining -= depth;
    }
}

#[repr(align(64))]
struct Scratch(MaybeUninit<[u32; STRIP_WORDS]>);

/// Compiles the steps for lanes `$lanes` under target features, which reach the inlined code.
macro_rules! compile {
    ($module:ident, $lanes:ty, $log_tile:expr, $(#[$feature:meta])?) => {
        mod $module {
            use super::{Kernels, Lanes, Strip, Tile};

            $(#[$feature])?
            unsafe fn tile_inverse(tile: Tile) {
                // SAFETY: the caller's promise.
                unsafe { super::tile::<$lanes, true>(tile) }
            }

            $(#[$feature])?
            unsafe fn tile_forward(tile: Tile) {
                // SAFETY: the caller's promise.
                unsafe { super::tile::<$lanes, false>(tile) }
            }

            $(#[$feature])?
            unsafe fn strip_inverse(strip: Strip) {
                // SAFETY: the caller's promise.
                unsafe { super::strip::<$lanes, true>(strip) }
            }

            $(#[$feature])?
            unsafe fn strip_forward(strip: Strip) {
                // SAFETY: the caller's promise.
                unsafe { super::strip::<$lanes, false>(strip) }
            }

            pub(super) const KERNELS: Kernels = Kernels {
                log_block: <$lanes as Lanes>::LOG + 3,
                log_tile: $log_tile,
                tile_inverse,
                tile_forward,
                strip_inverse,
                strip_forward,
            };
        }
    };
}

compile!(portable, super::Portable, 11,);
#[cfg(target_arch = "x86_64")]
compile!(avx2, crate::circle::lanes::Avx2, 12, #[target_feature(enable = "avx2,fma,f16c")]);
#[cfg(target_arch = "x86_64")]
compile!(avx512, crate::circle::lanes::Avx512, 13, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]);
#[cfg(all(test, target_arch = "x86_64"))]
compile!(model, crate::circle::lanes::Model, 13,);
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) const MODEL_KERNELS: Kernels = model::KERNELS;
