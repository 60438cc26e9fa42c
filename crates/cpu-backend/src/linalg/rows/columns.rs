//! Softmax along an axis that is not the last: strips of 64 columns, gathered into scratch as `len x 64`.

use backend_api::Real;
use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{
    Kind, MaskSlice,
    softmax::{log_of_parts, log_sum_step},
};
use crate::linalg::{
    convert,
    lanes::{Kernel, Lanes},
    vmath::exp_scaled,
};

/// Columns worked on at once, 256 bytes: a multiple of every vector length.
const STRIP: usize = 64;

/// Neighbouring columns of one or more outer indices, and where their results go.
pub(super) struct Strip<'a, T> {
    first_outer: usize,
    outers: usize,
    first_inner: usize,
    /// Columns of each outer index; `outers * width <= STRIP`.
    width: usize,
    /// One piece of `width` elements for each outer index and each index along the axis, in that order.
    pieces: Vec<&'a mut [T]>,
}

/// Cuts a row-major output into strips. The cut depends on the shape alone.
pub(super) fn strips<'a, T>(axis: &AxisParams, y: &'a mut [T]) -> Vec<Strip<'a, T>> {
    let (len, inner) = (axis.len as usize, axis.inner as usize);
    let per_strip = (STRIP / inner).max(1);
    let mut strips = Vec::new();
    for (group, block) in y.chunks_mut(per_strip * len * inner).enumerate() {
        let outers = block.len() / (len * inner);
        let first = strips.len();
        strips.extend((0..inner).step_by(STRIP).map(|first_inner| Strip {
            first_outer: group * per_strip,
            outers,
            first_inner,
            width: STRIP.min(inner - first_inner),
            pieces: Vec::with_capacity(outers * len),
        }));
        for row in block.chunks_mut(inner) {
            for (strip, piece) in strips[first..].iter_mut().zip(row.chunks_mut(STRIP)) {
                strip.pieces.push(piece);
            }
        }
    }
    strips
}

impl<T: Real> Strip<'_, T> {
    /// Copies the strip's columns of `x` into `to`, `len x STRIP`; columns behind the strip stay as they are.
    fn gather(&self, axis: &AxisParams, x: &[T], to: &mut [f32]) {
        let (len, inner) = (axis.len as usize, axis.inner as usize);
        for o in 0..self.outers {
            for (c, row) in to.chunks_exact_mut(STRIP).enumerate() {
                let at = ((self.first_outer + o) * len + c) * inner + self.first_inner;
                convert::widen(&x[at..at + self.width], &mut row[o * self.width..(o + 1) * self.width]);
            }
        }
    }

    /// Writes the results.
    fn scatter(self, len: usize, from: &[f32]) {
        for (k, piece) in self.pieces.into_iter().enumerate() {
            let (o, c) = (k / len, k % len);
            convert::narrow(&from[c * STRIP + o * self.width..][..self.width], piece);
        }
    }
}

/// A softmax of one strip.
pub(super) struct Forward<'a, T> {
    pub(super) kind: Kind,
    pub(super) p: &'a SoftmaxParams,
    pub(super) mask: MaskSlice<'a>,
    pub(super) x: &'a [T],
    pub(super) strip: Strip<'a, T>,
}

impl<T: Real> Forward<'_, T> {
    /// Applies the mask to the gathered logits and tells which columns have an element that is not left out.
    fn apply_mask(&self, logits: &mut [f32]) -> [bool; STRIP] {
        let (axis, s) = (&self.p.axis, &self.strip);
        let (len, inner) = (axis.len as usize, axis.inner as usize);
        let mut any = [matches!(self.mask, MaskSlice::None); STRIP];
        for o in 0..s.outers {
            let outer = s.first_outer + o;
            let first = (outer % self.p.mask_period as usize) * len * inner + s.first_inner;
            let causal = self.p.causal_len(outer as u64) as usize;
            for (c, row) in logits.chunks_exact_mut(STRIP).enumerate() {
                let columns = o * s.width..(o + 1) * s.width;
                let at = first + c * inner..first + c * inner + s.width;
                let cells = row[columns.clone()].iter_mut().zip(&mut any[columns]);
                match self.mask {
                    MaskSlice::None => {}
                    MaskSlice::Causal => cells.for_each(|(z, any)| keep(z, any, c < causal)),
                    MaskSlice::Keep(mask) => cells.zip(&mask[at]).for_each(|((z, any), &k)| keep(z, any, k)),
                    MaskSlice::Add(mask) => cells.zip(&mask[at]).for_each(|((z, any), &m)| {
                        *z += m;
                        *any |= m != f32::NEG_INFINITY;
                    }),
                }
            }
        }
        any
    }
}

/// Leaves a logit out unless it is kept.
#[inline(always)]
fn keep(z: &mut f32, any: &mut bool, keep: bool) {
    *any |= keep;
    if !keep {
        *z = f32::NEG_INFINITY;
    }
}

impl<T: Real> Kernel for Forward<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let len = self.p.axis.len as usize;
        let mut z = vec![0.0; len * STRIP];
        self.strip.gather(&self.p.axis, self.x, &mut z);
        let any = self.apply_mask(&mut z);
        let mut greatest = [f32::NEG_INFINITY; STRIP];
        for row in z.chunks_exact(STRIP) {
            for (x, m) in row.chunks_exact(L::N).zip(greatest.chunks_exact_mut(L::N)) {
                let v = l.max(l.load(x), l.load(m)); // NaN loses
                l.store(m, v);
            }
        }
        match self.kind {
            Kind::Softmax => softmax(l, &mut z, &greatest),
            Kind::Log => log_softmax(l, &mut z, &greatest),
        }
        for (column, (&m, any)) in greatest.iter().zip(any).enumerate() {
            if m == f32::NEG_INFINITY {
                let value = if any { f32::NAN } else { self.kind.excluded() };
                z.iter_mut().skip(column).step_by(STRIP).for_each(|z| *z = value);
            }
        }
        self.strip.scatter(len, &z);
    }
}

#[inline(always)]
fn softmax<L: Lanes>(l: L, z: &mut [f32], greatest: &[f32; STRIP]) {
    let mut sums = [0.0; STRIP];
    for row in z.chunks_exact_mut(STRIP) {
        let stats = greatest.chunks_exact(L::N).zip(sums.chunks_exact_mut(L::N));
        for (x, (m, sum)) in row.chunks_exact_mut(L::N).zip(stats) {
            let e = exp_scaled(l, l.sub(l.load(x), l.load(m)));
            l.store(x, e);
            let total = l.add(l.load(sum), e);
            l.store(sum, total);
        }
    }
    let factors = sums.map(|sum: f32| 1.0 / sum);
    for row in z.chunks_exact_mut(STRIP) {
        for (x, f) in row.chunks_exact_mut(L::N).zip(factors.chunks_exact(L::N)) {
            let v = l.mul(l.load(x), l.load(f));
            l.store(x, v);
        }
    }
}

#[inline(always)]
fn log_softmax<L: Lanes>(l: L, z: &mut [f32], greatest: &[f32; STRIP]) {
    let (mut rests, mut ties) = ([0.0; STRIP], [0.0; STRIP]);
    for row in z.chunks_exact(STRIP) {
        let sums = rests.chunks_exact_mut(L::N).zip(ties.chunks_exact_mut(L::N));
        for ((x, m), (rest, tie)) in row.chunks_exact(L::N).zip(greatest.chunks_exact(L::N)).zip(sums) {
            let (r, t) = log_sum_step(l, l.load(x), l.load(m), l.load(rest), l.load(tie));
            l.store(rest, r);
            l.store(tie, t);
        }
    }
    let mut log_sums = [0.0; STRIP];
    for (log_sum, (&rest, &ties)) in log_sums.iter_mut().zip(rests.iter().zip(&ties)) {
        *log_sum = log_of_parts(rest, ties);
    }
    for row in z.chunks_exact_mut(STRIP) {
        let stats = greatest.chunks_exact(L::N).zip(log_sums.chunks_exact(L::N));
        for (x, (m, s)) in row.chunks_exact_mut(L::N).zip(stats) {
            let v = l.sub(l.sub(l.load(x), l.load(m)), l.load(s));
            l.store(x, v);
        }
    }
}

/// A backward pass of one strip.
pub(super) struct Backward<'a, T> {
    pub(super) kind: Kind,
    pub(super) axis: &'a AxisParams,
    pub(super) y: &'a [T],
    pub(super) g: &'a [T],
    pub(super) strip: Strip<'a, T>,
}

impl<T: Real> Kernel for Backward<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let len = self.axis.len as usize;
        let (mut y, mut g) = (vec![0.0; len * STRIP], vec![0.0; len * STRIP]);
        self.strip.gather(self.axis, self.y, &mut y);
        self.strip.gather(self.axis, self.g, &mut g);
        let mut sums = [0.0; STRIP];
        for (y, g) in y.chunks_exact(STRIP).zip(g.chunks_exact(STRIP)) {
            let vectors = y.chunks_exact(L::N).zip(g.chunks_exact(L::N));
            for ((y, g), sum) in vectors.zip(sums.chunks_exact_mut(L::N)) {
                let total = self.kind.contribution(l, l.load(y), l.load(g), l.load(sum));
                l.store(sum, total);
            }
        }
        for (y, g) in y.chunks_exact(STRIP).zip(g.chunks_exact_mut(STRIP)) {
            let vectors = y.chunks_exact(L::N).zip(sums.chunks_exact(L::N));
            for (g, (y, sum)) in g.chunks_exact_mut(L::N).zip(vectors) {
                let dx = self.kind.gradient(l, l.load(y), l.load(g), l.load(sum));
                l.store(g, dx);
            }
        }
        self.strip.scatter(len, &g);
    }
}
