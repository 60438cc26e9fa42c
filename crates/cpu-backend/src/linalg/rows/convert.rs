//! Rows of any element type as f32.

use backend_api::{DType, Real};

use crate::linalg::convert;

/// `row` itself if it is f32, else its values in `scratch`, which has room for them.
pub(super) fn widen<'a, T: Real>(row: &'a [T], scratch: &'a mut [f32]) -> &'a [f32] {
    if T::DTYPE == DType::F32 {
        return bytemuck::cast_slice(row);
    }
    let scratch = &mut scratch[..row.len()];
    convert::widen(row, scratch);
    scratch
}

/// An output row as f32.
pub(super) enum OutRow<'a, T> {
    /// The row itself.
    Direct(&'a mut [f32]),
    /// Scratch to compute in, and the row to round it into.
    Rounded(&'a mut [f32], &'a mut [T]),
}

impl<'a, T: Real> OutRow<'a, T> {
    /// `row` itself if it is f32, else `scratch`, which has room for it.
    pub(super) fn new(row: &'a mut [T], scratch: &'a mut [f32]) -> Self {
        if T::DTYPE == DType::F32 {
            return Self::Direct(bytemuck::cast_slice_mut(row));
        }
        Self::Rounded(&mut scratch[..row.len()], row)
    }

    /// Where to compute the values.
    #[inline(always)]
    pub(super) fn values(&mut self) -> &mut [f32] {
        match self {
            Self::Direct(row) => row,
            Self::Rounded(scratch, _) => scratch,
        }
    }

    /// Writes the values to the row.
    pub(super) fn finish(self) {
        if let Self::Rounded(scratch, row) = self {
            convert::narrow(scratch, row);
        }
    }
}

/// Scratch for one row of `len` elements of `T`: nothing for f32.
pub(super) fn scratch<T: Real>(len: usize) -> Vec<f32> {
    if T::DTYPE == DType::F32 { Vec::new() } else { vec![0.0; len] }
}
