//! The comparison of an op's views with their lengths.

use crate::BackendError;

/// The comparisons of one op, and the first view that differs.
///
/// They are compiled once, and not for each op.
pub(crate) struct Lengths {
    op: &'static str,
    outcome: Result<(), BackendError>,
}

impl Lengths {
    pub(crate) const fn new(op: &'static str) -> Self {
        Self { op, outcome: Ok(()) }
    }

    /// A view must have the product of `sizes` as its length, unless it was left out.
    pub(crate) fn exactly(&mut self, view: &'static str, got: Option<usize>, sizes: &[u64]) {
        let expected = elements(sizes);
        if got.is_some_and(|got| got != expected) {
            self.differ(view, expected, got);
        }
    }

    /// A view must have at least `least` elements, unless it was left out.
    pub(crate) fn at_least(&mut self, view: &'static str, got: Option<usize>, least: u64) {
        let expected = elements(&[least]);
        if got.is_some_and(|got| got < expected) {
            self.differ(view, expected, got);
        }
    }

    #[cold]
    fn differ(&mut self, view: &'static str, expected: usize, got: Option<usize>) {
        if self.outcome.is_ok() {
            self.outcome = Err(BackendError::Length { op: self.op, view, expected, got: got.unwrap_or_default() });
        }
    }

    pub(crate) fn finish(self) -> Result<(), BackendError> {
        self.outcome
    }
}

/// A size of a view: an unsigned number, or an integer literal.
pub(crate) trait IntoSize {
    fn size(self) -> u64;
}

impl IntoSize for u64 {
    #[inline(always)]
    fn size(self) -> u64 {
        self
    }
}

impl IntoSize for usize {
    #[inline(always)]
    fn size(self) -> u64 {
        self as u64
    }
}

impl IntoSize for u32 {
    #[inline(always)]
    fn size(self) -> u64 {
        u64::from(self)
    }
}

impl IntoSize for i32 {
    /// Literals are not negative.
    #[inline(always)]
    fn size(self) -> u64 {
        u64::from(self.unsigned_abs())
    }
}

/// Refuses parameters that make no valid op, unless `holds`.
pub(crate) const fn require(op: &'static str, holds: bool, why: &'static str) -> Result<(), BackendError> {
    if holds { Ok(()) } else { Err(BackendError::Unsupported { op, why }) }
}

/// `2^log`, the size of a domain.
///
/// If it does not fit, `u64::MAX`, which is no view's length.
#[inline(always)]
pub(crate) fn pow2(log: u32) -> u64 {
    1u64.checked_shl(log).unwrap_or(u64::MAX)
}

/// The number of elements of a shape.
///
/// If it does not fit, `usize::MAX`, which is no view's length.
pub(crate) fn elements(shape: &[u64]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    let all = shape.iter().fold(1, |all: u64, &len| all.saturating_mul(len));
    usize::try_from(all).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_stop_at_the_greatest_number() {
        assert_eq!(elements(&[]), 1);
        assert_eq!(elements(&[3, 4, 5]), 60);
        assert_eq!(elements(&[1 << 40, 1 << 40, 0]), 0);
        assert_eq!(elements(&[1 << 40, 1 << 40]), usize::MAX);
        assert_eq!((pow2(0), pow2(31), pow2(64)), (1, 1 << 31, u64::MAX));
    }

    #[test]
    fn the_first_view_that_differs_is_named_and_views_left_out_are_not() {
        let mut lengths = Lengths::new("op");
        lengths.exactly("a", Some(6), &[2, 3]);
        lengths.exactly("b", None, &[9]);
        lengths.at_least("c", Some(7), 7);
        assert_eq!(Lengths { op: "op", outcome: Ok(()) }.finish(), Ok(()));
        lengths.at_least("d", Some(7), 8);
        lengths.exactly("e", Some(0), &[1]);
        assert_eq!(lengths.finish(), Err(BackendError::Length { op: "op", view: "d", expected: 8, got: 7 }));
    }
}
