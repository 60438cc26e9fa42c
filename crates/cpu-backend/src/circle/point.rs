//! Evaluation of polynomials at points over the secure field.
//!
//! `f(x, y) = sum over k of c_k y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ..` with the bits `b0 b1 ..` of `k`
//! and `pi(x) = 2 x^2 - 1`. An index `k` has four parts, from its lowest bit: the lane of a vector,
//! the row of vectors within a block, the block within a range, and the range. Products with the
//! basis values of rows are summed in every lane; the other parts come to a few products for a
//! block or a range.

use core_types::{
    circle::{CirclePoint, double_x},
    field::{M31, QM31},
    params::circle::CirclePointRangeParams,
};

use crate::{
    Simd,
    simd::{
        LaneKernel, WIDEST, dispatch,
        words::{ProductSums, secure_product},
    },
};

/// Log of the rows of a block: four kilobytes of basis values.
const LOG_ROWS: u32 = 8;

/// Log of the number of coefficients in a range.
///
/// A range stays in the second-level cache from one point to the next.
pub(super) const LOG_RANGE: u32 = 16;

/// The basis at one point, for vectors of some length.
pub(super) struct Basis {
    /// Factors of the bits of an index: `y, x, pi(x), pi(pi(x)), ...`
    factors: [QM31; CirclePointRangeParams::FACTORS],
    /// Basis values of the lanes of a vector, the rows of a block and the blocks of a range.
    lanes: Vec<QM31>,
    rows: Vec<QM31>,
    blocks: Vec<QM31>,
}

impl Basis {
    /// The basis of up to `2^log_size` coefficients at `point`, for vectors of `2^log_lanes`.
    pub(super) fn new(point: CirclePoint<QM31>, log_size: u32, log_lanes: u32) -> Self {
        let mut factors = [point.y; CirclePointRangeParams::FACTORS];
        let mut x = point.x;
        for factor in &mut factors[1..] {
            *factor = x;
            x = double_x(x);
        }
        let bounds = [0, log_lanes, log_lanes + LOG_ROWS, LOG_RANGE].map(|bit| bit.min(log_size) as usize);
        let products = |part: usize| products(&factors[bounds[part]..bounds[part + 1]]);
        Self { lanes: products(0), rows: products(1), blocks: products(2), factors }
    }

    /// Elements of a basis, at most.
    pub(super) fn len(log_lanes: u32) -> usize {
        CirclePointRangeParams::FACTORS + (1 << log_lanes) + (1 << LOG_ROWS) + (1 << (LOG_RANGE - LOG_ROWS - log_lanes))
    }

    /// The sum of the coefficients of range `range` times their basis values.
    ///
    /// A column shorter than a range is its only range.
    pub(super) fn sum(&self, simd: Simd, coefficients: &[M31], range: usize) -> QM31 {
        let sum = dispatch(simd, RangeSum { basis: self, coefficients });
        let set = self.factors[LOG_RANGE as usize..].iter().enumerate().filter(|&(bit, _)| range >> bit & 1 == 1);
        set.fold(sum, |sum, (_, &factor)| sum * factor)
    }
}

/// The products of all subsets of `factors`, by the bits of their index.
fn products(factors: &[QM31]) -> Vec<QM31> {
    let mut products = Vec::with_capacity(1 << factors.len());
    products.push(QM31::ONE);
    for &factor in factors {
        for i in 0..products.len() {
            products.push(products[i] * factor);
        }
    }
    products
}

/// A sum over a range, or over a column of less than a vector.
struct RangeSum<'a> {
    basis: &'a Basis,
    coefficients: &'a [M31],
}

impl<L: ProductSums> LaneKernel<L> for RangeSum<'_> {
    type Out = QM31;

    #[inline(always)]
    fn run(self, l: L) -> QM31 {
        let Basis { lanes, rows, blocks, .. } = self.basis;
        // A column of less than a vector is summed word by word.
        if self.coefficients.len() < L::WIDTH {
            return lanes.iter().zip(self.coefficients).fold(QM31::ZERO, |sum, (&basis, &c)| sum + basis * c);
        }
        // Sums over the rows of each block, times the basis value of the block.
        let mut total = [l.splat(0); 4];
        for (block, basis) in self.coefficients.chunks(rows.len() << L::LOG).zip(blocks) {
            let [c0, c1, c2, c3] = basis.coordinates();
            let basis = [l.splat(c0.word()), l.splat(c1.word()), l.splat(c2.word()), l.splat(c3.word())];
            let scaled = secure_product(l, block_sums(l, block, rows), basis);
            let mut k = 0;
            while k < 4 {
                total[k] = l.add(total[k], scaled[k]);
                k += 1;
            }
        }
        // The lanes times their basis values add up to the range.
        let mut planes = [[M31::ZERO; WIDEST]; 4];
        for (plane, sums) in planes.iter_mut().zip(total) {
            // SAFETY: no vector has more words than a plane, and its words are canonical.
            unsafe { l.store(plane.as_mut_ptr().cast(), sums) };
        }
        let mut sum = QM31::ZERO;
        for (lane, &basis) in lanes.iter().enumerate() {
            let [p0, p1, p2, p3] = &planes;
            sum += QM31::from_coordinates([p0[lane], p1[lane], p2[lane], p3[lane]]) * basis;
        }
        sum
    }
}

/// For each lane the sum over the rows of a block, one vector for each coordinate.
#[inline(always)]
fn block_sums<L: ProductSums>(l: L, block: &[M31], rows: &[QM31]) -> [L::V; 4] {
    let words = block.as_ptr().cast::<u32>();
    let count = block.len() >> L::LOG;
    let mut sums = [l.no_products(); 4];
    let mut row = 0;
    // Four rows at a time, since that is one step of the sums.
    while row + 4 <= count {
        // SAFETY: row + 3 < count, and the block has `count` vectors.
        let vectors = unsafe {
            let first = words.add(row << L::LOG);
            [
                l.load(first),
                l.load(first.add(L::WIDTH)),
                l.load(first.add(2 * L::WIDTH)),
                l.load(first.add(3 * L::WIDTH)),
            ]
        };
        let basis = [rows[row], rows[row + 1], rows[row + 2], rows[row + 3]];
        sums = with_rows(l, sums, vectors, basis);
        row += 4;
    }
    // A block of fewer rows has one or two.
    if row < count {
        let (mut vectors, mut basis) = ([l.splat(0); 4], [QM31::ZERO; 4]);
        let mut i = 0;
        while row + i < count {
            // SAFETY: row + i < count, and the block has `count` vectors.
            vectors[i] = unsafe { l.load(words.add((row + i) << L::LOG)) };
            basis[i] = rows[row + i];
            i += 1;
        }
        sums = with_rows(l, sums, vectors, basis);
    }
    [l.total(sums[0]), l.total(sums[1]), l.total(sums[2]), l.total(sums[3])]
}

/// Sums with four more rows.
#[inline(always)]
fn with_rows<L: ProductSums>(l: L, mut sums: [L::Sum; 4], vectors: [L::V; 4], basis: [QM31; 4]) -> [L::Sum; 4] {
    let [b0, b1, b2, b3] =
        [basis[0].coordinates(), basis[1].coordinates(), basis[2].coordinates(), basis[3].coordinates()];
    let mut k = 0;
    while k < 4 {
        let factors = [l.splat(b0[k].word()), l.splat(b1[k].word()), l.splat(b2[k].word()), l.splat(b3[k].word())];
        sums[k] = l.add_products(sums[k], vectors, factors);
        k += 1;
    }
    sums
}
