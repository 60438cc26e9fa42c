//! Lookups by sums of fractions (LogUp).
//!
//! Values are used and yielded. The fractions of a value used as often as it is yielded sum to
//! zero.
//!
//! The constraints match stwo's constraint framework, and are defined only here: a prover computes
//! the columns and a verifier checks them through the same [`LogUp`].

use super::{ExtensionValue, Fraction, Row};

/// A relation between up to `size` values: where its challenges stand.
///
/// Slot `first` holds `z`, slot `first + j` holds `alpha^j` for `1 <= j < size`. Values `v_j`
/// combine to `v_0 + alpha v_1 + alpha^2 v_2 + .. - z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    first: u32,
    size: u32,
}

impl Relation {
    /// The relation between `size` values, at least one, whose challenges begin at slot `first`.
    #[must_use]
    pub const fn new(first: u32, size: u32) -> Self {
        Self { first, size }
    }

    /// The slot of its first challenge.
    #[must_use]
    pub const fn first(self) -> u32 {
        self.first
    }

    /// The number of slots that its challenges take.
    #[must_use]
    pub const fn slots(self) -> u32 {
        self.size
    }

    /// `values`, at most [`slots`](Self::slots), combined to one of the secure field.
    #[inline]
    pub fn combine<R: Row>(self, row: &mut R, values: &[R::F]) -> R::E {
        let z = row.challenge(self.first);
        let mut slots = self.first..self.first.wrapping_add(self.size);
        let mut values = values.iter().zip(&mut slots);
        let Some((&first, _)) = values.next() else { return -z };
        values.fold(R::E::from(first) - z, |sum, (&value, slot)| sum + row.challenge(slot) * value)
    }
}

/// The fractions of a row, in the order of addition.
///
/// Several fractions share an interaction column. Each further column costs a commitment; each
/// further fraction in a column raises the degree of its constraint by one. With two fractions in
/// each column, and columns as numerators and values, the degree is three.
#[derive(Clone, Copy, Debug)]
#[must_use = "the last column is constrained by `finish`"]
pub struct LogUp<E> {
    per_column: u32,
    /// Fractions in the column being filled.
    ///
    /// The constraint of the column is deferred until it is known whether the column is the last.
    count: u32,
    sum: Option<Fraction<E>>,
    previous: Option<E>,
}

impl<E: Copy> LogUp<E> {
    /// No fractions yet, and `per_column` to a column (none counts as one).
    #[inline]
    pub const fn new(per_column: u32) -> Self {
        Self { per_column, count: 0, sum: None, previous: None }
    }

    /// Adds a fraction.
    #[inline]
    pub fn add<R: Row<E = E>>(&mut self, row: &mut R, fraction: Fraction<E>)
    where
        E: ExtensionValue<R::F>,
    {
        let Some(sum) = self.sum else {
            (self.sum, self.count) = (Some(fraction), 1);
            return;
        };
        if self.count < self.per_column {
            (self.sum, self.count) = (Some(sum + fraction), self.count + 1);
        } else {
            self.previous = Some(row.partial_sum(self.previous, sum));
            (self.sum, self.count) = (Some(fraction), 1);
        }
    }

    /// Adds that `values` are used `multiplicity` times, or yielded where it is negative.
    #[inline]
    pub fn entry<R: Row<E = E>>(&mut self, row: &mut R, relation: Relation, multiplicity: E, values: &[R::F])
    where
        E: ExtensionValue<R::F>,
    {
        let denominator = relation.combine(row, values);
        self.add(row, Fraction { numerator: multiplicity, denominator });
    }

    /// Begins another column with the next fraction, however many are in this one.
    #[inline]
    pub const fn end_column(&mut self) {
        self.count = u32::MAX;
    }

    /// Constrains the last column, which sums over the rows. Without a fraction there is none.
    #[inline]
    pub fn finish<R: Row<E = E>>(self, row: &mut R)
    where
        E: ExtensionValue<R::F>,
    {
        if let Some(sum) = self.sum {
            row.running_sum(self.previous, sum);
        }
    }
}
