//! Layer and root-mean-square normalisation of rows that stay in L1.
//!
//! Layer norm is `(x - mean(x)) / sqrt(var(x) + eps) gamma + beta` (Ba, Kiros, Hinton, 2016), RMS
//! norm `x / sqrt(mean(x^2) + eps) gamma` (Zhang, Sennrich, 2019).

use backend_api::Real;
use core_types::params::rows::NormParams;

use super::{
    UNROLL,
    convert::{OutRow, column_values, next_row, prefetch, scratch},
    ends_part, total, unrolled,
};
use crate::{
    linalg::{
        convert::{BLOCK, in_f32, widen},
        reals::{Reals, RealsMut},
    },
    simd::{LaneKernel, Simd, dispatch, floats::Floats},
};

/// Consecutive rows to normalise.
pub(super) enum NormRows<'a, T> {
    /// These.
    Given(&'a [T]),
    /// The rows that the results overwrite.
    InPlace,
    /// Their sum, which is to be written.
    Sum { x: &'a [T], r: &'a [T], sum: &'a mut [T] },
}

impl<'a, T: Real> NormRows<'a, T> {
    /// These rows, or those that the results overwrite.
    pub(super) fn new(rows: Option<&'a [T]>) -> Self {
        rows.map_or(Self::InPlace, Self::Given)
    }

    /// Splits off the first `len` elements of at least `len`.
    pub(super) fn take(&mut self, len: usize) -> Self {
        match self {
            Self::Given(rows) => {
                let (x, rest) = rows.split_at(len);
                *rows = rest;
                Self::Given(x)
            }
            Self::InPlace => Self::InPlace,
            Self::Sum { x: rows, r: others, sum: sums } => {
                let ((x, rest), (r, others_rest)) = (rows.split_at(len), others.split_at(len));
                let (sum, sums_rest) = core::mem::take(sums).split_at_mut(len);
                (*rows, *others, *sums) = (rest, others_rest, sums_rest);
                Self::Sum { x, r, sum }
            }
        }
    }

    /// The elements, after writing the sum; `None` for rows in place.
    pub(super) fn values(self, simd: Simd) -> Option<&'a [T]> {
        match self {
            Self::Given(x) => Some(x),
            Self::InPlace => None,
            Self::Sum { x, r, sum } => {
                dispatch(simd, Add { x: x.into(), r: r.into(), sum: (&mut *sum).into() });
                Some(sum)
            }
        }
    }
}

/// `sum = x + r`, added in f32 and rounded, of equally long slices.
struct Add<'a> {
    x: Reals<'a>,
    r: Reals<'a>,
    sum: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for Add<'_> {
    type Out = ();

    /// Plain loops: the compiler has the instructions of the level.
    #[inline(always)]
    fn run(mut self, l: L) {
        let (mut wide_x, mut wide_r, mut wide_sum) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for (i, (x, r)) in self.x.chunks(BLOCK).zip(self.r.chunks(BLOCK)).enumerate() {
            let (x, r) = (in_f32(l, x, &mut wide_x), in_f32(l, r, &mut wide_r));
            let mut out = OutRow::new(self.sum.range(i * BLOCK..i * BLOCK + x.len()), &mut wide_sum);
            for ((sum, x), r) in out.values().iter_mut().zip(x).zip(r) {
                *sum = x + r;
            }
            out.finish(l);
        }
    }
}

/// Consecutive rows of a normalisation.
///
/// `CENTRED` subtracts the mean and adds beta (layer norm).
pub(super) struct NormRowsForward<'a, const CENTRED: bool> {
    pub(super) p: &'a NormParams,
    /// Whether the next row and the output are fetched before they are needed.
    pub(super) fetches: bool,
    /// The rows; without them, the rows in y.
    pub(super) x: Option<Reals<'a>>,
    pub(super) gamma: Option<Reals<'a>>,
    pub(super) beta: Option<Reals<'a>>,
    pub(super) y: RealsMut<'a>,
    pub(super) mean: &'a mut [f32],
    pub(super) rstd: &'a mut [f32],
}

impl<const CENTRED: bool, L: Floats> LaneKernel<L> for NormRowsForward<'_, CENTRED> {
    /// The first row whose result is undefined.
    type Out = Option<usize>;

    #[inline(always)]
    fn run(mut self, l: L) -> Option<usize> {
        let n = self.p.len as usize;
        // A row in place is copied, so that its passes read the elements while they write results.
        let mut wide_x = match self.x {
            Some(x) => scratch(x, n),
            None => vec![0.0; n],
        };
        let mut wide_y = scratch(self.y.shared(), n);
        let (mut wide_gamma, mut wide_beta) = (Vec::new(), Vec::new());
        let gamma = column_values(l, self.gamma, 1.0, n, &mut wide_gamma);
        let beta = if CENTRED { column_values(l, self.beta, 0.0, n, &mut wide_beta) } else { &[] };
        let mut undefined = None;
        for i in 0..self.y.len() / n {
            let cells = i * n..(i + 1) * n;
            let (x, next) = match self.x {
                Some(x) => {
                    let next = if self.fetches { next_row(x, i, n) } else { &[] };
                    (in_f32(l, x.range(cells.clone()), &mut wide_x), next)
                }
                None => {
                    widen(l, self.y.shared().range(cells.clone()), &mut wide_x);
                    (&wide_x[..], &[][..])
                }
            };
            let mut out = OutRow::new(self.y.range(cells), &mut wide_y);
            let fetched: &[f32] = match &out {
                OutRow::Direct(row) if self.fetches => row,
                _ => &[],
            };
            let shift = if CENTRED { (sum(l, x, fetched) / n as f64) as f32 } else { 0.0 };
            let (residual, square) = moments(l, x, next, shift);
            let (residual, square) = (residual / n as f64, square / n as f64);
            // The rounding of the mean shows as the mean of the residuals; its contribution to the square is taken
            // off again.
            let residual = if CENTRED { residual } else { 0.0 };
            let spread = square - residual * residual;
            let spread = if spread < 0.0 { 0.0 } else { spread }; // NaN stays
            let (mut mean, mut root) = (f64::from(shift) + residual, (spread + f64::from(self.p.eps)).sqrt());
            let rstd = (1.0 / root) as f32;
            if is_lost(rstd) {
                (mean, root) = normalise_in_f64::<CENTRED>(x, self.p.eps, gamma, beta, out.values());
                if root == 0.0 {
                    undefined = undefined.or(Some(i));
                }
            } else {
                normalise::<L, CENTRED>(l, x, shift, (-residual / root) as f32, rstd, gamma, beta, out.values());
            }
            if CENTRED {
                self.mean[i] = mean as f32;
            }
            self.rstd[i] = (1.0 / root) as f32;
            out.finish(l);
        }
        undefined
    }
}

/// Whether sums of squares in f32 may have lost a row.
///
/// They overflow for elements far above 1, and lose small terms for elements far below 1.
fn is_lost(rstd: f32) -> bool {
    const MOST: f32 = (1u32 << 30) as f32;
    let kept = rstd > 0.0 && rstd <= MOST; // nor NaN
    !kept
}

/// Normalises a row that f32 has lost. Returns its mean and the inverse of its rstd.
#[cold]
fn normalise_in_f64<const CENTRED: bool>(
    x: &[f32],
    eps: f32,
    gamma: &[f32],
    beta: &[f32],
    y: &mut [f32],
) -> (f64, f64) {
    let mean_of = |term: &dyn Fn(f64) -> f64| x.iter().map(|&x| term(f64::from(x))).sum::<f64>() / x.len() as f64;
    let mean = if CENTRED { mean_of(&|x| x) } else { 0.0 };
    let root = (mean_of(&|x| (x - mean) * (x - mean)) + f64::from(eps)).sqrt();
    for (column, (y, &x)) in y.iter_mut().zip(x).enumerate() {
        let scaled = (f64::from(x) - mean) / root * f64::from(gamma[column]);
        let shifted = if CENTRED { scaled + f64::from(beta[column]) } else { scaled };
        *y = shifted as f32;
    }
    (mean, root)
}

/// The sum of x. Fetches y for the passes that follow.
#[inline(always)]
fn sum<L: Floats>(l: L, x: &[f32], y: &[f32]) -> f64 {
    let (mut all, mut acc) = (l.splat(0.0), [l.splat(0.0); UNROLL]);
    let mut fetch = y.chunks(unrolled::<L>());
    let mut blocks = x.chunks_exact(unrolled::<L>());
    for (step, x) in (&mut blocks).enumerate() {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            acc[u] = l.add(acc[u], l.load(&x[u * L::N..]));
        }
        if ends_part(step) {
            (all, acc) = (l.add(all, total(l, acc)), [l.splat(0.0); UNROLL]);
        }
    }
    acc[3] = l.add(acc[3], all); // independent of the additions below, so they overlap
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        acc[0] = l.add(acc[0], l.load(x));
    }
    acc[1] = l.add(acc[1], l.load_partial(vectors.remainder(), 0.0));
    f64::from(l.sum(total(l, acc)))
}

/// The sums of `x - shift` and of `(x - shift)^2`. Fetches the next row.
#[inline(always)]
fn moments<L: Floats>(l: L, x: &[f32], next: &[f32], shift: f32) -> (f64, f64) {
    let (m, zero) = (l.splat(shift), l.splat(0.0));
    let (mut residual, mut square) = (zero, zero);
    let (mut first, mut second) = ([zero; UNROLL], [zero; UNROLL]);
    let mut fetch = next.chunks(unrolled::<L>());
    // Whole blocks; parts are added up apart.
    let mut blocks = x.chunks_exact(unrolled::<L>());
    for (step, x) in (&mut blocks).enumerate() {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            let d = l.sub(l.load(&x[u * L::N..]), m);
            first[u] = l.add(first[u], d);
            second[u] = l.mul_add(d, d, second[u]);
        }
        if ends_part(step) {
            (residual, first) = (l.add(residual, total(l, first)), [zero; UNROLL]);
            (square, second) = (l.add(square, total(l, second)), [zero; UNROLL]);
        }
    }
    // The rest of the row.
    (first[3], second[3]) = (l.add(first[3], residual), l.add(second[3], square));
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        let d = l.sub(l.load(x), m);
        first[0] = l.add(first[0], d);
        second[0] = l.mul_add(d, d, second[0]);
    }
    let d = l.sub(l.load_partial(vectors.remainder(), shift), m);
    first[1] = l.add(first[1], d);
    second[1] = l.mul_add(d, d, second[1]);
    (f64::from(l.sum(total(l, first))), f64::from(l.sum(total(l, second))))
}

/// `y = ((x - shift) rstd + offset) gamma + beta`, or `y = x rstd gamma`.
#[expect(clippy::too_many_arguments, reason = "the operands of one formula")]
#[inline(always)]
fn normalise<L: Floats, const CENTRED: bool>(
    l: L,
    x: &[f32],
    shift: f32,
    offset: f32,
    rstd: f32,
    gamma: &[f32],
    beta: &[f32],
    y: &mut [f32],
) {
    let (m, o, r) = (l.splat(shift), l.splat(offset), l.splat(rstd));
    let (mut xs, mut gammas) = (x.chunks_exact(L::N), gamma.chunks_exact(L::N));
    let mut outs = y.chunks_exact_mut(L::N);
    if CENTRED {
        let mut betas = beta.chunks_exact(L::N);
        for (((x, gamma), beta), y) in (&mut xs).zip(&mut gammas).zip(&mut betas).zip(&mut outs) {
            let h = l.mul_add(l.sub(l.load(x), m), r, o);
            l.store(y, l.mul_add(h, l.load(gamma), l.load(beta)));
        }
        let h = l.mul_add(l.sub(l.load_partial(xs.remainder(), 0.0), m), r, o);
        let (gamma, beta) = (l.load_partial(gammas.remainder(), 0.0), l.load_partial(betas.remainder(), 0.0));
        l.store_partial(outs.into_remainder(), l.mul_add(h, gamma, beta));
    } else {
        for ((x, gamma), y) in (&mut xs).zip(&mut gammas).zip(&mut outs) {
            l.store(y, l.mul(l.mul(l.load(x), r), l.load(gamma)));
        }
        let h = l.mul(l.load_partial(xs.remainder(), 0.0), r);
        l.store_partial(outs.into_remainder(), l.mul(h, l.load_partial(gammas.remainder(), 0.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::levels;

    struct Sum<'a>(&'a [f32]);

    impl<L: Floats> LaneKernel<L> for Sum<'_> {
        type Out = f64;

        #[inline(always)]
        fn run(self, l: L) -> f64 {
            sum(l, self.0, &[])
        }
    }

    #[test]
    fn a_sum_takes_every_element_once() {
        // Small whole numbers, whose sums are exact.
        let x: Vec<f32> = (0..9000u16).map(|i| f32::from(i % 31)).collect();
        for len in (0..300).chain([4095, 4096, 4161, 9000]) {
            let expected: f64 = x[..len].iter().map(|&x| f64::from(x)).sum();
            for simd in levels() {
                assert_eq!(dispatch(simd, Sum(&x[..len])), expected, "{len} elements, {simd:?}");
            }
        }
    }
}
