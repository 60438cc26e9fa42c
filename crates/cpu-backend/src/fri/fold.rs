//! Folds, a tile of values at a time.
//!
//! `f'(h) = (f(2h) + f(2h+1)) + a (f(2h) - f(2h+1)) / t`, where `t` is the y-coordinate at position
//! `2h` in the first fold, on the circle, and the x-coordinate in all others, on lines. Fold `j` of
//! a layer with challenge `alpha` takes `a = alpha^(2^j)` (FRI, ICALP 2018; on the circle
//! <https://eprint.iacr.org/2024/278>; stwo 2.3, `core/fri.rs`).

use core_types::{
    field::{Field, M31, QM31, Twiddle},
    params::fri::FriFoldParams,
};

use crate::{
    Simd,
    circle::scalar::twiddle,
    simd::{
        LaneKernel, dispatch,
        words::{Slices, WordVectors, secure_product},
    },
};

/// Log of the values of a tile, unless more of them fold to one.
const LOG_TILE: u32 = 12;

/// Prefetch distance in words.
///
/// A layer is four streams read and four written, too many for the hardware prefetchers to follow
/// fast enough.
const AHEAD: usize = 128;

/// The folds of a layer.
pub(super) struct Folds<'a> {
    params: FriFoldParams,
    log_tile: u32,
    inverse_twiddles: &'a [Twiddle],
    challenge: QM31,
    values: &'a [M31],
}

impl<'a> Folds<'a> {
    pub(super) fn new(
        params: FriFoldParams,
        inverse_twiddles: &'a [Twiddle],
        challenge: QM31,
        values: &'a [M31],
    ) -> Self {
        let log_tile = LOG_TILE.max(params.folds).min(params.log_size);
        Self { params, log_tile, inverse_twiddles, challenge, values }
    }

    /// Words that a tile folds to, in each plane.
    pub(super) fn folded_len(&self) -> usize {
        1 << (self.log_tile - self.params.folds)
    }

    /// Words that a tile needs for what its values fold to before the last fold.
    pub(super) fn scratch_len(&self) -> usize {
        if self.params.folds == 1 { 0 } else { 6 << (self.log_tile - 1) }
    }

    /// Folds tile `tile` into four planes.
    pub(super) fn write(&self, simd: Simd, tile: usize, planes: &mut [&mut [M31]]) {
        let FriFoldParams { log_size, folds, on_circle } = self.params;
        // Two buffers take turns for the values between folds.
        let start = tile << self.log_tile;
        let mut scratch = vec![M31::ZERO; self.scratch_len()];
        let (mut target, mut source) = scratch.split_at_mut(self.scratch_len() / 3 * 2);
        let mut alpha = self.challenge;
        for fold in 0..folds {
            let len = 1 << (self.log_tile - fold - 1);
            let layer = FoldPairs {
                log_domain: self.params.log_domain(),
                layer: fold + 1 - on_circle,
                first: start >> (fold + 1),
                alpha,
                inverse_twiddles: self.inverse_twiddles,
            };
            // The first fold reads the layer, the others the previous fold.
            let from = if fold == 0 {
                [0, 1, 2, 3].map(|k| &self.values[(k << log_size) + start..][..2 * len])
            } else {
                [0, 1, 2, 3].map(|k| &source[2 * k * len..][..2 * len])
            };
            // The last fold writes the result.
            if fold + 1 == folds {
                return dispatch(simd, Fold { layer, from, to: planes });
            }
            let mut parts: Vec<&mut [M31]> = target.chunks_mut(len).take(4).collect();
            dispatch(simd, Fold { layer, from, to: &mut parts });
            core::mem::swap(&mut source, &mut target);
            alpha = alpha.square();
        }
    }
}

/// The pairs of a fold.
struct FoldPairs<'a> {
    log_domain: u32,
    /// The layer of the canonic domain whose twiddles the fold takes: 0 on the circle.
    layer: u32,
    /// The first pair.
    first: usize,
    alpha: QM31,
    inverse_twiddles: &'a [Twiddle],
}

/// A fold of four planes.
struct Fold<'a, 'b, 'c> {
    layer: FoldPairs<'a>,
    from: [&'b [M31]; 4],
    to: &'b mut [&'c mut [M31]],
}

impl<L: WordVectors> LaneKernel<L> for Fold<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { layer: FoldPairs { log_domain, layer, first, alpha, inverse_twiddles }, from, to } = self;
        let len = to[0].len();
        // Less than a vector of pairs is folded pair by pair.
        if len < L::WIDTH {
            for pair in 0..len {
                let t = twiddle(inverse_twiddles, log_domain, layer, first + pair);
                let [left, right] =
                    [2 * pair, 2 * pair + 1].map(|at| QM31::from_coordinates([0, 1, 2, 3].map(|k| from[k][at])));
                let folded = (left + right) + alpha * (left - right).scale(t.factor());
                for (plane, word) in to.iter_mut().zip(folded.coordinates()) {
                    plane[pair] = word;
                }
            }
            return;
        }
        // The twiddles of layer 0 are computed from the twiddles of layer 1, which come first.
        let layer_start = (1usize << (log_domain - 1)) - (1usize << (log_domain - layer.max(1)));
        let twiddles = &inverse_twiddles[layer_start..];
        let alpha = alpha.coordinates().map(|word| l.splat(word.word()));
        for at in (0..len).step_by(L::WIDTH) {
            let t = if layer == 0 {
                l.take_circle_twiddles(&twiddles[(first + at) / 2..])
            } else {
                l.take_twiddles(&twiddles[first + at..])
            };
            for (source, target) in from.iter().zip(to.iter()) {
                let source = source.as_ptr().cast::<u32>().wrapping_add(2 * (at + AHEAD));
                l.prefetch(source);
                l.prefetch(source.wrapping_add(L::WIDTH));
                l.prefetch_for_store(target.as_ptr().cast::<u32>().wrapping_add(at + AHEAD));
            }
            // Sums, and differences times inverse twiddles, by coordinate.
            let (mut sums, mut differences) = ([t; 4], [t; 4]);
            for k in 0..4 {
                let pairs = &from[k][2 * at..];
                // Split step 0 separates the values at even places (left) from the values at odd ones (right).
                let (left, right) = l.split::<0>(l.take(pairs), l.take(&pairs[L::WIDTH..]));
                sums[k] = l.add(left, right);
                differences[k] = l.mul(l.sub(left, right), t);
            }
            // Differences times the challenge, added to the sums.
            let products = secure_product(l, differences, alpha);
            for (plane, (sum, product)) in to.iter_mut().zip(sums.into_iter().zip(products)) {
                l.put(&mut plane[at..], l.add(sum, product));
            }
        }
    }
}
