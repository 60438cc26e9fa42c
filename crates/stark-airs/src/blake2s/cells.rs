//! Arithmetic on words of 32 bits, as two halves each.
//!
//! One definition serves both constraints and traces.

use core_types::{
    air::{BaseValue, Fraction, LogUp, Row},
    field::M31,
};

use super::relations::XORS;

/// A word by its lower and upper 16 bits.
///
/// That they have no more is shown by what follows from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitWord<F> {
    pub(super) low: F,
    pub(super) high: F,
}

impl<F: BaseValue> SplitWord<F> {
    /// A word that is the same on each row.
    pub(super) fn constant(word: u32) -> Self {
        Self { low: F::from(M31::from_u32(word & 0xffff)), high: F::from(M31::from_u32(word >> 16)) }
    }
}

/// What words are computed with: each method is the next column of a row.
pub(super) trait Cells {
    type F: BaseValue;

    /// Bits `from..to` of `half`, which other columns and look-ups show.
    fn bits(&mut self, half: Self::F, from: u32, to: u32) -> Self::F;

    /// The exclusive or of two numbers that the look-up shows to have `bits` bits.
    fn xor(&mut self, bits: u32, a: Self::F, b: Self::F) -> Self::F;

    /// The lower 16 bits of `sum`, at most three halves and a carry.
    fn sum(&mut self, sum: Self::F) -> Self::F;

    /// States that `value` is zero.
    fn zero(&mut self, value: Self::F);
}

/// A half in up to three parts, from its lowest bits up.
type HalfParts<F> = [F; 3];

/// The sum of `terms`, two or three words, modulo 2^32.
///
/// Its halves have to be shown to have 16 bits each.
pub(super) fn add<C: Cells, const K: usize>(cells: &mut C, terms: [SplitWord<C::F>; K]) -> SplitWord<C::F> {
    let mut half = |halves: [C::F; K], carry: Option<C::F>| {
        let terms = halves.into_iter().chain(carry);
        let sum = terms.reduce(|sum, term| sum + term).unwrap_or_else(|| M31::ZERO.into());
        let low = cells.sum(sum);
        // Divided by 2^16, which is 2^15 times.
        let carry = (sum - low) * M31::from_u32(1 << 15);
        let carries = (1..K as u32).fold(carry, |product, k| product * (carry - M31::from_u32(k)));
        cells.zero(carries);
        (low, carry)
    };
    let (low, carry) = half(terms.map(|term| term.low), None);
    let (high, _) = half(terms.map(|term| term.high), Some(carry));
    SplitWord { low, high }
}

/// The exclusive or of two words, turned right by 16, 12, 8 or 7 bits.
///
/// Shows that all halves have 16 bits.
pub(super) fn xor_turned<C: Cells>(
    cells: &mut C,
    a: SplitWord<C::F>,
    b: SplitWord<C::F>,
    turn: u32,
) -> SplitWord<C::F> {
    let widths = widths(turn);
    let [a_low, a_high, b_low, b_high] = [a.low, a.high, b.low, b.high].map(|half| split(cells, half, widths));
    let low = xor_parts(cells, widths, a_low, b_low);
    let high = xor_parts(cells, widths, a_high, b_high);
    SplitWord { low: turned(widths, low, high, turn), high: turned(widths, high, low, turn) }
}

/// The exclusive or of three words, and its look-ups.
pub(super) fn xor_three<C: Cells>(cells: &mut C, words: [SplitWord<C::F>; 3]) -> SplitWord<C::F> {
    let widths = widths(16);
    let mut half = |halves: [C::F; 3]| {
        let [a, b, c] = halves.map(|half| split(cells, half, widths));
        let ab = xor_parts(cells, widths, a, b);
        let all = xor_parts(cells, widths, ab, c);
        turned(widths, all, all, 16)
    };
    SplitWord { low: half(words.map(|word| word.low)), high: half(words.map(|word| word.high)) }
}

/// Bits of the parts of a half, so that no part lies on both sides of where it is turned.
const fn widths(turn: u32) -> &'static [u32] {
    match turn {
        7 => &[7, 5, 4],
        12 => &[8, 4, 4],
        _ => &[8, 8],
    }
}

/// Splits a half into parts. The lowest part is the remainder.
fn split<C: Cells>(cells: &mut C, half: C::F, widths: &[u32]) -> HalfParts<C::F> {
    let mut parts = [half; 3];
    let mut from = 0;
    for (k, &width) in widths.iter().enumerate() {
        if k > 0 {
            parts[k] = cells.bits(half, from, from + width);
            parts[0] = parts[0] - parts[k] * M31::from_u32(1 << from);
        }
        from += width;
    }
    parts
}

fn xor_parts<C: Cells>(cells: &mut C, widths: &[u32], a: HalfParts<C::F>, b: HalfParts<C::F>) -> HalfParts<C::F> {
    let mut parts = a;
    for (k, &width) in widths.iter().enumerate() {
        parts[k] = cells.xor(width, a[k], b[k]);
    }
    parts
}

/// A half of a turned word.
///
/// It has the upper bits of the same half, and above them the lower bits of the other half.
fn turned<F: BaseValue>(widths: &[u32], same: HalfParts<F>, other: HalfParts<F>, turn: u32) -> F {
    let mut from = 0;
    let terms = widths.iter().enumerate().map(|(k, &width)| {
        let (part, to) = if from >= turn { (same[k], from - turn) } else { (other[k], from + 16 - turn) };
        from += width;
        if to == 0 { part } else { part * M31::from_u32(1 << to) }
    });
    terms.reduce(|sum, term| sum + term).unwrap_or_else(|| M31::ZERO.into())
}

/// A look-up in a table of exclusive ors.
#[derive(Clone, Copy)]
struct Xor<F> {
    bits: u32,
    values: [F; 3],
}

/// The columns of a row whose constraints are stated.
///
/// Its `N` look-ups wait until the constraints have all been stated.
pub(super) struct RowCells<'r, R: Row, const N: usize> {
    row: &'r mut R,
    xors: [Option<Xor<R::F>>; N],
    count: usize,
}

impl<'r, R: Row, const N: usize> RowCells<'r, R, N> {
    pub(super) fn new(row: &'r mut R) -> Self {
        Self { row, xors: [None; N], count: 0 }
    }

    /// The look-ups, two to a column. More may follow.
    pub(super) fn look_up(self) -> LogUp<R::E> {
        let mut look_ups = LogUp::new(2);
        for Xor { bits, values: [a, b, c] } in self.xors.into_iter().flatten() {
            let bits = R::F::from(M31::from_u32(bits));
            let denominator = XORS.combine(self.row, &[bits, a, b, c]);
            let numerator = R::E::from(R::F::from(M31::ONE));
            look_ups.add(self.row, Fraction { numerator, denominator });
        }
        look_ups
    }
}

impl<R: Row, const N: usize> Cells for RowCells<'_, R, N> {
    type F = R::F;

    fn bits(&mut self, _: R::F, _: u32, _: u32) -> R::F {
        self.row.column()
    }

    fn xor(&mut self, bits: u32, a: R::F, b: R::F) -> R::F {
        let c = self.row.column();
        self.xors[self.count] = Some(Xor { bits, values: [a, b, c] });
        self.count += 1;
        c
    }

    fn sum(&mut self, _: R::F) -> R::F {
        self.row.column()
    }

    fn zero(&mut self, value: R::F) {
        self.row.constraint(value);
    }
}

/// The next two columns of a row as a word.
pub(super) fn word<R: Row>(row: &mut R) -> SplitWord<R::F> {
    SplitWord { low: row.column(), high: row.column() }
}

/// A key and 16 words, as one tuple.
pub(super) fn keyed<F: BaseValue>(key: F, words: &[SplitWord<F>; 16]) -> [F; 33] {
    core::array::from_fn(|k| match k.checked_sub(1) {
        None => key,
        Some(half) if half % 2 == 0 => words[half / 2].low,
        Some(half) => words[half / 2].high,
    })
}
