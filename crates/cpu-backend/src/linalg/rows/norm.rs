//! Layer and root-mean-square normalisation of rows that stay in L1.

use backend_api::Real;
use core_types::params::rows::NormParams;

use super::convert::{OutRow, next_row, prefetch, scratch, widen};
use crate::linalg::{
    convert,
    lanes::{Kernel, Lanes},
};

/// Vectors worked on at once, to hide the latency of sums.
const UNROLL: usize = 4;

/// Consecutive rows of a normalisation; `CENTRED` subtracts the mean and adds beta (layer norm).
pub(super) struct Forward<'a, T, const CENTRED: bool> {
    pub(super) p: &'a NormParams,
    pub(super) x: &'a [T],
    pub(super) gamma: &'a [T],
    pub(super) beta: &'a [T],
    pub(super) y: &'a mut [T],
    pub(super) mean: &'a mut [f32],
    pub(super) rstd: &'a mut [f32],
}

impl<T: Real, const CENTRED: bool> Kernel for Forward<'_, T, CENTRED> {
    /// The first row whose result is undefined.
    type Out = Option<usize>;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Option<usize> {
        let n = self.p.len as usize;
        let (mut wide_x, mut wide_y) = (scratch::<T>(n), scratch::<T>(n));
        let (mut wide_gamma, mut wide_beta) = (scratch::<T>(n), scratch::<T>(n));
        let gamma = widen(self.gamma, &mut wide_gamma);
        let beta = if CENTRED { widen(self.beta, &mut wide_beta) } else { &[] };
        let mut undefined = None;
        for (i, (x, y)) in self.x.chunks_exact(n).zip(self.y.chunks_exact_mut(n)).enumerate() {
            let next = next_row(self.x, i, n);
            let x = widen(x, &mut wide_x);
            let mut out = OutRow::new(y, &mut wide_y);
            let shift = if CENTRED { (sum(l, x, out.values()) / n as f64) as f32 } else { 0.0 };
            let (residual, square) = moments(l, x, next, shift);
            let (residual, square) = (residual / n as f64, square / n as f64);
            // The rounding of the mean shows as the mean of the residuals; what it adds to the square is taken off again.
            let residual = if CENTRED { residual } else { 0.0 };
            let spread = square - residual * residual;
            let spread = if spread < 0.0 { 0.0 } else { spread }; // NaN stays
            let root = (spread + f64::from(self.p.eps)).sqrt();
            if root == 0.0 {
                undefined = undefined.or(Some(i));
            }
            let rstd = (1.0 / root) as f32;
            if CENTRED {
                self.mean[i] = (f64::from(shift) + residual) as f32;
            }
            self.rstd[i] = rstd;
            normalise::<L, CENTRED>(l, x, shift, (-residual / root) as f32, rstd, gamma, beta, out.values());
            out.finish();
        }
        undefined
    }
}

/// The sum of the lanes of four accumulators.
#[inline(always)]
fn total<L: Lanes>(l: L, v: [L::V; UNROLL]) -> f64 {
    f64::from(l.sum(l.add(l.add(v[0], v[1]), l.add(v[2], v[3]))))
}

/// The sum of x. Fetches y for the passes behind.
#[inline(always)]
fn sum<L: Lanes>(l: L, x: &[f32], y: &[f32]) -> f64 {
    let mut acc = [l.splat(0.0); UNROLL];
    let mut blocks = x.chunks_exact(UNROLL * L::N);
    let mut fetch = y.chunks(UNROLL * L::N);
    for x in &mut blocks {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            acc[u] = l.add(acc[u], l.load(&x[u * L::N..]));
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        acc[0] = l.add(acc[0], l.load(x));
    }
    acc[1] = l.add(acc[1], l.load_partial(vectors.remainder(), 0.0));
    total(l, acc)
}

/// The sums of `x - shift` and of `(x - shift)^2`. Fetches the next row.
#[inline(always)]
fn moments<L: Lanes>(l: L, x: &[f32], next: &[f32], shift: f32) -> (f64, f64) {
    let m = l.splat(shift);
    let mut first = [l.splat(0.0); UNROLL];
    let mut second = first;
    let mut blocks = x.chunks_exact(UNROLL * L::N);
    let mut fetch = next.chunks(UNROLL * L::N);
    for x in &mut blocks {
        prefetch(l, fetch.next());
        for u in 0..UNROLL {
            let d = l.sub(l.load(&x[u * L::N..]), m);
            first[u] = l.add(first[u], d);
            second[u] = l.mul_add(d, d, second[u]);
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(L::N);
    for x in &mut vectors {
        let d = l.sub(l.load(x), m);
        first[0] = l.add(first[0], d);
        second[0] = l.mul_add(d, d, second[0]);
    }
    let d = l.sub(l.load_partial(vectors.remainder(), shift), m);
    first[1] = l.add(first[1], d);
    second[1] = l.mul_add(d, d, second[1]);
    (total(l, first), total(l, second))
}

/// `y = ((x - shift) rstd + offset) gamma + beta`, or `y = x rstd gamma`.
#[expect(clippy::too_many_arguments, reason = "the operands of one formula")]
#[inline(always)]
fn normalise<L: Lanes, const CENTRED: bool>(
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

/// One block of rows of a backward pass.
pub(super) struct Backward<'a, T, const CENTRED: bool> {
    pub(super) p: &'a NormParams,
    pub(super) x: &'a [T],
    pub(super) gamma: &'a [T],
    pub(super) mean: &'a [f32],
    pub(super) rstd: &'a [f32],
    pub(super) g: &'a [T],
    pub(super) dx: &'a mut [T],
    /// The block's dgamma, then, if centred, its dbeta; zero before.
    pub(super) sums: &'a mut [f32],
}

impl<T: Real, const CENTRED: bool> Kernel for Backward<'_, T, CENTRED> {
    type Out = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let n = self.p.len as usize;
        let (mut wide_x, mut wide_g, mut wide_dx) = (scratch::<T>(n), scratch::<T>(n), scratch::<T>(n));
        let mut gamma = vec![0.0; n];
        convert::widen(self.gamma, &mut gamma);
        let (dgamma, dbeta) = self.sums.split_at_mut(n);
        let rows = self.x.chunks_exact(n).zip(self.g.chunks_exact(n)).zip(self.dx.chunks_exact_mut(n));
        for (i, ((x, g), dx)) in rows.enumerate() {
            let (x, g) = (widen(x, &mut wide_x), widen(g, &mut wide_g));
            let mut out = OutRow::new(dx, &mut wide_dx);
            let (shift, rstd) = (if CENTRED { self.mean[i] } else { 0.0 }, self.rstd[i]);
            let [d, a, ad] = shared_sums(l, x, shift, g, &gamma).map(|sum| sum / n as f64);
            // The saved mean is rounded: the mean of the residuals corrects it, as in the forward pass.
            let (residual, a) = if CENTRED { (d, a) } else { (0.0, 0.0) };
            let row = RowGradient {
                shift,
                offset: (-residual * f64::from(rstd)) as f32,
                rstd,
                a: a as f32,
                ah: ((ad - residual * a) * f64::from(rstd)) as f32,
            };
            row.apply::<L, CENTRED>(l, [x, g, &gamma], out.values(), dgamma, dbeta);
            out.finish();
        }
    }
}

/// With `d = x - shift` and `a = g gamma`: the sums of d, a and a d.
#[inline(always)]
fn shared_sums<L: Lanes>(l: L, x: &[f32], shift: f32, g: &[f32], gamma: &[f32]) -> [f64; 3] {
    let m = l.splat(shift);
    let mut acc = [[l.splat(0.0); 3]; 2];
    let (mut xs, mut gs) = (x.chunks_exact(2 * L::N), g.chunks_exact(2 * L::N));
    let mut gammas = gamma.chunks_exact(2 * L::N);
    for ((x, g), gamma) in (&mut xs).zip(&mut gs).zip(&mut gammas) {
        for (u, acc) in acc.iter_mut().enumerate() {
            let at = u * L::N;
            *acc = shared_step(l, *acc, l.load(&x[at..]), m, l.load(&g[at..]), l.load(&gamma[at..]));
        }
    }
    let (x, g, gamma) = (xs.remainder(), gs.remainder(), gammas.remainder());
    let (mut xs, mut gs, mut gammas) = (x.chunks_exact(L::N), g.chunks_exact(L::N), gamma.chunks_exact(L::N));
    for ((x, g), gamma) in (&mut xs).zip(&mut gs).zip(&mut gammas) {
        acc[0] = shared_step(l, acc[0], l.load(x), m, l.load(g), l.load(gamma));
    }
    let x = l.load_partial(xs.remainder(), shift);
    let (g, gamma) = (l.load_partial(gs.remainder(), 0.0), l.load_partial(gammas.remainder(), 0.0));
    let [[d, a, ad], more] = [acc[0], shared_step(l, acc[1], x, m, g, gamma)];
    let total = [l.sum(l.add(d, more[0])), l.sum(l.add(a, more[1])), l.sum(l.add(ad, more[2]))];
    total.map(f64::from)
}

#[inline(always)]
fn shared_step<L: Lanes>(l: L, [d, a, ad]: [L::V; 3], x: L::V, m: L::V, g: L::V, gamma: L::V) -> [L::V; 3] {
    let (new_d, new_a) = (l.sub(x, m), l.mul(g, gamma));
    [l.add(d, new_d), l.add(a, new_a), l.mul_add(new_d, new_a, ad)]
}

/// What the gradients of one row share: `h = (x - shift) rstd + offset`, the means of a and of `a h`.
struct RowGradient {
    shift: f32,
    offset: f32,
    rstd: f32,
    a: f32,
    ah: f32,
}

impl RowGradient {
    /// `dx = rstd (a - mean(a) - h mean(a h))`, `dgamma += g h`, `dbeta += g`, given x, g and gamma.
    #[inline(always)]
    fn apply<L: Lanes, const CENTRED: bool>(
        &self,
        l: L,
        [x, g, gamma]: [&[f32]; 3],
        dx: &mut [f32],
        dgamma: &mut [f32],
        dbeta: &mut [f32],
    ) {
        let n = x.len();
        let whole = n - n % L::N;
        for at in (0..whole).step_by(L::N) {
            let g = l.load(&g[at..]);
            let (v, h) = self.step(l, l.load(&x[at..]), g, l.load(&gamma[at..]));
            l.store(&mut dx[at..], v);
            let sum = l.mul_add(g, h, l.load(&dgamma[at..]));
            l.store(&mut dgamma[at..], sum);
            if CENTRED {
                let sum = l.add(g, l.load(&dbeta[at..]));
                l.store(&mut dbeta[at..], sum);
            }
        }
        let g = l.load_partial(&g[whole..], 0.0);
        let (v, h) = self.step(l, l.load_partial(&x[whole..], 0.0), g, l.load_partial(&gamma[whole..], 0.0));
        l.store_partial(&mut dx[whole..n], v);
        let sum = l.mul_add(g, h, l.load_partial(&dgamma[whole..], 0.0));
        l.store_partial(&mut dgamma[whole..n], sum);
        if CENTRED {
            let sum = l.add(g, l.load_partial(&dbeta[whole..], 0.0));
            l.store_partial(&mut dbeta[whole..n], sum);
        }
    }

    /// dx and h of one vector.
    #[inline(always)]
    fn step<L: Lanes>(&self, l: L, x: L::V, g: L::V, gamma: L::V) -> (L::V, L::V) {
        let (r, o) = (l.splat(self.rstd), l.splat(self.offset));
        let h = l.mul_add(l.sub(x, l.splat(self.shift)), r, o);
        let a = l.sub(l.mul(g, gamma), l.splat(self.a));
        (l.mul(l.neg_mul_add(h, l.splat(self.ah), a), r), h)
    }
}
