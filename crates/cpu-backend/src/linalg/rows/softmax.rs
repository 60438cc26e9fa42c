//! Softmax of contiguous rows: three passes over a row that stays in L1.
//!
//! With `m` the greatest element and `S = sum over j of exp(x_j - m)`, softmax is
//! `exp(x_i - m) / S` and its logarithm `x_i - m - ln S`. Gradients are
//! `y_i (g_i - sum over j of y_j g_j)` and `g_i - exp(y_i) sum over j of g_j`.

use core_types::params::rows::SoftmaxParams;

use super::{
    MaskSlice, SoftmaxVariant, UNROLL,
    convert::{OutRow, next_row, prefetch, scratch},
    ends_part, total, unrolled,
};
use crate::{
    linalg::{
        convert::{in_f32, widen},
        reals::{Reals, RealsMut},
        vmath::{EXP_SCALE, exp_scaled},
    },
    simd::{LaneKernel, floats::Floats},
};

/// Consecutive rows of a softmax with `inner = 1`.
pub(super) struct SoftmaxRowsForward<'a> {
    pub(super) kind: SoftmaxVariant,
    pub(super) p: &'a SoftmaxParams,
    pub(super) mask: MaskSlice<'a>,
    pub(super) first_row: usize,
    /// The elements; without them, those that y holds.
    pub(super) x: Option<Reals<'a>>,
    pub(super) y: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for SoftmaxRowsForward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let len = self.p.axis.len as usize;
        let period = self.p.mask_period as usize;
        let lowest = self.y.shared().lowest();
        // A row in place is copied, so that its passes read the elements while they write results.
        let mut wide_x = match self.x {
            Some(x) => scratch(x, len),
            None => vec![0.0; len],
        };
        let mut wide_y = scratch(self.y.shared(), len);
        let mut masked = vec![0.0; if matches!(self.mask, MaskSlice::Keep(_) | MaskSlice::Add(_)) { len } else { 0 }];
        for i in 0..self.y.len() / len {
            let (row, cells) = (self.first_row + i, i * len..(i + 1) * len);
            let (x, next) = match self.x {
                Some(x) => (in_f32(l, x.range(cells.clone()), &mut wide_x), next_row(x, i, len)),
                None => {
                    widen(l, self.y.shared().range(cells.clone()), &mut wide_x);
                    (&wide_x[..], &[][..])
                }
            };
            let mut out = OutRow::new(self.y.range(cells), &mut wide_y);
            let y = out.values();
            // Elements that the mask leaves out become -inf, or are cut off.
            let of_row = || {
                let at = row % period * len;
                at..at + len
            };
            // One call for all kinds of masks: the compiler makes a copy of the row's loops for each.
            let (values, kept, next, any) = match self.mask {
                MaskSlice::None => (x, len, next, true),
                MaskSlice::Causal => {
                    let kept = self.p.causal_len(row as u64) as usize;
                    (x, kept, &[][..], kept > 0)
                }
                MaskSlice::Keep(mask) => {
                    let mask = &mask[of_row()];
                    for ((z, &x), &keep) in masked.iter_mut().zip(x).zip(mask) {
                        *z = if keep { x } else { f32::NEG_INFINITY };
                    }
                    (&masked[..], len, next, mask.contains(&true))
                }
                MaskSlice::Add(mask) => {
                    let mask = &mask[of_row()];
                    for ((z, &x), &m) in masked.iter_mut().zip(x).zip(mask) {
                        *z = x + m;
                    }
                    (&masked[..], len, next, mask.iter().any(|&m| m != f32::NEG_INFINITY))
                }
            };
            self.kind.row(l, &values[..kept], next, &mut y[..kept], any, lowest);
            y[kept..].fill(self.kind.excluded());
            out.finish(l);
        }
    }
}

impl SoftmaxVariant {
    /// One row, followed by the row `next` if that is not empty.
    ///
    /// A row whose elements are all -inf is NaN if it has `any` element that the mask does not
    /// leave out. Finite logarithms are not below `lowest`.
    #[inline(always)]
    fn row<L: Floats>(self, l: L, x: &[f32], next: &[f32], y: &mut [f32], any: bool, lowest: f32) {
        let greatest = greatest(l, x, y);
        if greatest == f32::NEG_INFINITY {
            y.fill(if any { f32::NAN } else { self.excluded() });
            return;
        }
        match self {
            Self::Softmax => {
                let sum = exp_and_sum(l, x, next, greatest, y);
                scale(l, y, 1.0 / sum);
            }
            Self::Log => {
                let log_sum = self::log_sum(l, x, next, greatest);
                subtract(l, x, [greatest, log_sum, lowest], y);
            }
        }
    }
}

/// The greatest element that is not NaN; -inf if there is none.
///
/// Fetches y for the passes that follow.
#[inline(always)]
pub(in crate::linalg) fn greatest<L: Floats>(l: L, x: &[f32], y: &[f32]) -> f32 {
    let low = l.splat(f32::NEG_INFINITY);
    let mut acc = [low; UNROLL];
    let mut blocks = x.chunks_exact(unrolled::<L>());
    let mut fetch = y.chunks(unrolled::<L>());
    for x in &mut blocks {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            acc[u] = l.max(l.load(&x[u * L::N..]), acc[u]); // NaN loses
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        acc[0] = l.max(l.load(x), acc[0]);
    }
    acc[1] = l.max(l.load_partial(vectors.remainder(), f32::NEG_INFINITY), acc[1]);
    l.greatest(l.max(l.max(acc[0], acc[1]), l.max(acc[2], acc[3])))
}

/// `y = 2^64 exp(x - greatest)`; returns the sum of y, NaN if any element is NaN.
#[inline(always)]
pub(in crate::linalg) fn exp_and_sum<L: Floats>(l: L, x: &[f32], next: &[f32], greatest: f32, y: &mut [f32]) -> f32 {
    let m = l.splat(greatest);
    let (mut sum, mut acc) = (l.splat(0.0), [l.splat(0.0); UNROLL]);
    let mut fetch = next.chunks(unrolled::<L>());
    // Whole blocks; parts are added up apart.
    let mut blocks = x.chunks_exact(unrolled::<L>());
    let mut outs = y.chunks_exact_mut(unrolled::<L>());
    for (step, (x, y)) in (&mut blocks).zip(&mut outs).enumerate() {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            let e = exp_scaled(l, l.sub(l.load(&x[u * L::N..]), m));
            l.store(&mut y[u * L::N..], e);
            acc[u] = l.add(acc[u], e);
        }
        if ends_part(step) {
            (sum, acc) = (l.add(sum, total(l, acc)), [l.splat(0.0); UNROLL]);
        }
    }
    acc[3] = l.add(acc[3], sum); // independent of the additions below, so they overlap
    // The rest of the row.
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    let mut outs = outs.into_remainder().chunks_exact_mut(L::N);
    for (x, y) in (&mut vectors).zip(&mut outs) {
        let e = exp_scaled(l, l.sub(l.load(x), m));
        l.store(y, e);
        acc[0] = l.add(acc[0], e);
    }
    if !vectors.remainder().is_empty() {
        // The fill adds less than 1e-25 to a sum of at least 2^64.
        let e = exp_scaled(l, l.sub(l.load_partial(vectors.remainder(), f32::NEG_INFINITY), m));
        l.store_partial(outs.into_remainder(), e);
        acc[1] = l.add(acc[1], e);
    }
    l.sum(total(l, acc))
}

/// `y *= factor`.
#[inline(always)]
fn scale<L: Floats>(l: L, y: &mut [f32], factor: f32) {
    let f = l.splat(factor);
    let mut vectors = y.chunks_exact_mut(L::N);
    for y in &mut vectors {
        let v = l.mul(l.load(y), f);
        l.store(y, v);
    }
    let rest = vectors.into_remainder();
    let v = l.mul(l.load_partial(rest, 0.0), f);
    l.store_partial(rest, v);
}

/// `ln sum exp(x - greatest)`.
///
/// Elements equal to the greatest are counted separately, so that a sum near 1 loses nothing.
#[inline(always)]
fn log_sum<L: Floats>(l: L, x: &[f32], next: &[f32], greatest: f32) -> f32 {
    let m = l.splat(greatest);
    let zero = l.splat(0.0);
    let (mut all_rest, mut all_ties) = (zero, zero);
    let (mut rest, mut ties) = ([zero; UNROLL], [zero; UNROLL]);
    let mut fetch = next.chunks(unrolled::<L>());
    // Whole blocks; parts are added up apart.
    let mut blocks = x.chunks_exact(unrolled::<L>());
    for (step, x) in (&mut blocks).enumerate() {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            (rest[u], ties[u]) = log_sum_step(l, l.load(&x[u * L::N..]), m, rest[u], ties[u]);
        }
        if ends_part(step) {
            (all_rest, rest) = (l.add(all_rest, total(l, rest)), [zero; UNROLL]);
            (all_ties, ties) = (l.add(all_ties, total(l, ties)), [zero; UNROLL]);
        }
    }
    // The rest of the row.
    (rest[3], ties[3]) = (l.add(rest[3], all_rest), l.add(ties[3], all_ties));
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        (rest[0], ties[0]) = log_sum_step(l, l.load(x), m, rest[0], ties[0]);
    }
    if !vectors.remainder().is_empty() {
        let x = l.load_partial(vectors.remainder(), f32::NEG_INFINITY); // adds less than 1e-25 of 2^64 to the rest
        (rest[1], ties[1]) = log_sum_step(l, x, m, rest[1], ties[1]);
    }
    log_of_parts(l.sum(total(l, rest)), l.sum(total(l, ties)))
}

/// Adds `2^64 exp(x - m)` to `rest` where `x < m`, and 1 to `ties` elsewhere.
///
/// A NaN makes `rest` NaN.
#[inline(always)]
pub(super) fn log_sum_step<L: Floats>(l: L, x: L::V, m: L::V, rest: L::V, ties: L::V) -> (L::V, L::V) {
    let (zero, one) = (l.splat(0.0), l.splat(1.0));
    let tie = l.select_gt(m, x, zero, one);
    let e = exp_scaled(l, l.sub(x, m));
    (l.mul_add(e, l.sub(one, tie), rest), l.add(ties, tie))
}

/// `ln(ties + rest / 2^64)`, with 0 for results below the least normal number.
///
/// [`exp_scaled`] is above 0 where exp is 0 in f32. A sum of such values alone must give 0.
#[inline(always)]
pub(super) fn log_of_parts(rest: f32, ties: f32) -> f32 {
    let (rest, ties) = (f64::from(rest / EXP_SCALE), f64::from(ties));
    let log = (rest + (ties - 1.0)).ln_1p() as f32;
    if log < f32::MIN_POSITIVE { 0.0 } else { log } // NaN stays
}

/// `y = (x - greatest) - log_sum`, at least `lowest` for a finite x.
#[inline(always)]
fn subtract<L: Floats>(l: L, x: &[f32], [greatest, log_sum, lowest]: [f32; 3], y: &mut [f32]) {
    let (m, s, lowest) = (l.splat(greatest), l.splat(log_sum), l.splat(lowest));
    let mut vectors = x.chunks_exact(L::N);
    let mut outs = y.chunks_exact_mut(L::N);
    for (x, y) in (&mut vectors).zip(&mut outs) {
        let x = l.load(x);
        l.store(y, log_of_finite(l, x, l.sub(l.sub(x, m), s), lowest));
    }
    let x = l.load_partial(vectors.remainder(), 0.0);
    l.store_partial(outs.into_remainder(), log_of_finite(l, x, l.sub(l.sub(x, m), s), lowest));
}

/// `y`, but `lowest` if y is less although x is finite.
///
/// -inf means an element that is left out.
#[inline(always)]
pub(super) fn log_of_finite<L: Floats>(l: L, x: L::V, y: L::V, lowest: L::V) -> L::V {
    l.select_gt(lowest, y, l.select_gt(l.splat(f32::MIN), x, y, lowest), y)
}

/// Bound below which a sum leaves `g - sum` finite for every finite g.
///
/// Half a unit in the last place of `f32::MAX` is 2^103.
const HARMLESS_SUM: f32 = 5e30;

/// Consecutive rows of a backward pass with `inner = 1`.
pub(super) struct SoftmaxRowsBackward<'a> {
    pub(super) kind: SoftmaxVariant,
    pub(super) len: usize,
    pub(super) y: Reals<'a>,
    pub(super) g: Reals<'a>,
    pub(super) dx: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for SoftmaxRowsBackward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let n = self.len;
        let (mut wide_y, mut wide_g, mut wide_dx) = (scratch(self.y, n), scratch(self.y, n), scratch(self.y, n));
        let mut lost = false;
        for (i, (y, g)) in self.y.chunks(n).zip(self.g.chunks(n)).enumerate() {
            let (y, g) = (in_f32(l, y, &mut wide_y), in_f32(l, g, &mut wide_g));
            let mut out = OutRow::new(self.dx.range(i * n..(i + 1) * n), &mut wide_dx);
            let sum = weighted_sum(l, self.kind, y, g);
            lost |= self.kind.may_lose_zeros(sum);
            let (factor, dx) = (l.splat(sum), out.values());
            let (mut ys, mut gs) = (y.chunks_exact(L::N), g.chunks_exact(L::N));
            let mut outs = dx.chunks_exact_mut(L::N);
            for ((y, g), dx) in (&mut ys).zip(&mut gs).zip(&mut outs) {
                l.store(dx, self.kind.gradient(l, l.load(y), l.load(g), factor));
            }
            let (y, g) = (l.load_partial(ys.remainder(), 0.0), l.load_partial(gs.remainder(), 0.0));
            l.store_partial(outs.into_remainder(), self.kind.gradient(l, y, g, factor));
            out.finish(l);
        }
        if lost {
            self.repair();
        }
    }
}

impl SoftmaxRowsBackward<'_> {
    /// Corrects the softmax rows in which a non-finite gradient or sum met an element of 0.
    #[cold]
    fn repair(mut self) {
        let n = self.len;
        for (i, (y, g)) in self.y.chunks(n).zip(self.g.chunks(n)).enumerate() {
            let mut dx = self.dx.range(i * n..(i + 1) * n);
            let pair = |c: usize| (f64::from(y.get(c)), f64::from(g.get(c)));
            if (0..n).map(pair).all(|(y, g)| y != 0.0 || g.is_finite()) {
                for c in 0..n {
                    if y.get(c) == 0.0 && dx.shared().get(c).is_nan() {
                        dx.set(c, 0.0);
                    }
                }
                continue;
            }
            let sum: f64 = (0..n).map(pair).filter(|&(y, _)| y != 0.0).map(|(y, g)| y * g).sum();
            for c in 0..n {
                let (y, g) = pair(c);
                dx.set(c, if y == 0.0 { 0.0 } else { (y * (g - sum)) as f32 });
            }
        }
    }
}

impl SoftmaxVariant {
    /// What one element adds to the sum that its row shares.
    #[inline(always)]
    pub(super) fn contribution<L: Floats>(self, l: L, y: L::V, g: L::V, sum: L::V) -> L::V {
        match self {
            Self::Softmax => l.mul_add(y, g, sum),
            Self::Log => l.add(sum, live(l, y, g)),
        }
    }

    /// Whether elements of 0 need another look after [`gradient`](Self::gradient).
    ///
    /// `sum` is the sum that their row shares.
    #[inline(always)]
    pub(super) fn may_lose_zeros(self, sum: f32) -> bool {
        matches!(self, Self::Softmax) && (sum.is_nan() || sum.abs() >= HARMLESS_SUM)
    }

    /// The gradient of one element, given the sum that its row shares.
    #[inline(always)]
    pub(super) fn gradient<L: Floats>(self, l: L, y: L::V, g: L::V, sum: L::V) -> L::V {
        match self {
            Self::Softmax => l.mul(y, l.sub(g, sum)),
            Self::Log => {
                let p = l.mul(exp_scaled(l, y), l.splat(1.0 / EXP_SCALE));
                live(l, y, l.neg_mul_add(p, sum, g))
            }
        }
    }
}

/// `v`, but 0 where y is -inf.
#[inline(always)]
fn live<L: Floats>(l: L, y: L::V, v: L::V) -> L::V {
    l.select_gt(l.splat(f32::MIN), y, l.splat(0.0), v)
}

/// The sum that the gradients of a row share.
#[inline(always)]
fn weighted_sum<L: Floats>(l: L, kind: SoftmaxVariant, y: &[f32], g: &[f32]) -> f32 {
    let (mut sum, mut acc) = (l.splat(0.0), [l.splat(0.0); UNROLL]);
    let (mut ys, mut gs) = (y.chunks_exact(unrolled::<L>()), g.chunks_exact(unrolled::<L>()));
    for (step, (y, g)) in (&mut ys).zip(&mut gs).enumerate() {
        for u in 0..UNROLL {
            acc[u] = kind.contribution(l, l.load(&y[u * L::N..]), l.load(&g[u * L::N..]), acc[u]);
        }
        if ends_part(step) {
            (sum, acc) = (l.add(sum, total(l, acc)), [l.splat(0.0); UNROLL]);
        }
    }
    acc[3] = l.add(acc[3], sum);
    let (mut ys, mut gs) = (ys.remainder().chunks_exact(L::N), gs.remainder().chunks_exact(L::N));
    for (y, g) in (&mut ys).zip(&mut gs) {
        acc[0] = kind.contribution(l, l.load(y), l.load(g), acc[0]);
    }
    let (y, g) = (l.load_partial(ys.remainder(), 0.0), l.load_partial(gs.remainder(), 0.0));
    acc[1] = kind.contribution(l, y, g, acc[1]);
    l.sum(total(l, acc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_sums_are_those_of_their_parts() {
        for ties in 1..=64u8 {
            for eighths in 0..=64u8 {
                let got = log_of_parts(EXP_SCALE * f32::from(eighths) / 8.0, ties.into());
                let expected = (f64::from(ties) + f64::from(eighths) / 8.0).ln();
                let tolerance = expected * 2f64.powi(-23);
                assert!((f64::from(got) - expected).abs() <= tolerance, "{ties} {eighths}: {got}, not {expected}");
            }
        }
        // A sum near 1, and one whose logarithm is below the normal numbers.
        assert_eq!(log_of_parts(EXP_SCALE * 2f32.powi(-100), 1.0), 2f32.powi(-100));
        assert_eq!(log_of_parts(EXP_SCALE * 2f32.powi(-127), 1.0), 0.0);
        assert!(log_of_parts(f32::NAN, 2.0).is_nan());
    }
}
