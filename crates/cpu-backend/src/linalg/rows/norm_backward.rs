//! Gradients of layer and root-mean-square normalisation.
//!
//! With `h = (x - mean) rstd` and `a = g gamma`, `dx = rstd (a - mean(a) - h mean(a h))`, `dgamma`
//! is the sum of `g h` over the rows and `dbeta` the sum of `g` (Ba, Kiros, Hinton, 2016). For RMS
//! norm (Zhang, Sennrich, 2019), `h = x rstd`, and `mean(a)` is left out.

use core_types::params::rows::{NormParams, norm_scale};

use super::{
    PART_STEPS,
    convert::{OutRow, column_values, scratch},
};
use crate::{
    linalg::{
        convert::in_f32,
        reals::{Reals, RealsMut},
    },
    simd::{LaneKernel, floats::Floats},
};

/// One block of rows of a backward pass.
pub(super) struct NormBackward<'a, const CENTRED: bool> {
    pub(super) p: &'a NormParams,
    pub(super) x: Reals<'a>,
    pub(super) gamma: Option<Reals<'a>>,
    pub(super) mean: &'a [f32],
    pub(super) rstd: &'a [f32],
    pub(super) g: Reals<'a>,
    pub(super) dx: RealsMut<'a>,
    /// The block's dgamma, then, if centred, its dbeta; zero before.
    pub(super) sums: &'a mut [f32],
}

impl<const CENTRED: bool, L: Floats> LaneKernel<L> for NormBackward<'_, CENTRED> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let n = self.p.len as usize;
        let (mut wide_x, mut wide_g, mut wide_dx) = (scratch(self.x, n), scratch(self.x, n), scratch(self.x, n));
        let mut wide_gamma = Vec::new();
        let gamma = column_values(l, self.gamma, 1.0, n, &mut wide_gamma);
        let (dgamma, dbeta) = self.sums.split_at_mut(n);
        for (i, (x, g)) in self.x.chunks(n).zip(self.g.chunks(n)).enumerate() {
            let (x, g) = (in_f32(l, x, &mut wide_x), in_f32(l, g, &mut wide_g));
            let mut out = OutRow::new(self.dx.range(i * n..(i + 1) * n), &mut wide_dx);
            let (mean, rstd) = (if CENTRED { self.mean[i] } else { 0.0 }, self.rstd[i]);
            let (scale, inverse) = norm_scale(mean, rstd);
            let (line, unit) = (MeanDistance { mean, scale }, rstd * inverse);
            let [d, a, ad] = shared_sums(l, x, line, g, gamma).map(|sum| sum / n as f64);
            // The saved mean is rounded: the mean of the residuals corrects it, as in the forward pass.
            let (residual, a) = if CENTRED { (d, a) } else { (0.0, 0.0) };
            let row = RowGradient {
                line,
                unit,
                offset: (-residual * f64::from(unit)) as f32,
                rstd,
                a: a as f32,
                ah: ((ad - residual * a) * f64::from(unit)) as f32,
            };
            row.apply::<L, CENTRED>(l, [x, g, gamma], out.values(), dgamma, dbeta);
            out.finish(l);
        }
    }
}

/// Measure of distances from the mean: `d = (x - mean) scale`.
///
/// The scale is a power of two that makes the distances close to 1.
#[derive(Clone, Copy)]
struct MeanDistance {
    mean: f32,
    scale: f32,
}

impl MeanDistance {
    #[inline(always)]
    fn distance<L: Floats>(self, l: L, x: L::V) -> L::V {
        l.mul_add(x, l.splat(self.scale), l.splat(-self.mean * self.scale))
    }
}

/// With `a = g gamma`: the sums of d, a and a d.
#[inline(always)]
fn shared_sums<L: Floats>(l: L, x: &[f32], line: MeanDistance, g: &[f32], gamma: &[f32]) -> [f64; 3] {
    let [mut d, mut a, mut ad] = [l.splat(0.0); 3];
    let part = const { PART_STEPS * 2 * L::N };
    for ((x, g), gamma) in x.chunks(part).zip(g.chunks(part)).zip(gamma.chunks(part)) {
        let sums = part_sums(l, x, line, g, gamma);
        (d, a, ad) = (l.add(d, sums[0]), l.add(a, sums[1]), l.add(ad, sums[2]));
    }
    [f64::from(l.sum(d)), f64::from(l.sum(a)), f64::from(l.sum(ad))]
}

#[inline(always)]
fn part_sums<L: Floats>(l: L, x: &[f32], line: MeanDistance, g: &[f32], gamma: &[f32]) -> [L::V; 3] {
    let mut acc = [[l.splat(0.0); 3]; 2];
    let (mut xs, mut gs) = (x.chunks_exact(2 * L::N), g.chunks_exact(2 * L::N));
    let mut gammas = gamma.chunks_exact(2 * L::N);
    for ((x, g), gamma) in (&mut xs).zip(&mut gs).zip(&mut gammas) {
        for (u, acc) in acc.iter_mut().enumerate() {
            let at = u * L::N;
            *acc = shared_step(l, *acc, line, l.load(&x[at..]), l.load(&g[at..]), l.load(&gamma[at..]));
        }
    }
    let (x, g, gamma) = (xs.remainder(), gs.remainder(), gammas.remainder());
    let (mut xs, mut gs, mut gammas) = (x.chunks_exact(L::N), g.chunks_exact(L::N), gamma.chunks_exact(L::N));
    for ((x, g), gamma) in (&mut xs).zip(&mut gs).zip(&mut gammas) {
        acc[0] = shared_step(l, acc[0], line, l.load(x), l.load(g), l.load(gamma));
    }
    let x = l.load_partial(xs.remainder(), line.mean);
    let (g, gamma) = (l.load_partial(gs.remainder(), 0.0), l.load_partial(gammas.remainder(), 0.0));
    let [first, second] = [acc[0], shared_step(l, acc[1], line, x, g, gamma)];
    [l.add(first[0], second[0]), l.add(first[1], second[1]), l.add(first[2], second[2])]
}

#[inline(always)]
fn shared_step<L: Floats>(l: L, [d, a, ad]: [L::V; 3], line: MeanDistance, x: L::V, g: L::V, gamma: L::V) -> [L::V; 3] {
    let (new_d, new_a) = (line.distance(l, x), l.mul(g, gamma));
    [l.add(d, new_d), l.add(a, new_a), l.mul_add(new_d, new_a, ad)]
}

/// Terms that the gradients of one row share.
///
/// `h = d unit + offset`, and the means of a and of `a h`.
struct RowGradient {
    line: MeanDistance,
    unit: f32,
    offset: f32,
    rstd: f32,
    a: f32,
    ah: f32,
}

impl RowGradient {
    /// Computes `dx = rstd (a - mean(a) - h mean(a h))` from x, g and gamma.
    ///
    /// Also `dgamma += g h` and `dbeta += g`.
    #[inline(always)]
    fn apply<L: Floats, const CENTRED: bool>(
        &self,
        l: L,
        [x, g, gamma]: [&[f32]; 3],
        dx: &mut [f32],
        dgamma: &mut [f32],
        dbeta: &mut [f32],
    ) {
        let (mut xs, mut gs, mut gammas) = (x.chunks_exact(L::N), g.chunks_exact(L::N), gamma.chunks_exact(L::N));
        let (mut outs, mut dgammas) = (dx.chunks_exact_mut(L::N), dgamma.chunks_exact_mut(L::N));
        let mut dbetas = dbeta.chunks_exact_mut(L::N);
        // Whole vectors, then the rest of the row.
        for ((((x, g), gamma), dx), dgamma) in (&mut xs).zip(&mut gs).zip(&mut gammas).zip(&mut outs).zip(&mut dgammas)
        {
            let g = l.load(g);
            let (v, h) = self.step(l, l.load(x), g, l.load(gamma));
            l.store(dx, v);
            let sum = l.mul_add(g, h, l.load(dgamma));
            l.store(dgamma, sum);
            if CENTRED && let Some(dbeta) = dbetas.next() {
                let sum = l.add(g, l.load(dbeta));
                l.store(dbeta, sum);
            }
        }
        let (x, g, gamma) = (xs.remainder(), gs.remainder(), gammas.remainder());
        let (dx, dgamma, dbeta) = (outs.into_remainder(), dgammas.into_remainder(), dbetas.into_remainder());
        let g = l.load_partial(g, 0.0);
        let (v, h) = self.step(l, l.load_partial(x, 0.0), g, l.load_partial(gamma, 0.0));
        l.store_partial(dx, v);
        let sum = l.mul_add(g, h, l.load_partial(dgamma, 0.0));
        l.store_partial(dgamma, sum);
        if CENTRED {
            let sum = l.add(g, l.load_partial(dbeta, 0.0));
            l.store_partial(dbeta, sum);
        }
    }

    /// dx and h of one vector.
    #[inline(always)]
    fn step<L: Floats>(&self, l: L, x: L::V, g: L::V, gamma: L::V) -> (L::V, L::V) {
        let h = l.mul_add(self.line.distance(l, x), l.splat(self.unit), l.splat(self.offset));
        let a = l.sub(l.mul(g, gamma), l.splat(self.a));
        (l.mul(l.neg_mul_add(h, l.splat(self.ah), a), l.splat(self.rstd)), h)
    }
}
