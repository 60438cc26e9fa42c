//! Rows of any element type as f32.

use crate::{
    linalg::{
        convert,
        reals::{Reals, RealsMut},
    },
    simd::floats::Floats,
};

/// An output row as f32.
pub(in crate::linalg) enum OutRow<'a> {
    /// The row itself.
    Direct(&'a mut [f32]),
    /// Scratch to compute in, and the row to round it into.
    Rounded(&'a mut [f32], RealsMut<'a>),
}

impl<'a> OutRow<'a> {
    /// `row` itself if it is f32, else `scratch`, which has room for it.
    #[inline(always)]
    pub(in crate::linalg) fn new(row: RealsMut<'a>, scratch: &'a mut [f32]) -> Self {
        match row {
            RealsMut::F32(row) => Self::Direct(row),
            row => Self::Rounded(&mut scratch[..row.len()], row),
        }
    }

    /// Where to compute the values.
    #[inline(always)]
    pub(in crate::linalg) fn values(&mut self) -> &mut [f32] {
        match self {
            Self::Direct(row) => row,
            Self::Rounded(scratch, _) => scratch,
        }
    }

    /// Writes the values to the row.
    #[inline(always)]
    pub(in crate::linalg) fn finish<L: Floats>(self, l: L) {
        if let Self::Rounded(scratch, row) = self {
            convert::narrow(l, scratch, row);
        }
    }
}

/// Scratch for one row of `len` elements of the type of `x`: nothing for f32.
pub(in crate::linalg) fn scratch(x: Reals<'_>, len: usize) -> Vec<f32> {
    if x.as_f32().is_some() { Vec::new() } else { vec![0.0; len] }
}

/// The values of the columns as f32, or `default` for each if there are none.
///
/// Converted values are stored in `scratch`.
#[inline(always)]
pub(super) fn column_values<'a, L: Floats>(
    l: L,
    given: Option<Reals<'a>>,
    default: f32,
    len: usize,
    scratch: &'a mut Vec<f32>,
) -> &'a [f32] {
    if let Some(values) = given.and_then(Reals::as_f32) {
        return values;
    }
    scratch.resize(len, default);
    if let Some(given) = given {
        convert::widen(l, given, scratch);
    }
    scratch
}

/// The row after row `i`, if there is one and it needs no conversion.
///
/// It is prefetched while row `i` is computed. The processor prefetches along a row by itself, but
/// does not fetch the next row in time.
#[inline(always)]
pub(in crate::linalg) fn next_row(rows: Reals<'_>, i: usize, len: usize) -> &[f32] {
    rows.as_f32().and_then(|rows| rows.get((i + 1) * len..(i + 2) * len)).unwrap_or(&[])
}

/// Prefetches the cache lines of a block.
#[inline(always)]
pub(super) fn prefetch<L: Floats>(l: L, block: Option<&[f32]>) {
    if let Some(block) = block {
        for at in (0..block.len()).step_by(16) {
            l.prefetch(block, at); // 64 bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn next_row_is_given_unless_it_needs_conversion() {
        let (x, halves) = ([0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [bf16::ONE; 6]);
        let row = |i: usize| next_row(Reals::from(&x[..]), i, 2);
        assert_eq!([row(0), row(1), row(2)], [&x[2..4], &x[4..], &[]]);
        assert!(next_row(Reals::from(&halves[..]), 0, 2).is_empty());
    }
}
