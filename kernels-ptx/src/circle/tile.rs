//! Contiguous tiles.
//!
//! They run layers 0 to at most 11 of the transform, sixteen consecutive words of `2^12` in the
//! lowest round. Pairs of tiles run layer 12 too: a thread holds the same words of both.
//!
//! # Safety
//! Buffers hold the words that the parameters state; `twiddles` are the `2^(log_domain - 1)`
//! factors of the domain. Grid: one block per tile of a column, or per pair of them, by one row per
//! group of `columns_per_block` columns; block: 256 threads.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleTileParams,
};

use super::round::{Round, Words, padded};
use crate::dev::{
    idx::{bid_x, bid_y, tid_x},
    memory::smem::{Layout, Region, SharedSlice},
    opaque::{opaque, opaque_word},
    sync::block_sync,
    unroll::unroll,
};

const LOG_TILE: u32 = CircleTileParams::LOG_TILE;
const TILE: Region<M31> = Layout::new().array(padded(1 << LOG_TILE));

/// Shared memory of a block.
pub(super) const SHARED_BYTES: u32 = TILE.end().bytes();

/// Values to coefficients, in place.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_interpolate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleTileParams,
) {
    let block = Block::new(twiddles, &params);
    for column in block.columns() {
        let block = block.renewed();
        let words = block.words_of(column, bid_x());
        let w = block.interpolate(columns, &words);
        unroll!(J in 0..16 => { words.store(columns, J, w[J as usize].times_power_of_two(params.scale)); });
    }
}

/// [`circle_tile_interpolate`] of pairs of tiles.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_pair_interpolate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleTileParams,
) {
    let block = Block::new(twiddles, &params);
    for column in block.columns() {
        let block = block.renewed();
        let [low, high] = block.pair_of(column);
        let mut a = block.interpolate(columns, &low);
        let mut b = block.renewed().interpolate(columns, &high);
        let t = block.twiddle_of_pair();
        unroll!(J in 0..16 => {
            const I: usize = J as usize;
            (a[I], b[I]) = a[I].inverse_butterfly(b[I], t);
            low.store(columns, J, a[I].times_power_of_two(params.scale));
            high.store(columns, J, b[I].times_power_of_two(params.scale));
        });
    }
}

/// Coefficients to values, in place.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_evaluate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleTileParams,
) {
    evaluate(columns, twiddles, &params, |words| words.load(columns));
}

/// [`circle_tile_evaluate`] of pairs of tiles.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_pair_evaluate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleTileParams,
) {
    let block = Block::new(twiddles, &params);
    for column in block.columns() {
        let block = block.renewed();
        let [low, high] = block.pair_of(column);
        let (mut a, mut b) = (low.load(columns), high.load(columns));
        let t = block.twiddle_of_pair();
        unroll!(J in 0..16 => { (a[J as usize], b[J as usize]) = a[J as usize].butterfly(b[J as usize], t); });
        block.evaluate(columns, &low, a);
        block.renewed().evaluate(columns, &high, b);
    }
}

/// Coefficients of a smaller polynomial to values.
///
/// Every copy of a column reads the same `2^log_source` words.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_extend(
    coefficients: *const M31,
    values: *mut M31,
    twiddles: *const Twiddle,
    params: CircleTileParams,
) {
    evaluate(values, twiddles, &params, |words| words.load_spread(coefficients, &params));
}

/// Weighted sums of the parts of columns of `2^log_source` coefficients to values.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_tile_restrict(
    coefficients: *const M31,
    values: *mut M31,
    twiddles: *const Twiddle,
    weights: *const Twiddle,
    params: CircleTileParams,
) {
    evaluate(values, twiddles, &params, |words| words.load_sums(coefficients, weights, &params));
}

#[inline(always)]
unsafe fn evaluate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: &CircleTileParams,
    load: impl Fn(&TileWords) -> Words,
) {
    let block = Block::new(twiddles, params);
    for column in block.columns() {
        let block = block.renewed();
        let words = block.words_of(column, bid_x());
        block.evaluate(columns, &words, load(&words));
    }
}

/// Which sixteen words of the tile a thread holds.
///
/// A column begins and ends with the coalesced ones, so that no barrier is needed between columns.
#[derive(Clone, Copy)]
enum Arrangement {
    /// Consecutive ones: bits 0 to 3 of the index.
    Consecutive,
    /// At distance 16: bits 4 to 7.
    Middle,
    /// At distance 256: bits 8 to 11. Neighbouring threads hold neighbouring words.
    Coalesced,
}

impl Arrangement {
    /// Index of word 0 of the thread.
    ///
    /// Bits of the index that differ within a warp meet different banks.
    #[inline(always)]
    fn base(self) -> u32 {
        let t = tid_x();
        match self {
            Self::Consecutive => t << 4,
            Self::Middle => {
                let high = t >> 4;
                (high << 1 & 15 | high >> 3) << 8 | t & 15
            }
            Self::Coalesced => t,
        }
    }

    /// Log of the distance between the words of a thread.
    const fn log_distance(self) -> u32 {
        match self {
            Self::Consecutive => 0,
            Self::Middle => 4,
            Self::Coalesced => 8,
        }
    }

    /// Place of word `j` of the thread.
    ///
    /// The bits of both summands are disjoint, so that padding distributes over them.
    #[inline(always)]
    fn place(self, j: u32) -> u32 {
        padded(self.base()) + padded(j << self.log_distance())
    }
}

/// The context of a block.
#[derive(Clone, Copy)]
struct Block<'a> {
    twiddles: *const Twiddle,
    /// One less than the words of a column.
    mask: u32,
    params: &'a CircleTileParams,
    shared: SharedSlice<M31>,
}

impl<'a> Block<'a> {
    #[inline(always)]
    unsafe fn new(twiddles: *const Twiddle, params: &'a CircleTileParams) -> Self {
        Self { twiddles, mask: (1 << params.log_size) - 1, params, shared: TILE.slice() }
    }

    /// The same, but nothing computed from it stays in registers from one column to the next.
    #[inline(always)]
    fn renewed(&self) -> Self {
        Self { twiddles: opaque(self.twiddles), mask: opaque_word(self.mask), ..*self }
    }

    /// The columns that this block runs.
    #[inline(always)]
    fn columns(&self) -> core::ops::Range<u32> {
        let first = bid_y() * self.params.columns_per_block;
        first..(first + self.params.columns_per_block).min(self.params.columns)
    }

    /// A tile of a column.
    #[inline(always)]
    fn words_of(&self, column: u32, tile: u32) -> TileWords {
        let first = (u64::from(column) << self.params.log_size) + (u64::from(tile) << LOG_TILE);
        TileWords { tile, first, len: (self.params.words - first).min(1 << LOG_TILE) as u32 }
    }

    /// Both tiles of this block's pair, which are whole.
    #[inline(always)]
    fn pair_of(&self, column: u32) -> [TileWords; 2] {
        [2 * bid_x(), 2 * bid_x() + 1].map(|tile| TileWords { len: u32::MAX, ..self.words_of(column, tile) })
    }

    /// The factor of layer 12 for this block's pair.
    #[inline(always)]
    unsafe fn twiddle_of_pair(&self) -> Twiddle {
        let offset = (1 << (self.params.log_domain - 1)) - (1 << (self.params.log_domain - LOG_TILE));
        *self.twiddles.add((offset + (self.params.position >> (LOG_TILE + 1)) + bid_x()) as usize)
    }

    /// The four layers from layer `4 number` on.
    #[inline(always)]
    fn round(&self, words: &TileWords, number: u32) -> Round {
        let arrangement = match number {
            0 => Arrangement::Consecutive,
            1 => Arrangement::Middle,
            _ => Arrangement::Coalesced,
        };
        let position = (((words.tile << LOG_TILE) + arrangement.base()) & self.mask) + self.params.position;
        let layer = 4 * number;
        Round {
            twiddles: self.twiddles,
            log_domain: self.params.log_domain,
            layer,
            position: position >> layer,
            mask: self.mask >> layer & 15,
            first: 0,
            end: self.params.layers - layer,
        }
    }

    /// The layers of a tile upwards: coalesced words of its coefficients, but for their scale.
    #[inline(always)]
    unsafe fn interpolate(&self, columns: *const M31, words: &TileWords) -> Words {
        self.put(Arrangement::Coalesced, &words.load(columns));
        block_sync();
        let mut w = self.get(Arrangement::Consecutive);
        self.round(words, 0).interpolate_lowest(&mut w);
        self.put(Arrangement::Consecutive, &w);
        block_sync();
        if self.params.layers > 4 {
            w = self.get(Arrangement::Middle);
            self.round(words, 1).interpolate(&mut w);
            self.put(Arrangement::Middle, &w);
        }
        block_sync();
        w = self.get(Arrangement::Coalesced);
        if self.params.layers > 8 {
            self.round(words, 2).interpolate(&mut w);
        }
        w
    }

    /// The layers of a tile downwards, from its coalesced words on.
    #[inline(always)]
    unsafe fn evaluate(&self, columns: *mut M31, words: &TileWords, mut w: Words) {
        if self.params.layers > 8 {
            self.round(words, 2).evaluate(&mut w);
        }
        self.put(Arrangement::Coalesced, &w);
        block_sync();
        if self.params.layers > 4 {
            w = self.get(Arrangement::Middle);
            self.round(words, 1).evaluate(&mut w);
            self.put(Arrangement::Middle, &w);
        }
        block_sync();
        w = self.get(Arrangement::Consecutive);
        self.round(words, 0).evaluate_lowest(&mut w);
        self.put(Arrangement::Consecutive, &w);
        block_sync();
        w = self.get(Arrangement::Coalesced);
        unroll!(J in 0..16 => { words.store(columns, J, w[J as usize]); });
    }

    #[inline(always)]
    unsafe fn get(&self, arrangement: Arrangement) -> Words {
        let mut words = [M31::ZERO; 16];
        unroll!(J in 0..16 => { words[J as usize] = self.shared.get(arrangement.place(J)); });
        words
    }

    #[inline(always)]
    unsafe fn put(&self, arrangement: Arrangement, words: &Words) {
        unroll!(J in 0..16 => { self.shared.set(arrangement.place(J), words[J as usize]); });
    }
}

/// A tile in global memory; words past the batch read as zero and are not written.
struct TileWords {
    /// Its number in the column.
    tile: u32,
    first: u64,
    /// Words up to the end of the batch, or more than a tile has.
    len: u32,
}

impl TileWords {
    #[inline(always)]
    fn index(j: u32) -> u32 {
        tid_x() + (j << 8)
    }

    #[inline(always)]
    unsafe fn load(&self, columns: *const M31) -> Words {
        let mut words = [M31::ZERO; 16];
        unroll!(J in 0..16 => {
            let index = Self::index(J);
            if index < self.len {
                words[J as usize] = *columns.add(self.first as usize).add(index as usize);
            }
        });
        words
    }

    /// The coefficients that the words start from, in columns of `2^log_source` of them.
    #[inline(always)]
    unsafe fn load_spread(&self, coefficients: *const M31, params: &CircleTileParams) -> Words {
        let mut words = [M31::ZERO; 16];
        unroll!(J in 0..16 => {
            let index = Self::index(J);
            if index < self.len {
                let word = self.first + u64::from(index);
                let source = (word >> params.log_size << params.log_source) + (word & ((1 << params.log_source) - 1));
                words[J as usize] = *coefficients.add(source as usize);
            }
        });
        words
    }

    /// Sums of the parts of columns of `2^log_source` coefficients.
    #[inline(always)]
    unsafe fn load_sums(&self, coefficients: *const M31, weights: *const Twiddle, params: &CircleTileParams) -> Words {
        let mut words = [M31::ZERO; 16];
        let mut part = 0;
        while part >> (params.log_source - params.log_size) == 0 {
            let coefficients = coefficients.add(part << params.log_size);
            let weight = *weights.add(part);
            // Sixteen places that stay the same would not fit the registers.
            let log_size = opaque_word(params.log_size);
            unroll!(J in 0..16 => {
                let index = Self::index(J);
                if index < self.len {
                    let word = self.first + u64::from(index);
                    let source = (word >> log_size << params.log_source) + (word & ((1 << log_size) - 1));
                    let word = *coefficients.add(source as usize);
                    words[J as usize] = words[J as usize].plus_product(word, weight);
                }
            });
            part += 1;
        }
        words
    }

    #[inline(always)]
    unsafe fn store(&self, columns: *mut M31, j: u32, word: M31) {
        let index = Self::index(j);
        if index < self.len {
            *columns.add(self.first as usize).add(index as usize) = word;
        }
    }
}

kernel_table! {
    circle_tile_interpolate: block [256, 1, 1], min_blocks 4, shared Bytes(SHARED_BYTES), barriers 3;
    circle_tile_evaluate: block [256, 1, 1], min_blocks 4, shared Bytes(SHARED_BYTES), barriers 3;
    circle_tile_extend: block [256, 1, 1], min_blocks 3, shared Bytes(SHARED_BYTES), barriers 3;
    circle_tile_restrict: block [256, 1, 1], min_blocks 3, shared Bytes(SHARED_BYTES), barriers 3;
    circle_tile_pair_interpolate: block [256, 1, 1], min_blocks 2, shared Bytes(SHARED_BYTES), barriers 6;
    circle_tile_pair_evaluate: block [256, 1, 1], min_blocks 2, shared Bytes(SHARED_BYTES), barriers 6;
}
