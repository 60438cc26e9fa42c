//! Work on f32 blocks of tensors of any element type.

use backend_api::{DType, Real};

use super::reals::{Reals, RealsMut};
use crate::{
    CpuQueue, Simd,
    par::CHUNK,
    simd::{
        LaneKernel, dispatch,
        floats::{Floats, Half},
    },
};

/// Elements of a 16-bit tensor that are widened at once, on the stack.
pub(crate) const BLOCK: usize = 512;

/// `dst = src`, exactly. Lengths are equal.
#[inline(always)]
pub(crate) fn widen<L: Floats>(l: L, src: Reals<'_>, dst: &mut [f32]) {
    match src {
        Reals::F32(src) => dst.copy_from_slice(src),
        Reals::F16(src) => widen_halves(l, src, dst),
        Reals::Bf16(src) => widen_halves(l, src, dst),
    }
}

#[inline(always)]
fn widen_halves<L: Floats, H: Half>(l: L, src: &[H], dst: &mut [f32]) {
    let (mut from, mut to) = (src.chunks_exact(L::N), dst.chunks_exact_mut(L::N));
    for (from, to) in (&mut from).zip(&mut to) {
        l.store(to, H::load(l, from));
    }
    for (from, to) in from.remainder().iter().zip(to.into_remainder()) {
        *to = from.to_f32();
    }
}

/// `dst = src` rounded to nearest even. Lengths are equal.
#[inline(always)]
pub(crate) fn narrow<L: Floats>(l: L, src: &[f32], dst: RealsMut<'_>) {
    match dst {
        RealsMut::F32(dst) => dst.copy_from_slice(src),
        RealsMut::F16(dst) => narrow_halves(l, src, dst),
        RealsMut::Bf16(dst) => narrow_halves(l, src, dst),
    }
}

#[inline(always)]
fn narrow_halves<L: Floats, H: Half>(l: L, src: &[f32], dst: &mut [H]) {
    let (mut from, mut to) = (src.chunks_exact(L::N), dst.chunks_exact_mut(L::N));
    for (from, to) in (&mut from).zip(&mut to) {
        H::store(l, to, l.load(from));
    }
    for (from, to) in from.remainder().iter().zip(to.into_remainder()) {
        *to = H::from_f32(*from);
    }
}

/// `x` itself if it is f32, else its values in `wide`, which has room for them.
#[inline(always)]
pub(crate) fn in_f32<'a, L: Floats>(l: L, x: Reals<'a>, wide: &'a mut [f32]) -> &'a [f32] {
    match x.as_f32() {
        Some(x) => x,
        None => {
            let wide = &mut wide[..x.len()];
            widen(l, x, wide);
            wide
        }
    }
}

/// [`widen`] outside a kernel.
pub(crate) fn widened<T: Real>(simd: Simd, src: &[T], dst: &mut [f32]) {
    dispatch(simd, Widened { src: src.into(), dst });
}

struct Widened<'a> {
    src: Reals<'a>,
    dst: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Widened<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        widen(l, self.src, self.dst);
    }
}

/// [`narrow`] outside a kernel.
pub(crate) fn narrowed<T: Real>(simd: Simd, src: &[f32], dst: &mut [T]) {
    dispatch(simd, Narrowed { src, dst: dst.into() });
}

struct Narrowed<'a> {
    src: &'a [f32],
    dst: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for Narrowed<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        narrow(l, self.src, self.dst);
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
    /// Runs `op(first, inputs, y)` over blocks of f32.
    ///
    /// `first` is the index of the block's first element. `op` writes all of `y` and does not read
    /// it. Lengths are equal.
    pub(crate) fn for_blocks<T: Real, const K: usize>(
        &self,
        inputs: [&[T]; K],
        y: &mut [T],
        op: impl Fn(usize, [&[f32]; K], &mut [f32]) + Sync,
    ) {
        self.blocks::<T, K, false>(inputs, y, op);
    }

    /// As [`for_blocks`](Self::for_blocks), with old values in `y` when `op` starts.
    pub(crate) fn for_blocks_in_place<T: Real, const K: usize>(
        &self,
        inputs: [&[T]; K],
        y: &mut [T],
        op: impl Fn(usize, [&[f32]; K], &mut [f32]) + Sync,
    ) {
        self.blocks::<T, K, true>(inputs, y, op);
    }

    fn blocks<T: Real, const K: usize, const READ: bool>(
        &self,
        inputs: [&[T]; K],
        y: &mut [T],
        op: impl Fn(usize, [&[f32]; K], &mut [f32]) + Sync,
    ) {
        let simd = self.simd();
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
                    widened(simd, &x[start..start + y.len()], &mut wide[..y.len()]);
                }
                let out = &mut out[..y.len()];
                if READ {
                    widened(simd, y, out);
                }
                op(first + start, core::array::from_fn(|k| &wide[k][..y.len()]), out);
                narrowed(simd, out, y);
            }
        });
    }
}
