//! Rows of any element type as f32.

use backend_api::{DType, Real};
use half::{bf16, f16, slice::HalfFloatSliceExt};

/// Writes the exact values of `src` to `dst`; lengths are equal.
pub(super) fn widen_into<T: Real>(src: &[T], dst: &mut [f32]) {
    match T::DTYPE {
        DType::F32 => dst.copy_from_slice(bytemuck::cast_slice(src)),
        DType::F16 => bytemuck::cast_slice::<T, f16>(src).convert_to_f32_slice(dst),
        DType::Bf16 => bytemuck::cast_slice::<T, bf16>(src).convert_to_f32_slice(dst),
        _ => src.iter().zip(dst).for_each(|(s, d)| *d = s.to_f32()),
    }
}

/// Writes `src`, rounded to nearest even, to `dst`; lengths are equal.
pub(super) fn narrow_into<T: Real>(src: &[f32], dst: &mut [T]) {
    match T::DTYPE {
        DType::F32 => dst.copy_from_slice(bytemuck::cast_slice(src)),
        DType::F16 => bytemuck::cast_slice_mut::<T, f16>(dst).convert_from_f32_slice(src),
        DType::Bf16 => bytemuck::cast_slice_mut::<T, bf16>(dst).convert_from_f32_slice(src),
        _ => src.iter().zip(dst).for_each(|(&s, d)| *d = T::from_f32(s)),
    }
}

/// `row` itself if it is f32, else its values in `scratch`, which has room for them.
pub(super) fn widen<'a, T: Real>(row: &'a [T], scratch: &'a mut [f32]) -> &'a [f32] {
    if T::DTYPE == DType::F32 {
        return bytemuck::cast_slice(row);
    }
    let scratch = &mut scratch[..row.len()];
    widen_into(row, scratch);
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
            narrow_into(scratch, row);
        }
    }
}

/// Scratch for one row of `len` elements of `T`: nothing for f32.
pub(super) fn scratch<T: Real>(len: usize) -> Vec<f32> {
    if T::DTYPE == DType::F32 { Vec::new() } else { vec![0.0; len] }
}
