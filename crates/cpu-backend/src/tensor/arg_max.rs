//! Where an axis is greatest.

use backend_api::Real;
use core_types::{float::maximum, params::rows::AxisParams};

use crate::{
    CpuQueue,
    linalg::{
        convert::{BLOCK, in_f32},
        reals::Reals,
    },
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The index of the greatest element along the axis, NaN above all: the lowest of equal ones.
pub(super) fn arg_max<T: Real>(q: &CpuQueue, p: &AxisParams, x: &[T], y: &mut [u32]) {
    let (len, inner) = (p.len as usize, p.inner as usize);
    if y.is_empty() {
        return;
    }
    // An axis with results has elements.
    if inner == 1 {
        let per_task = CHUNK.div_ceil(len);
        q.for_chunks(y, per_task, |task, y| {
            dispatch(q.simd(), ArgMaxRows { len, x: x[task * per_task * len..][..y.len() * len].into(), y });
        });
    } else {
        for (o, y) in y.chunks_mut(inner).enumerate() {
            let x = &x[o * len * inner..][..len * inner];
            q.for_chunks(y, BLOCK, |block, y| {
                dispatch(q.simd(), ArgMaxColumns { x: x[block * BLOCK..].into(), pitch: inner, y });
            });
        }
    }
}

/// Rows of `len` elements, at least one, one row to a result.
struct ArgMaxRows<'a> {
    len: usize,
    x: Reals<'a>,
    y: &'a mut [u32],
}

impl<L: Floats> LaneKernel<L> for ArgMaxRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let mut wide = [0.0; BLOCK];
        for (y, row) in self.y.iter_mut().zip(self.x.chunks(self.len)) {
            let (mut best, mut place) = (None, 0);
            for (block, row) in row.chunks(BLOCK).enumerate() {
                let row = in_f32(l, row, &mut wide);
                let greatest = greatest(row);
                if best.is_none_or(|best| exceeds(greatest, best)) {
                    let found = row.iter().position(|&x| x == greatest || x.is_nan());
                    (best, place) = (Some(greatest), block * BLOCK + found.unwrap_or_default());
                }
            }
            *y = place as u32;
        }
    }
}

/// Whether `x` is found later and still counts as greater.
#[inline(always)]
fn exceeds(x: f32, best: f32) -> bool {
    x > best || (x.is_nan() && !best.is_nan())
}

/// The greatest element of a row that is not empty; NaN if there is one.
#[inline(always)]
fn greatest(row: &[f32]) -> f32 {
    const SIDE: usize = 32;
    let mut kept = [f32::NEG_INFINITY; SIDE];
    let mut chunks = row.chunks_exact(SIDE);
    for chunk in &mut chunks {
        for i in 0..SIDE {
            kept[i] = maximum(kept[i], chunk[i]);
        }
    }
    for (kept, &x) in kept.iter_mut().zip(chunks.remainder()) {
        *kept = maximum(*kept, x);
    }
    let mut all = kept[0];
    for &x in &kept[1..] {
        all = maximum(all, x);
    }
    all
}

/// Neighbouring columns, at most [`BLOCK`].
///
/// They are at the start of rows that begin every `pitch` elements of `x`.
struct ArgMaxColumns<'a> {
    x: Reals<'a>,
    pitch: usize,
    y: &'a mut [u32],
}

impl<L: Floats> LaneKernel<L> for ArgMaxColumns<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (mut best, mut wide) = ([f32::NEG_INFINITY; BLOCK], [0.0; BLOCK]);
        self.y.fill(0);
        let width = self.y.len();
        for (i, row) in self.x.chunks(self.pitch).enumerate() {
            let row = in_f32(l, row.range(0..width), &mut wide);
            for ((y, best), &x) in self.y.iter_mut().zip(&mut best).zip(row) {
                let better = exceeds(x, *best);
                *best = if better { x } else { *best };
                *y = if better { i as u32 } else { *y };
            }
        }
    }
}
