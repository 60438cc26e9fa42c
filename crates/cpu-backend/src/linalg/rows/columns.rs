//! Softmax along an axis that is not the last.
//!
//! Strips of 64 columns are gathered into scratch as `len x 64`.

use core::ops::Range;

use backend_api::Real;
use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{
    MaskSlice, PART_STEPS, SoftmaxVariant,
    softmax::{log_of_finite, log_of_parts, log_sum_step},
};
use crate::{
    linalg::{
        convert,
        reals::{Reals, RealsMut},
        vmath::exp_scaled,
    },
    simd::{LaneKernel, floats::Floats},
};

/// Columns worked on at once, 256 bytes: a multiple of every vector length.
const STRIP: usize = 64;

/// A value of each column of a strip.
type Row = [f32; STRIP];

/// The places of the vectors in a row.
///
/// The count is a constant, so that loops over them are unrolled.
#[inline(always)]
fn vectors<L: Floats>() -> impl Iterator<Item = Range<usize>> {
    (0..STRIP / L::N).map(|v| v * L::N..(v + 1) * L::N)
}

/// Neighbouring columns of one or more outer indices, and where their results go.
pub(super) struct SoftmaxStrip<'a> {
    first_outer: usize,
    outers: usize,
    first_inner: usize,
    /// Columns of each outer index; `outers * width <= STRIP`.
    width: usize,
    results: SoftmaxStripResults<'a>,
}

/// The results of a strip.
///
/// For each outer index and each index along the axis, there are `width` neighbours.
enum SoftmaxStripResults<'a> {
    /// One after the other.
    Block(RealsMut<'a>),
    /// Each piece in a separate row.
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
pub(super) fn strips<'a, T: Real>(axis: &AxisParams, y: &'a mut [T]) -> Vec<SoftmaxStrip<'a>> {
    let (len, inner) = (axis.len as usize, axis.inner as usize);
    // Short rows: a strip has the columns of several outer indices.
    if inner <= STRIP {
        let outers = STRIP / inner;
        let blocks = y.chunks_mut(outers * len * inner).enumerate();
        let strip = |(group, block): (usize, &'a mut [T])| SoftmaxStrip {
            first_outer: group * outers,
            outers: block.len() / (len * inner),
            first_inner: 0,
            width: inner,
            results: SoftmaxStripResults::Block(block.into()),
        };
        return blocks.map(strip).collect();
    }
    // Long rows: each outer index is cut into strips.
    let mut strips = Vec::new();
    for (first_outer, block) in y.chunks_mut(len * inner).enumerate() {
        let mut pieces: Vec<_> = (0..inner).step_by(STRIP).map(|_| Vec::with_capacity(len)).collect();
        for row in block.chunks_mut(inner) {
            pieces.iter_mut().zip(row.chunks_mut(STRIP)).for_each(|(pieces, piece)| pieces.push(piece.into()));
        }
        strips.extend(pieces.into_iter().zip((0..inner).step_by(STRIP)).map(|(pieces, first_inner)| SoftmaxStrip {
            first_outer,
            outers: 1,
            first_inner,
            width: STRIP.min(inner - first_inner),
            results: SoftmaxStripResults::Pieces(pieces),
        }));
    }
    strips
}

impl SoftmaxStrip<'_> {
    /// Copies the strip's columns of `x` into `to`, `len x STRIP`.
    ///
    /// Columns past the strip stay as they are.
    #[inline(always)]
    fn gather<L: Floats>(&self, l: L, axis: &AxisParams, x: Reals<'_>, to: &mut [Row]) {
        let (len, inner) = (axis.len as usize, axis.inner as usize);
        for o in 0..self.outers {
            for (c, row) in to.iter_mut().enumerate() {
                let at = ((self.first_outer + o) * len + c) * inner + self.first_inner;
                match x.range(at..at + self.width) {
                    Reals::F32(x) if x.len() == STRIP => row.copy_from_slice(x), // of a constant length
                    x => convert::widen(l, x, &mut row[o * self.width..(o + 1) * self.width]),
                }
            }
        }
    }

    /// Copies the results into `to`, as [`gather`](Self::gather) does.
    #[inline(always)]
    fn gather_results<L: Floats>(&self, l: L, to: &mut [Row]) {
        let (width, len) = (self.width, to.len());
        match &self.results {
            SoftmaxStripResults::Block(block) => {
                for k in 0..block.len() / width {
                    let values = &mut to[k % len][k / len * width..][..width];
                    convert::widen(l, block.shared().range(k * width..(k + 1) * width), values);
                }
            }
            SoftmaxStripResults::Pieces(pieces) => {
                for (row, piece) in to.iter_mut().zip(pieces) {
                    match piece.shared() {
                        Reals::F32(x) if x.len() == STRIP => row.copy_from_slice(x),
                        x => convert::widen(l, x, &mut row[..width]),
                    }
                }
            }
        }
    }

    /// Writes the results.
    #[inline(always)]
    fn scatter<L: Floats>(self, l: L, from: &[Row]) {
        let width = self.width;
        match self.results {
            SoftmaxStripResults::Block(mut block) => {
                for k in 0..block.len() / width {
                    let values = &from[k % from.len()][k / from.len() * width..][..width];
                    convert::narrow(l, values, block.range(k * width..(k + 1) * width));
                }
            }
            SoftmaxStripResults::Pieces(pieces) => {
                for (row, piece) in from.iter().zip(pieces) {
                    match piece {
                        RealsMut::F32(y) if y.len() == STRIP => y.copy_from_slice(row),
                        y => convert::narrow(l, &row[..width], y),
                    }
                }
            }
        }
    }
}

/// Adds the sums of [`PART_STEPS`] rows to the running sums.
///
/// Rounding errors thus do not grow with the length of the axis.
#[inline(always)]
fn join(sums: &mut [f64; STRIP], part: &Row) {
    sums.iter_mut().zip(part).for_each(|(sum, &part)| *sum += f64::from(part));
}

/// A softmax of one strip.
pub(super) struct SoftmaxStripForward<'a> {
    pub(super) kind: SoftmaxVariant,
    pub(super) p: &'a SoftmaxParams,
    pub(super) mask: MaskSlice<'a>,
    /// The elements; without them, those that the results hold.
    pub(super) x: Option<Reals<'a>>,
    /// The least finite number of the elements' type.
    pub(super) lowest: f32,
    pub(super) strip: SoftmaxStrip<'a>,
}

impl SoftmaxStripForward<'_> {
    /// Applies the mask to the gathered logits.
    ///
    /// Returns which columns have an element that is not left out.
    fn apply_mask(&self, logits: &mut [Row]) -> [bool; STRIP] {
        let (axis, s) = (&self.p.axis, &self.strip);
        let (len, inner) = (axis.len as usize, axis.inner as usize);
        let mut any = [matches!(self.mask, MaskSlice::None); STRIP];
        for o in 0..s.outers {
            let outer = s.first_outer + o;
            let first = (outer % self.p.mask_period as usize) * len * inner + s.first_inner;
            let causal = self.p.causal_len(outer as u64) as usize;
            for (c, row) in logits.iter_mut().enumerate() {
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

impl<L: Floats> LaneKernel<L> for SoftmaxStripForward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let mut z = vec![0.0; strip_scratch(self.p.axis.len as usize)];
        let z = z.as_chunks_mut().0;
        match self.x {
            Some(x) => self.strip.gather(l, &self.p.axis, x, z),
            None => self.strip.gather_results(l, z),
        }
        let any = self.apply_mask(z);
        let mut greatest = [f32::NEG_INFINITY; STRIP];
        for row in &*z {
            for v in vectors::<L>() {
                let m = l.max(l.load(&row[v.clone()]), l.load(&greatest[v.clone()])); // NaN loses
                l.store(&mut greatest[v], m);
            }
        }
        match self.kind {
            SoftmaxVariant::Softmax => softmax(l, z, &greatest),
            SoftmaxVariant::Log => log_softmax(l, z, &greatest, self.lowest),
        }
        for (column, (&m, any)) in greatest.iter().zip(any).enumerate() {
            if m == f32::NEG_INFINITY {
                let value = if any { f32::NAN } else { self.kind.excluded() };
                z.iter_mut().for_each(|row| row[column] = value);
            }
        }
        self.strip.scatter(l, z);
    }
}

#[inline(always)]
fn softmax<L: Floats>(l: L, z: &mut [Row], greatest: &Row) {
    let mut sums = [0.0f64; STRIP];
    for part in z.chunks_mut(PART_STEPS) {
        let mut of_part = [0.0; STRIP];
        for row in part {
            for v in vectors::<L>() {
                let e = exp_scaled(l, l.sub(l.load(&row[v.clone()]), l.load(&greatest[v.clone()])));
                l.store(&mut row[v.clone()], e);
                let total = l.add(l.load(&of_part[v.clone()]), e);
                l.store(&mut of_part[v], total);
            }
        }
        join(&mut sums, &of_part);
    }
    let factors = sums.map(|sum| 1.0 / sum as f32);
    for row in z {
        for v in vectors::<L>() {
            let y = l.mul(l.load(&row[v.clone()]), l.load(&factors[v.clone()]));
            l.store(&mut row[v], y);
        }
    }
}

#[inline(always)]
fn log_softmax<L: Floats>(l: L, z: &mut [Row], greatest: &Row, lowest: f32) {
    // Sums of exponentials and numbers of ties of each column.
    let (mut rests, mut ties) = ([0.0f64; STRIP], [0.0f64; STRIP]);
    for part in z.chunks(PART_STEPS) {
        let (mut rests_of_part, mut ties_of_part) = ([0.0; STRIP], [0.0; STRIP]);
        for row in part {
            for v in vectors::<L>() {
                let (x, m) = (l.load(&row[v.clone()]), l.load(&greatest[v.clone()]));
                let (rest, tie) = (l.load(&rests_of_part[v.clone()]), l.load(&ties_of_part[v.clone()]));
                let (rest, tie) = log_sum_step(l, x, m, rest, tie);
                l.store(&mut rests_of_part[v.clone()], rest);
                l.store(&mut ties_of_part[v], tie);
            }
        }
        join(&mut rests, &rests_of_part);
        join(&mut ties, &ties_of_part);
    }
    // The logarithm of each sum, then the elements less it.
    let mut log_sums = [0.0; STRIP];
    for (log_sum, (&rest, &ties)) in log_sums.iter_mut().zip(rests.iter().zip(&ties)) {
        *log_sum = log_of_parts(rest as f32, ties as f32);
    }
    for row in z {
        for v in vectors::<L>() {
            let x = l.load(&row[v.clone()]);
            let y = l.sub(l.sub(x, l.load(&greatest[v.clone()])), l.load(&log_sums[v.clone()]));
            l.store(&mut row[v], log_of_finite(l, x, y, l.splat(lowest)));
        }
    }
}

/// A backward pass of one strip.
pub(super) struct SoftmaxStripBackward<'a> {
    pub(super) kind: SoftmaxVariant,
    pub(super) axis: &'a AxisParams,
    pub(super) y: Reals<'a>,
    pub(super) g: Reals<'a>,
    pub(super) strip: SoftmaxStrip<'a>,
}

impl<L: Floats> LaneKernel<L> for SoftmaxStripBackward<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let scratch = strip_scratch(self.axis.len as usize);
        let (mut y, mut g) = (vec![0.0; scratch], vec![0.0; scratch]);
        let (y, g) = (y.as_chunks_mut().0, g.as_chunks_mut().0);
        self.strip.gather(l, self.axis, self.y, y);
        self.strip.gather(l, self.axis, self.g, g);
        // The sum that the gradients of a column share.
        let mut sums = column_sums(l, self.kind, y, g);
        let lost = sums.iter().any(|&sum| self.kind.may_lose_zeros(sum));
        // An element of 0 is left out, whatever its gradient and the sum.
        let leave_out = |g: &mut [Row]| {
            let elements = g.as_flattened_mut().iter_mut().zip(y.as_flattened());
            elements.filter(|&(_, &y)| y == 0.0).for_each(|(g, _)| *g = 0.0);
        };
        if lost {
            leave_out(g);
            sums = column_sums(l, self.kind, y, g);
        }
        // Gradients replace g.
        for (y, g) in y.iter().zip(&mut *g) {
            for v in vectors::<L>() {
                let sum = l.load(&sums[v.clone()]);
                let dx = self.kind.gradient(l, l.load(&y[v.clone()]), l.load(&g[v.clone()]), sum);
                l.store(&mut g[v], dx);
            }
        }
        if lost {
            leave_out(g);
        }
        self.strip.scatter(l, g);
    }
}

/// The sum that the gradients of each column share.
#[inline(always)]
fn column_sums<L: Floats>(l: L, kind: SoftmaxVariant, y: &[Row], g: &[Row]) -> Row {
    let mut sums = [0.0f64; STRIP];
    for (y, g) in y.chunks(PART_STEPS).zip(g.chunks(PART_STEPS)) {
        let mut of_part = [0.0; STRIP];
        for (y, g) in y.iter().zip(g) {
            for v in vectors::<L>() {
                let sum = l.load(&of_part[v.clone()]);
                let total = kind.contribution(l, l.load(&y[v.clone()]), l.load(&g[v.clone()]), sum);
                l.store(&mut of_part[v], total);
            }
        }
        join(&mut sums, &of_part);
    }
    sums.map(|sum| sum as f32)
}
