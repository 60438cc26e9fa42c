//! Copies between layouts.

use backend_api::{Element, Real};
use core_types::params::{elementwise::MAX_RANK, tensor::CopyParams};

use crate::{
    CpuQueue,
    linalg::reals::{Reals, RealsMut},
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Rows and columns of the squares of a transpose.
///
/// The cache lines of a square stay in the cache on both sides. A square of f32 is turned in
/// registers.
const SQUARE: usize = 16;

/// An axis: its length, and the distance between its indices in the source and in the result.
#[derive(Clone, Copy)]
struct CopyAxis {
    len: usize,
    x: usize,
    y: usize,
}

/// An axis of one index.
const POINT: CopyAxis = CopyAxis { len: 1, x: 0, y: 0 };

/// `y[i] = x[i]` for every index of the shape. Planes of f32 are transposed in registers.
///
/// The parameters fit the views, and axes of the result nest.
pub(super) fn copy_reals<T: Real>(q: &CpuQueue, p: &CopyParams, x: &[T], y: &mut [T]) {
    copy(q, p, x, y, |[a, b], x, y| match (Reals::from(x), RealsMut::from(y)) {
        (Reals::F32(x), RealsMut::F32(y)) => {
            dispatch(q.simd(), Transpose { a, b, x, y });
            true
        }
        _ => false,
    });
}

/// As [`copy_reals`], for elements that are no floats.
pub(super) fn copy_elements<T: Element>(q: &CpuQueue, p: &CopyParams, x: &[T], y: &mut [T]) {
    copy(q, p, x, y, |_, _, _| false);
}

/// Copies by squares, except for planes that `transpose` copies, which returns true for them.
///
/// `transpose` gets planes whose first axis is contiguous in the source, and the second in the
/// result.
fn copy<T: Element>(
    q: &CpuQueue,
    p: &CopyParams,
    x: &[T],
    y: &mut [T],
    transpose: impl Fn([CopyAxis; 2], &[T], &mut [T]) -> bool + Sync,
) {
    let (axes, rank) = ordered(p);
    if axes[..rank].iter().any(|axis| axis.len == 0) {
        return;
    }
    // A step of the outermost axis passes over all that the others reach, so each task has a part of the result to itself.
    let (outer, rest) = (axes[0], &axes[1..rank]);
    let of_index: usize = rest.iter().map(|axis| axis.len).product();
    let per_task = (CHUNK / of_index).max(1).min(outer.len);
    let used = y.len().min(outer.len.saturating_mul(outer.y).max(1));
    q.for_chunks(&mut y[..used], per_task.saturating_mul(outer.y.max(1)), |task, y| {
        let first = task * per_task;
        let part = CopyAxis { len: per_task.min(outer.len - first), ..outer };
        let mut axes = axes;
        axes[0] = part;
        each_plane(&axes[..rank], &x[first * outer.x..], y, &transpose);
    });
}

/// The axes by falling strides of the result, merged; at least one.
///
/// Axes are merged if source and result continue evenly from one to the next.
fn ordered(p: &CopyParams) -> ([CopyAxis; MAX_RANK], usize) {
    let mut axes = [POINT; MAX_RANK];
    for (i, axis) in axes.iter_mut().enumerate().take(p.rank as usize) {
        let (x, y) = (p.x_strides[i] as usize, p.y_strides[i] as usize);
        *axis = CopyAxis { len: p.shape[i] as usize, x, y };
        if axis.len == 1 {
            *axis = POINT;
        }
    }
    axes.sort_by_key(|axis| core::cmp::Reverse(axis.y));
    let mut rank = 0usize;
    for i in 0..MAX_RANK {
        let axis = axes[i];
        if axis.len == 1 {
            continue;
        }
        let before = rank.checked_sub(1).map(|last| axes[last]);
        match before {
            Some(before)
                if before.x == axis.x.saturating_mul(axis.len) && before.y == axis.y.saturating_mul(axis.len) =>
            {
                axes[rank - 1] = CopyAxis { len: before.len * axis.len, ..axis };
            }
            _ => {
                axes[rank] = axis;
                rank += 1;
            }
        }
    }
    (axes, rank.max(1))
}

/// Copies the two innermost axes at every index of the others.
fn each_plane<T: Element>(
    axes: &[CopyAxis],
    x: &[T],
    y: &mut [T],
    transpose: &impl Fn([CopyAxis; 2], &[T], &mut [T]) -> bool,
) {
    match *axes {
        [] => {}
        [a] => plane([POINT, a], x, y, transpose),
        [a, b] => plane([a, b], x, y, transpose),
        [outer, ref rest @ ..] => {
            for i in 0..outer.len {
                each_plane(rest, &x[i * outer.x..], &mut y[i * outer.y..], transpose);
            }
        }
    }
}

fn plane<T: Element>(
    [a, b]: [CopyAxis; 2],
    x: &[T],
    y: &mut [T],
    transpose: &impl Fn([CopyAxis; 2], &[T], &mut [T]) -> bool,
) {
    if b.x == 1 && b.y == 1 {
        for i in 0..a.len {
            y[i * a.y..][..b.len].copy_from_slice(&x[i * a.x..][..b.len]);
        }
        return;
    }
    if b.x == 0 && b.y == 1 {
        for i in 0..a.len {
            y[i * a.y..][..b.len].fill(x[i * a.x]);
        }
        return;
    }
    if a.x == 1 && b.y == 1 && transpose([a, b], x, y) {
        return;
    }
    for first_a in (0..a.len).step_by(SQUARE) {
        for first_b in (0..b.len).step_by(SQUARE) {
            elements(a, b, [first_a, first_b], x, y);
        }
    }
}

/// Copies the elements of a square from the index `first` on.
///
/// A square at the end of an axis is a part of one.
#[inline(always)]
fn elements<T: Copy>(a: CopyAxis, b: CopyAxis, first: [usize; 2], x: &[T], y: &mut [T]) {
    for i in first[0]..(first[0] + SQUARE).min(a.len) {
        for j in first[1]..(first[1] + SQUARE).min(b.len) {
            y[i * a.y + j * b.y] = x[i * a.x + j * b.x];
        }
    }
}

/// A plane whose axis a is contiguous in the source, and b in the result.
struct Transpose<'a> {
    a: CopyAxis,
    b: CopyAxis,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Transpose<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { a, b, x, y } = self;
        let (mut from, mut to) = ([[0.0; SQUARE]; SQUARE], [[0.0; SQUARE]; SQUARE]);
        for i in (0..a.len).step_by(SQUARE) {
            for j in (0..b.len).step_by(SQUARE) {
                if i + SQUARE > a.len || j + SQUARE > b.len {
                    elements(a, b, [i, j], x, y);
                    continue;
                }
                for (k, from) in from.iter_mut().enumerate() {
                    from.copy_from_slice(&x[i + (j + k) * b.x..][..SQUARE]);
                }
                l.transpose(&from, &mut to);
                for (k, to) in to.iter().enumerate() {
                    y[(i + k) * a.y + j..][..SQUARE].copy_from_slice(to);
                }
            }
        }
    }
}
