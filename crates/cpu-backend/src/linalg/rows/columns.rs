//! Softmax along an axis that is not the last: strips of 64 columns, gathered into scratch as `len x 64`.

use backend_api::Real;
use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{
    Kind, MaskSlice, PART_STEPS,
    softmax::{log_of_parts, log_sum_step},
};
use crate::{
    linalg::{
        convert,
        reals::{Reals, RealsMut},
        vmath::exp_scaled,
    },
    simd::{Kernel, floats::Floats},
};

/// Columns worked on at once, 256 bytes: a multiple of every vector length.
const STRIP: usize = 64;

/// Neighbouring columns of one or more outer indices, and where their results go.
pub(super) struct Strip<'a> {
    first_outer: usize,
    outers: usize,
    first_inner: usize,
    /// Columns of each outer index; `outers * width <= STRIP`.
    width: usize,
    results: Results<'a>,
}

/// The results of a strip, for each outer index and each index along the axis `width` neighbours.
enum Results<'a> {
    /// One after the other.
    Block(RealsMut<'a>),
    /// Each in a row of its own.
    Pieces(Vec<RealsMut<'a>>),
}

/// The number of strips that [`strips`] cuts, and the bytes of its lists of pieces.
pub(super) fn strips_and_bytes(axis: &AxisParams) -> (usize, u64) {
    let (outer, inner) = (axis.outer as usize, axis.inner as usize);
    if inner <= STRIP {
        return (outer.div_ceil(STRIP / inner), 0);
    }
    let strips = outer * inner.div_ceil(STRIP);
    (strips, strips as u64 * axis.len * size_of::<RealsMut<'_>>() as u64)
}

/// Elements of scratch that one strip takes, in each tensor that is gathered.
pub(super) fn strip_scratch(len: usize) -> usize {
    len * STRIP
}

/// Cuts a row-major output into strips. The cut depends only on the shape.
pub(super) fn strips<'a, T: Real>(axis: &AxisParams, y: &'a mut [T]) -> Vec<Strip<'a>> {
    let (len, inner) = (axis.len as usize, axis.inner as usize);
    if inner <= STRIP {
        let outers = STRIP / inner;
        let blocks = y.chunks_mut(outers * len * inner).enumerate();
        let strip = |(group, block): (usize, &'a mut [T])| Strip {
            first_outer: group * outers,
            outers: block.len() / (len * inner),
            first_inner: 0,
            width: inner,
            results: Results::Block(block.into()),
        };
        return blocks.map(strip).collect();
    }
    let mut strips = Vec::new();
    for (first_outer, block) in y.chunks_mut(len * inner).enumerate() {
        let mut pieces: Vec<_> = (0..inner).step_by(STRIP).map(|_| Vec::with_capacity(len)).collect();
        for row in block.chunks_mut(inner) {
            pieces.iter_mut().zip(row.chunks_mut(STRIP)).for_each(|(pieces, piece)| pieces.push(piece.into()));
        }
        strips.extend(pieces.into_iter().zip((0..inner).step_by(STRIP)).map(|(pieces, first_inner)| Strip {
            first_outer,
            outers: 1,
            first_inner,
            width: STRIP.min(inner - first_inner),
            results: Results::Pieces(pieces),
        }));
    }
    strips
}

impl Strip<'_> {
    /// Copies the strip's columns of `x` into `to`, `len x STRIP`; columns past the strip stay as they are.
    #[inline(always)]
    fn gather<L: Floats>(&self, l: L, axis: &AxisParams, x: Reals<'_>, to: &mut [f32]) {
        let (len, inner) = (axis.len as usize, axis.inner as usize);
        for o in 0..self.outers {
            for (c, row) in to.chunks_exact_mut(STRIP).enumerate() {
                let at = ((self.first_outer + o) * len + c) * inner + self.first_inner;
                convert::widen(l, x.range(at..at + self.width), &mut row[o * self.width..(o + 1) * self.width]);
            }
        }
    }

    /// Writes the results.
    #[inline(always)]
    fn scatter<L: Floats>(self, l: L, len: usize, from: &[f32]) {
        let width = self.width;
        let place = |k: usize| k % len * STRIP + k / len * width;
        match self.results {
            Results::Block(mut block) => {
                for k in 0..block.len() / width {
                    convert::narrow(l, &from[place(k)..][..width], block.range(k * width..(k + 1) * width));
                }
            }
            Results::Pieces(pieces) => {
                for (k, piece) in pieces.into_iter().enumerate() {
                    convert::narrow(l, &from[place(k)..][..width], piece);
                }
            }
        }
    }
}

/// Rows of a strip whose terms are added up before their sum joins the running sum, so that rounding errors do not grow
/// with the length of the axis.
const PART: usize = PART_STEPS * STRIP;

/// Adds the sums of a part to those of the parts before.
#[inline(always)]
fn join(sums: &mut [f64; STRIP], part: &[f32; STRIP]) {
    sums.iter_mut().zip(part).for_each(|(sum, &part)| *sum += f64::from(part));
}

/// A softmax of one strip.
pub(super) struct Forward<'a> {
    pub(super) kind: Kind,
    pub(super) p: &'a SoftmaxParams,
    pub(super) mask: MaskSlice<'a>,
    pub(super) x: Reals<'a>,
    pub(super) strip: Strip<'a>,
}

impl Forward<'_> {
    /// Applies the mask to the gathered logits and reports which columns have an element that is not left out.
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

impl<L: Floats> Kernel<L> for Forward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let len = self.p.axis.len as usize;
        let mut z = vec![0.0; len * STRIP];
        self.strip.gather(l, &self.p.axis, self.x, &mut z);
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
        self.strip.scatter(l, len, &z);
    }
}

#[inline(always)]
fn softmax<L: Floats>(l: L, z: &mut [f32], greatest: &[f32; STRIP]) {
    let mut sums = [0.0f64; STRIP];
    for part in z.chunks_mut(PART) {
        let mut of_part = [0.0; STRIP];
        for row in part.chunks_exact_mut(STRIP) {
            let stats = greatest.chunks_exact(L::N).zip(of_part.chunks_exact_mut(L::N));
            for (x, (m, sum)) in row.chunks_exact_mut(L::N).zip(stats) {
                let e = exp_scaled(l, l.sub(l.load(x), l.load(m)));
                l.store(x, e);
                let total = l.add(l.load(sum), e);
                l.store(sum, total);
            }
        }
        join(&mut sums, &of_part);
    }
    let factors = sums.map(|sum| 1.0 / sum as f32);
    for row in z.chunks_exact_mut(STRIP) {
        for (x, f) in row.chunks_exact_mut(L::N).zip(factors.chunks_exact(L::N)) {
            let v = l.mul(l.load(x), l.load(f));
            l.store(x, v);
        }
    }
}

#[inline(always)]
fn log_softmax<L: Floats>(l: L, z: &mut [f32], greatest: &[f32; STRIP]) {
    let (mut rests, mut ties) = ([0.0f64; STRIP], [0.0f64; STRIP]);
    for part in z.chunks(PART) {
        let (mut rests_of_part, mut ties_of_part) = ([0.0; STRIP], [0.0; STRIP]);
        for row in part.chunks_exact(STRIP) {
            let sums = rests_of_part.chunks_exact_mut(L::N).zip(ties_of_part.chunks_exact_mut(L::N));
            for ((x, m), (rest, tie)) in row.chunks_exact(L::N).zip(greatest.chunks_exact(L::N)).zip(sums) {
                let (r, t) = log_sum_step(l, l.load(x), l.load(m), l.load(rest), l.load(tie));
                l.store(rest, r);
                l.store(tie, t);
            }
        }
        join(&mut rests, &rests_of_part);
        join(&mut ties, &ties_of_part);
    }
    let mut log_sums = [0.0; STRIP];
    for (log_sum, (&rest, &ties)) in log_sums.iter_mut().zip(rests.iter().zip(&ties)) {
        *log_sum = log_of_parts(rest as f32, ties as f32);
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
pub(super) struct Backward<'a> {
    pub(super) kind: Kind,
    pub(super) axis: &'a AxisParams,
    pub(super) y: Reals<'a>,
    pub(super) g: Reals<'a>,
    pub(super) strip: Strip<'a>,
}

impl<L: Floats> Kernel<L> for Backward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let len = self.axis.len as usize;
        let (mut y, mut g) = (vec![0.0; len * STRIP], vec![0.0; len * STRIP]);
        self.strip.gather(l, self.axis, self.y, &mut y);
        self.strip.gather(l, self.axis, self.g, &mut g);
        let mut sums = column_sums(l, self.kind, &y, &g);
        let lost = sums.iter().any(|&sum| self.kind.may_lose_zeros(sum));
        // An element of 0 is left out, whatever its gradient and the sum.
        let leave_out = |g: &mut [f32]| g.iter_mut().zip(&y).filter(|&(_, &y)| y == 0.0).for_each(|(g, _)| *g = 0.0);
        if lost {
            leave_out(&mut g);
            sums = column_sums(l, self.kind, &y, &g);
        }
        for (y, g) in y.chunks_exact(STRIP).zip(g.chunks_exact_mut(STRIP)) {
            let vectors = y.chunks_exact(L::N).zip(sums.chunks_exact(L::N));
            for (g, (y, sum)) in g.chunks_exact_mut(L::N).zip(vectors) {
                let dx = self.kind.gradient(l, l.load(y), l.load(g), l.load(sum));
                l.store(g, dx);
            }
        }
        if lost {
            leave_out(&mut g);
        }
        self.strip.scatter(l, len, &g);
    }
}

/// The sum that the gradients of each column share.
#[inline(always)]
fn column_sums<L: Floats>(l: L, kind: Kind, y: &[f32], g: &[f32]) -> [f32; STRIP] {
    let mut sums = [0.0f64; STRIP];
    for (y, g) in y.chunks(PART).zip(g.chunks(PART)) {
        let mut of_part = [0.0; STRIP];
        for (y, g) in y.chunks_exact(STRIP).zip(g.chunks_exact(STRIP)) {
            let vectors = y.chunks_exact(L::N).zip(g.chunks_exact(L::N));
            for ((y, g), sum) in vectors.zip(of_part.chunks_exact_mut(L::N)) {
                let total = kind.contribution(l, l.load(y), l.load(g), l.load(sum));
                l.store(sum, total);
            }
        }
        join(&mut sums, &of_part);
    }
    sums.map(|sum| sum as f32)
}
