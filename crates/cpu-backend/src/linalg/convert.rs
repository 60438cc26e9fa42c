//! Work on f32 blocks of tensors of any element type.

use backend_api::{DType, Real};
use half::{bf16, f16, slice::HalfFloatSliceExt};

use crate::{CpuQueue, par::CHUNK};

/// Elements of a 16-bit tensor that are widened at once, on the stack.
pub(crate) const BLOCK: usize = 512;

/// `dst = src`, exactly. Lengths are equal.
pub(crate) fn widen<T: Real>(src: &[T], dst: &mut [f32]) {
    match T::DTYPE {
        DType::F16 => bytemuck::cast_slice::<T, f16>(src).convert_to_f32_slice(dst),
        DType::Bf16 => bytemuck::cast_slice::<T, bf16>(src).convert_to_f32_slice(dst),
        _ => dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.to_f32()),
    }
}

/// `dst = src` rounded to nearest even. Lengths are equal.
pub(crate) fn narrow<T: Real>(src: &[f32], dst: &mut [T]) {
    match T::DTYPE {
        DType::F16 => bytemuck::cast_slice_mut::<T, f16>(dst).convert_from_f32_slice(src),
        DType::Bf16 => bytemuck::cast_slice_mut::<T, bf16>(dst).convert_from_f32_slice(src),
        _ => dst.iter_mut().zip(src).for_each(|(d, &s)| *d = T::from_f32(s)),
    }
}

/// The same elements as f32, if they are.
pub(crate) fn as_f32<T: Real>(x: &[T]) -> Option<&[f32]> {
    (T::DTYPE == DType::F32).then(|| bytemuck::cast_slice(x))
}

/// The same elements as f32, if they are.
pub(crate) fn as_f32_mut<T: Real>(x: &mut [T]) -> Option<&mut [f32]> {
    (T::DTYPE == DType::F32).then(|| bytemuck::cast_slice_mut(x))
}

impl CpuQueue {
    /// Runs `op(first, inputs, y)` over blocks of f32, where `first` is the index of the block's first element. `y` holds
    /// its old values when `op` starts. Lengths are equal.
    pub(crate) fn for_blocks<T: Real, const K: usize>(
        &self,
        inputs: [&[T]; K],
        y: &mut [T],
        op: impl Fn(usize, [&[f32]; K], &mut [f32]) + Sync,
    ) {
        self.for_chunks(y, CHUNK, |i, y| {
            let first = i * CHUNK;
            let inputs = inputs.map(|x| &x[first..first + y.len()]);
            if T::DTYPE == DType::F32 {
                let wide = inputs.map(bytemuck::cast_slice::<T, f32>);
                return op(first, wide, bytemuck::cast_slice_mut(y));
            }
            let mut wide = [[0.0; BLOCK]; K];
            let mut out = [0.0; BLOCK];
            for (b, y) in y.chunks_mut(BLOCK).enumerate() {
                let start = b * BLOCK;
                for (wide, x) in wide.iter_mut().zip(inputs) {
                    widen(&x[start..start + y.len()], &mut wide[..y.len()]);
                }
                let out = &mut out[..y.len()];
                widen(y, out);
                op(first + start, core::array::from_fn(|k| &wide[k][..y.len()]), out);
                narrow(out, y);
            }
        });
    }
}
