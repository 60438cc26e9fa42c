//! Weighted sums of the parts of coefficient columns.
//!
//! Block `q` of `2^B` values is the transform, at its positions, of
//! `sum over t of w_t c[t 2^B + m]` for `0 <= m < 2^B`. These are the layers from `B` on of the
//! circle FFT. The weight `w_t` is the product, over the set bits `i` of `t`, of the twiddle of
//! layer `B + i` for pair `q >> (i+1)`, negated if bit `i` of `q` is set.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleRestrictParams,
};

use super::scalar;
use crate::{
    Simd,
    simd::{
        LaneKernel, dispatch,
        words::{Slices, Wide},
    },
};

/// Words of a task.
pub(super) const TILE: usize = 1 << 13;

/// Number of parts read at once.
///
/// There are few enough streams for prefetchers, and enough parts that sums are seldom stored.
const TOGETHER: usize = 16;

/// The weight of each part in the values of the block.
pub(super) fn weights(params: &CircleRestrictParams, twiddles: &[Twiddle]) -> Vec<M31> {
    let mut weights = Vec::with_capacity(1 << params.log_parts());
    weights.push(M31::ONE);
    for bit in 0..params.log_parts() {
        let (block, layer) = (params.block >> bit, params.log_block + bit);
        let twiddle = scalar::twiddle(twiddles, params.log_domain, layer, block as usize >> 1);
        let twiddle = if block & 1 == 1 { twiddle.negated() } else { twiddle };
        let half = weights.len();
        weights.extend_from_within(..);
        weights[half..].iter_mut().for_each(|weight| *weight = weight.times_twiddle(twiddle));
    }
    weights
}

/// Writes weighted sums of the parts of a column to `sums`.
///
/// It adds the words `start..` of each part of `stride` words.
pub(super) fn add_up(simd: Simd, column: &[M31], stride: usize, start: usize, weights: &[M31], sums: &mut [M31]) {
    let groups = column.chunks(TOGETHER * stride).zip(weights.chunks(TOGETHER));
    for (group, (parts, weights)) in groups.enumerate() {
        dispatch(simd, PartSums { parts, stride, start, weights, is_first: group == 0, sums });
    }
}

/// Sums over some of the parts.
struct PartSums<'a, 'b> {
    parts: &'a [M31],
    stride: usize,
    start: usize,
    weights: &'a [M31],
    /// Whether there are no sums yet to add to.
    is_first: bool,
    sums: &'b mut [M31],
}

impl<L: Wide> LaneKernel<L> for PartSums<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { parts, stride, start, weights, is_first, sums } = self;
        let whole = sums.len() / L::WIDTH * L::WIDTH;
        for at in (0..whole).step_by(L::WIDTH) {
            let mut sum = l.no_sums();
            let mut from = start + at;
            for four in weights.chunks(4) {
                for weight in four {
                    sum = l.add_products(sum, l.take(&parts[from..]), l.splat(weight.word()));
                    from += stride;
                }
                sum = l.folded(sum);
            }
            let sum = l.canonical(sum);
            let sum = if is_first { sum } else { l.add(l.take(&sums[at..]), sum) };
            l.put(&mut sums[at..], sum);
        }
        for at in whole..sums.len() {
            let terms = weights.iter().enumerate().map(|(part, &weight)| weight * parts[part * stride + start + at]);
            sums[at] = terms.fold(if is_first { M31::ZERO } else { sums[at] }, |sum, term| sum + term);
        }
    }
}
