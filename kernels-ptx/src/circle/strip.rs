//! Strips of rows.
//!
//! They run four to twelve layers above a tile's, on `2^log_rows` rows at distance `2^layer`.
//!
//! # Safety
//! Buffers hold the words that the parameters state; `twiddles` are the `2^(log_domain - 1)`
//! factors of the domain. Grid: one block per copy, strip and column, the copy fastest, so that
//! copies find their common source in cache. Block: 256 threads for strips of `2^12` words; 512
//! threads for wide ones of `2^14` words.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleStripParams,
};

use super::round::{Round, Words, padded};
use crate::dev::{
    idx::{bid_x, tid_x},
    memory::smem::{Layout, Region, SharedSlice},
    sync::block_sync,
    unroll::unroll,
};

const STRIP: Region<M31> = Layout::new().array(padded(1 << CircleStripParams::LOG_STRIP));
const WIDE_STRIP: Region<M31> = Layout::new().array(padded(1 << CircleStripParams::LOG_WIDE_STRIP));

/// Shared memory of a block.
pub(super) const SHARED_BYTES: u32 = STRIP.end().bytes();

/// Shared memory of a block for a wide strip. Some devices have no more than 99 KiB.
pub(super) const WIDE_SHARED_BYTES: u32 = WIDE_STRIP.end().bytes();

/// Writes and declares the kernels for one size of strips.
///
/// The number after a kernel's name is its `min_blocks`.
macro_rules! kernels {
    (
        $threads:literal, $strip:ident, $bytes:ident:
        $interpolate:ident $of_interpolate:literal, $evaluate:ident $of_evaluate:literal,
        $restrict:ident $of_restrict:literal, $lde:ident $of_lde:literal
    ) => {
        /// Values to coefficients, in place.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $interpolate(
            columns: *mut M31,
            twiddles: *const Twiddle,
            params: CircleStripParams,
        ) {
            run::<$threads, false>(Strip::of_block(columns, columns, &params), twiddles, &params, $strip.slice(), None);
        }

        /// Coefficients to values.
        ///
        /// `source` is the target, or columns of the `2^log_region` coefficients of every copy.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $evaluate(
            source: *const M31,
            columns: *mut M31,
            twiddles: *const Twiddle,
            params: CircleStripParams,
        ) {
            run::<$threads, true>(Strip::of_block(source, columns, &params), twiddles, &params, $strip.slice(), None);
        }

        /// Weighted sums of the parts of columns of `2^log_source` coefficients to values.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $restrict(
            coefficients: *const M31,
            values: *mut M31,
            twiddles: *const Twiddle,
            weights: *const Twiddle,
            params: CircleStripParams,
        ) {
            let strip = Strip::of_block(coefficients, values, &params);
            run::<$threads, true>(strip, twiddles, &params, $strip.slice(), Some(weights));
        }

        /// Values to coefficients in place, then the coefficients to every copy in `values`.
        ///
        /// These are the highest layers of both transforms of a low-degree extension. Grid: one
        /// block per strip and column of `columns`.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $lde(
            columns: *mut M31,
            values: *mut M31,
            inverse_twiddles: *const Twiddle,
            twiddles: *const Twiddle,
            inverse: CircleStripParams,
            params: CircleStripParams,
        ) {
            run_both::<$threads>(columns, values, [inverse_twiddles, twiddles], [&inverse, &params], $strip.slice());
        }

        kernel_table! {
            $interpolate: block [$threads, 1, 1], min_blocks $of_interpolate, shared Bytes($bytes), barriers 1;
            $evaluate: block [$threads, 1, 1], min_blocks $of_evaluate, shared Bytes($bytes), barriers 1;
            $restrict: block [$threads, 1, 1], min_blocks $of_restrict, shared Bytes($bytes), barriers 1;
            $lde: block [$threads, 1, 1], min_blocks $of_lde, shared Bytes($bytes), barriers 3;
        }
    };
}

kernels!(256, STRIP, SHARED_BYTES: circle_strip_interpolate 3, circle_strip_evaluate 4, circle_strip_restrict 3,
    circle_strip_lde 3);
kernels!(512, WIDE_STRIP, WIDE_SHARED_BYTES: circle_wide_strip_interpolate 1, circle_wide_strip_evaluate 1,
    circle_wide_strip_restrict 1, circle_wide_strip_lde 1);

/// Runs both transforms of a strip.
///
/// The first round of a transform from coefficients gives each thread the words that it stored in
/// the last round of the transform to them. It reads them back from global memory, that is from
/// cache, without a barrier.
#[inline(always)]
unsafe fn run_both<const THREADS: u32>(
    columns: *mut M31,
    values: *mut M31,
    [inverse_twiddles, twiddles]: [*const Twiddle; 2],
    [inverse, params]: [&CircleStripParams; 2],
    shared: SharedSlice<M31>,
) {
    run::<THREADS, false>(Strip::of_block(columns, columns, inverse), inverse_twiddles, inverse, shared, None);
    let mut copy = 0;
    while copy >> (params.log_size - params.log_region) == 0 {
        // The transform before has read its last words from shared memory.
        block_sync();
        let strip = Strip::of_copy(columns, values, params, copy, bid_x());
        run::<THREADS, true>(strip, twiddles, params, shared, None);
        copy += 1;
    }
}

#[inline(always)]
unsafe fn run<const THREADS: u32, const EVALUATE: bool>(
    strip: Strip,
    twiddles: *const Twiddle,
    params: &CircleStripParams,
    shared: SharedSlice<M31>,
    weights: Option<*const Twiddle>,
) {
    let log_threads = THREADS.ilog2();
    let sets = 1 << (params.log_rows + params.log_width - 4 - log_threads);
    let rounds = (params.log_rows + 3) / 4;
    let mut number = 0;
    while number < rounds {
        let round = if EVALUATE { rounds - 1 - number } else { number };
        let last = number + 1 == rounds;
        // The lowest of four row bits. The last round overlaps the one before and leaves the layers that it ran out.
        let bit = (4 * round).min(params.log_rows - 4);
        let mut set = 0;
        while set < sets {
            let place = Place::new(set << log_threads | tid_x(), bit, params);
            let layers = Round {
                twiddles,
                log_domain: params.log_domain,
                layer: params.layer + bit,
                position: (strip.row + place.row) >> bit,
                mask: 15,
                first: 4 * round - bit,
                end: 4,
            };
            let mut words = match weights {
                _ if number > 0 => place.get(shared, bit, params),
                None => strip.load(&place, bit),
                Some(weights) => strip.load_sums(&place, bit, params, weights),
            };
            if EVALUATE {
                layers.evaluate(&mut words);
            } else {
                layers.interpolate(&mut words);
            }
            if last {
                strip.store(&place, bit, &words);
            } else {
                place.put(shared, bit, params, &words);
            }
            set += 1;
        }
        if !last {
            block_sync();
        }
        number += 1;
    }
}

/// A strip in global memory.
struct Strip {
    source: *const M31,
    target: *mut M31,
    /// Position of its first row in the domain, in rows.
    row: u32,
    layer: u32,
    scale: u32,
}

impl Strip {
    /// The strip of this block if each copy has a separate block.
    #[inline(always)]
    unsafe fn of_block(source: *const M31, target: *mut M31, params: &CircleStripParams) -> Self {
        let log_copies = params.log_size - params.log_region;
        Self::of_copy(source, target, params, bid_x() & ((1 << log_copies) - 1), bid_x() >> log_copies)
    }

    /// Strip `number` of all columns, in copy `copy`.
    #[inline(always)]
    unsafe fn of_copy(
        source: *const M31,
        target: *mut M31,
        params: &CircleStripParams,
        copy: u32,
        number: u32,
    ) -> Self {
        let CircleStripParams { log_size, log_source, log_region, layer, log_rows, log_width, scale, position, .. } =
            *params;
        let log_strips = log_region - log_rows - log_width;
        let strip = number & ((1 << log_strips) - 1);
        let column = (number >> log_strips) as usize;
        let first = (strip & ((1 << (layer - log_width)) - 1)) << log_width;
        let segment = strip >> (layer - log_width) << (layer + log_rows);
        let offset = (segment + first) as usize;
        let copy_offset = (copy << log_region) as usize;
        let from = if log_source == log_size { copy_offset } else { 0 };
        Self {
            source: source.add((column << log_source) + from + offset),
            target: target.add((column << log_size) + copy_offset + offset),
            row: (position + (copy << log_region) + segment) >> layer,
            layer,
            scale,
        }
    }

    #[inline(always)]
    unsafe fn load(&self, place: &Place, bit: u32) -> Words {
        let source = self.source.add(place.offset(self.layer));
        let mut words = [M31::ZERO; 16];
        unroll!(J in 0..16 => { words[J as usize] = *source.add((J as usize) << (self.layer + bit)); });
        words
    }

    /// Sums of the parts of the source, which are as long as a region.
    ///
    /// The weight of the first is one.
    #[inline(always)]
    unsafe fn load_sums(&self, place: &Place, bit: u32, params: &CircleStripParams, weights: *const Twiddle) -> Words {
        let mut words = self.load(place, bit);
        let mut source = self.source.add(place.offset(self.layer));
        let mut part = 1;
        while part >> (params.log_source - params.log_region) == 0 {
            source = source.add(1 << params.log_region);
            let weight = *weights.add(part);
            unroll!(J in 0..16 => {
                let word = *source.add((J as usize) << (self.layer + bit));
                words[J as usize] = words[J as usize].plus_product(word, weight);
            });
            part += 1;
        }
        words
    }

    #[inline(always)]
    unsafe fn store(&self, place: &Place, bit: u32, words: &Words) {
        let target = self.target.add(place.offset(self.layer));
        unroll!(J in 0..16 => {
            *target.add((J as usize) << (self.layer + bit)) = words[J as usize].times_power_of_two(self.scale);
        });
    }
}

/// Where the sixteen words of a thread stand in the strip: `row + (j << bit)` at `column`.
struct Place {
    row: u32,
    column: u32,
}

impl Place {
    #[inline(always)]
    fn new(item: u32, bit: u32, params: &CircleStripParams) -> Self {
        let column = item & ((1 << params.log_width) - 1);
        let mut rest = item >> params.log_width;
        let rest_bits = params.log_rows - 4;
        if bit == 0 && rest_bits > 0 {
            // The rows of a warp are then 32 apart, which lie in different banks.
            rest = rest << 1 & ((1 << rest_bits) - 1) | rest >> (rest_bits - 1);
        }
        Self { row: rest >> bit << (bit + 4) | rest & ((1 << bit) - 1), column }
    }

    #[inline(always)]
    fn offset(&self, layer: u32) -> usize {
        ((self.row as usize) << layer) + self.column as usize
    }

    /// The bits of both summands are disjoint, so that padding distributes over them.
    #[inline(always)]
    fn index(&self, j: u32, bit: u32, params: &CircleStripParams) -> u32 {
        padded((self.row << params.log_width) + self.column) + padded(j << (bit + params.log_width))
    }

    #[inline(always)]
    unsafe fn get(&self, shared: SharedSlice<M31>, bit: u32, params: &CircleStripParams) -> Words {
        let mut words = [M31::ZERO; 16];
        unroll!(J in 0..16 => { words[J as usize] = word(shared.addr(self.index(J, bit, params)).load()); });
        words
    }

    #[inline(always)]
    unsafe fn put(&self, shared: SharedSlice<M31>, bit: u32, params: &CircleStripParams, words: &Words) {
        unroll!(J in 0..16 => { shared.addr(self.index(J, bit, params)).store(words[J as usize].word()); });
    }
}

/// The element of a word that a thread of this block stored.
#[inline(always)]
const unsafe fn word(word: u32) -> M31 {
    core::mem::transmute(word)
}
