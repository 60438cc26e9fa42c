//! Quotients: numerators minus their lines, times the inverses of denominators.
//!
//! `sum over z of (numerator_z(p) - slope_z p.y - constant_z) / D_z(p)` with
//! `D_z(p) = (Re z.x - p.x) Im z.y - (Re z.y - p.y) Im z.x` in CM31 (DEEP-FRI,
//! <https://eprint.iacr.org/2019/336>; stwo 2.3, `core/pcs/quotients.rs`).

use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::deep::DeepBatch,
};

use super::domain::{DomainTiles, TILE};
use crate::{
    Simd,
    circle::inverse::invert_m31,
    simd::{
        LaneKernel, dispatch,
        words::{Slices, WordVectors, complex_product},
    },
};

/// A batch and where its planes begin among the numerators.
struct BatchPlanes {
    log_size: u32,
    first: usize,
}

/// Everything at one point.
struct QuotientPoint {
    at: CirclePoint<QM31>,
    slope: QM31,
    constant: QM31,
    parts: Vec<BatchPlanes>,
}

/// The inputs of the quotients.
pub(super) struct Quotients<'a> {
    log_size: u32,
    tiles: DomainTiles,
    points: Vec<QuotientPoint>,
    numerators: &'a [M31],
}

/// Scratch memory of a task.
pub(super) struct QuotientScratch {
    x: [M31; TILE],
    y: [M31; TILE],
    /// Denominators, of CM31.
    real: [M31; TILE],
    imaginary: [M31; TILE],
    norms: [M31; TILE],
    inverses: [M31; TILE],
    numerators: [[M31; TILE]; 4],
    quotients: [[M31; TILE]; 4],
}

impl<'a> Quotients<'a> {
    /// Puts batches of one point together.
    pub(super) fn new(
        log_size: u32,
        tiles: DomainTiles,
        batches: &[DeepBatch],
        points: &[QM31],
        lines: &[QM31],
        numerators: &'a [M31],
    ) -> Self {
        // The lines of a point add up; its numerators stay apart, one part for each height.
        let (mut first, mut lines) = (0, lines.as_chunks::<2>().0.iter());
        let points = batches.chunk_by(|a, b| a.point == b.point).map(|batches| {
            let at = 2 * batches[0].point as usize;
            let (mut slope, mut constant) = (QM31::ZERO, QM31::ZERO);
            for line in lines.by_ref().take(batches.len()) {
                slope += line[0];
                constant += line[1];
            }
            let parts = batches.iter().map(|batch| {
                let part = BatchPlanes { log_size: batch.log_size, first };
                first += 4 << batch.log_size;
                part
            });
            QuotientPoint {
                at: CirclePoint { x: points[at], y: points[at + 1] },
                slope,
                constant,
                parts: parts.collect(),
            }
        });
        let points = points.collect();
        Self { log_size, tiles, points, numerators }
    }

    /// Writes the quotients of tile `tile` to four planes.
    pub(super) fn write(&self, simd: Simd, tile: usize, planes: &mut [&mut [M31]]) {
        let mut scratch = Box::new(QuotientScratch::new());
        let len = planes[0].len();
        self.tiles.write(simd, tile, &mut scratch.x, &mut scratch.y);
        for point in &self.points {
            for (i, part) in point.parts.iter().enumerate() {
                self.gather(part, tile * TILE, len, i == 0, &mut scratch.numerators);
            }
            dispatch(simd, Denominators { point, scratch: &mut scratch });
            if !invert_m31(simd, &scratch.norms[..len], &mut scratch.inverses[..len]) {
                for (norm, inverse) in scratch.norms.iter().zip(&mut scratch.inverses) {
                    *inverse = norm.inverse().unwrap_or(M31::ZERO);
                }
            }
            dispatch(simd, Terms { point, scratch: &mut scratch });
        }
        for (plane, quotients) in planes.iter_mut().zip(&scratch.quotients) {
            plane.copy_from_slice(&quotients[..len]);
        }
    }

    /// Sets, or adds to, the numerators of `len` positions from `start` on.
    fn gather(&self, part: &BatchPlanes, start: usize, len: usize, is_first: bool, numerators: &mut [[M31; TILE]; 4]) {
        let planes = self.numerators[part.first..].chunks(1 << part.log_size);
        // Pairs of positions that differ only in their lowest bits meet in one pair of a smaller height.
        let shift = self.log_size - part.log_size;
        for (plane, target) in planes.zip(numerators) {
            let mut put = |i: usize, word: M31| target[i] = if is_first { word } else { target[i] + word };
            if shift == 0 {
                plane[start..start + len].iter().enumerate().for_each(|(i, &word)| put(i, word));
                continue;
            }
            for i in (0..len).step_by(2) {
                let pair = (start + i) >> (shift + 1) << 1;
                put(i, plane[pair]);
                put(i + 1, plane[pair + 1]);
            }
        }
    }
}

impl QuotientScratch {
    fn new() -> Self {
        let zeros = [M31::ZERO; TILE];
        Self {
            x: zeros,
            y: zeros,
            real: zeros,
            imaginary: zeros,
            norms: zeros,
            inverses: zeros,
            numerators: [zeros; 4],
            quotients: [zeros; 4],
        }
    }
}

/// Sets the denominators of a point at the positions of a tile, and their norms.
struct Denominators<'a> {
    point: &'a QuotientPoint,
    scratch: &'a mut QuotientScratch,
}

impl<L: WordVectors> LaneKernel<L> for Denominators<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let QuotientScratch { x, y, real, imaginary, norms, .. } = self.scratch;
        let CirclePoint { x: of_x, y: of_y } = self.point.at;
        // (Re zx - x) Im zy - (Re zy - y) Im zx = constant - Im zy x + Im zx y
        let constant = of_x.a * of_y.b - of_y.a * of_x.b;
        let constant = [l.splat(constant.a.word()), l.splat(constant.b.word())];
        let by_x = [l.splat(2 * of_y.b.a.word()), l.splat(2 * of_y.b.b.word())];
        let by_y = [l.splat(2 * of_x.b.a.word()), l.splat(2 * of_x.b.b.word())];
        for at in (0..TILE).step_by(L::WIDTH) {
            let (px, py) = (l.take(&x[at..]), l.take(&y[at..]));
            let re = l.add(l.sub(constant[0], l.mul_splat(px, by_x[0])), l.mul_splat(py, by_y[0]));
            let im = l.add(l.sub(constant[1], l.mul_splat(px, by_x[1])), l.mul_splat(py, by_y[1]));
            l.put(&mut real[at..], re);
            l.put(&mut imaginary[at..], im);
            l.put(&mut norms[at..], l.add(l.mul(re, l.doubled(re)), l.mul(im, l.doubled(im))));
        }
    }
}

/// Adds the quotients at a point.
struct Terms<'a> {
    point: &'a QuotientPoint,
    scratch: &'a mut QuotientScratch,
}

impl<L: WordVectors> LaneKernel<L> for Terms<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let QuotientScratch { y, real, imaginary, inverses, numerators, quotients, .. } = self.scratch;
        let slope = self.point.slope.coordinates().map(|word| l.splat(2 * word.word()));
        let constant = self.point.constant.coordinates().map(|word| l.splat(word.word()));
        for at in (0..TILE).step_by(L::WIDTH) {
            let (py, inverse) = (l.take(&y[at..]), l.doubled(l.take(&inverses[at..])));
            let re = l.mul(l.take(&real[at..]), inverse);
            let im = l.sub(l.splat(0), l.mul(l.take(&imaginary[at..]), inverse));
            let mut rest = [py; 4];
            for k in 0..4 {
                let line = l.add(l.mul_splat(py, slope[k]), constant[k]);
                rest[k] = l.sub(l.take(&numerators[k][at..]), line);
            }
            let low = complex_product(l, [rest[0], rest[1]], [re, im]);
            let high = complex_product(l, [rest[2], rest[3]], [re, im]);
            for (plane, quotient) in quotients.iter_mut().zip([low[0], low[1], high[0], high[1]]) {
                let sum = l.add(l.take(&plane[at..]), quotient);
                l.put(&mut plane[at..], sum);
            }
        }
    }
}
