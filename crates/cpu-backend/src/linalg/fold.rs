//! Sums and extremes over the middle axis of `outer x len x inner` elements, in an order that depends on the shape alone.

use core::marker::PhantomData;

use backend_api::{BackendError, Real};
use core_types::float::{maximum, minimum};

use super::convert::{as_f32, in_f32, widen};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{Kernel, dispatch, floats::Floats},
};

/// What becomes of the elements along an axis.
pub(crate) trait Fold: Sync {
    /// What is kept of the elements seen.
    type Kept: Copy + Send + Sync;
    /// What is kept of elements that are folded side by side.
    type Lanes<L: Floats>: Copy;
    /// Of no elements.
    const NONE: Self::Kept;
    /// Of both.
    fn both(a: Self::Kept, b: Self::Kept) -> Self::Kept;
    /// Of no elements.
    fn no_lanes<L: Floats>(l: L) -> Self::Lanes<L>;
    /// Adds a row, or a block of one whose length is a multiple of [`STRIP`] except at the end.
    fn along<L: Floats>(l: L, lanes: Self::Lanes<L>, row: &[f32]) -> Self::Lanes<L>;
    /// Of all lanes.
    fn joined<L: Floats>(l: L, lanes: Self::Lanes<L>) -> Self::Kept;
    /// Adds `R` rows, element i to what is kept at i; all are as long.
    fn across<L: Floats, const R: usize>(l: L, kept: &mut [Self::Kept], rows: [&[f32]; R]);
}

/// The sum in f64, which leaves an error of one rounding.
pub(crate) struct Sum;
/// The greatest element: NaN if there is one.
pub(crate) struct Greatest;
/// The least element: NaN if there is one.
pub(crate) struct Least;

/// Vectors of a row that are summed side by side.
const UNROLL: usize = 4;
/// More lanes than those vectors have on any level.
const MAX_LANES: usize = 16 * UNROLL;

impl Fold for Sum {
    type Kept = f64;
    type Lanes<L: Floats> = [L::W; UNROLL];
    const NONE: f64 = 0.0;

    #[inline(always)]
    fn both(a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn no_lanes<L: Floats>(l: L) -> [L::W; UNROLL] {
        [l.load_wide(&[0.0; MAX_LANES]); UNROLL]
    }

    #[inline(always)]
    fn along<L: Floats>(l: L, mut sums: [L::W; UNROLL], row: &[f32]) -> [L::W; UNROLL] {
        let mut blocks = row.chunks_exact(UNROLL * L::N);
        for block in &mut blocks {
            for u in 0..UNROLL {
                sums[u] = l.add_wide(sums[u], l.widened(&block[u * L::N..]));
            }
        }
        let mut vectors = blocks.remainder().chunks_exact(L::N);
        for (sum, x) in sums.iter_mut().zip(&mut vectors) {
            *sum = l.add_wide(*sum, l.widened(x));
        }
        let rest = vectors.remainder();
        if !rest.is_empty() {
            let mut last = [0.0; MAX_LANES];
            last[..rest.len()].copy_from_slice(rest);
            sums[UNROLL - 1] = l.add_wide(sums[UNROLL - 1], l.widened(&last));
        }
        sums
    }

    #[inline(always)]
    fn joined<L: Floats>(l: L, sums: [L::W; UNROLL]) -> f64 {
        let mut lanes = [0.0; MAX_LANES];
        for (u, sum) in sums.into_iter().enumerate() {
            l.store_wide(&mut lanes[u * L::N..], sum);
        }
        halved::<Self>(&mut lanes[..UNROLL * L::N])
    }

    #[inline(always)]
    fn across<L: Floats, const R: usize>(l: L, kept: &mut [f64], rows: [&[f32]; R]) {
        let whole = kept.len() / L::N * L::N;
        for at in (0..whole).step_by(L::N) {
            let kept = &mut kept[at..at + L::N];
            let mut sum = l.widened(&rows[0][at..]);
            for row in &rows[1..] {
                sum = l.add_wide(sum, l.widened(&row[at..]));
            }
            let sum = l.add_wide(l.load_wide(kept), sum);
            l.store_wide(kept, sum);
        }
        for (i, kept) in kept.iter_mut().enumerate().skip(whole) {
            let mut sum = f64::from(rows[0][i]);
            for row in &rows[1..] {
                sum += f64::from(row[i]);
            }
            *kept += sum;
        }
    }
}

/// What is kept of all, halves first; their number is a power of two.
#[inline(always)]
fn halved<F: Fold>(mut kept: &mut [F::Kept]) -> F::Kept {
    while kept.len() > 1 {
        let (low, high) = kept.split_at_mut(kept.len() / 2);
        for (low, &high) in low.iter_mut().zip(&*high) {
            *low = F::both(*low, high);
        }
        kept = low;
    }
    kept.first().copied().unwrap_or(F::NONE)
}

/// Elements of a row whose extremes are found side by side.
const SIDE: usize = 32;

macro_rules! extreme {
    ($name:ident, $none:expr, $of:ident) => {
        impl Fold for $name {
            type Kept = f32;
            type Lanes<L: Floats> = [f32; SIDE];
            const NONE: f32 = $none;

            #[inline(always)]
            fn both(a: f32, b: f32) -> f32 {
                $of(a, b)
            }

            #[inline(always)]
            fn no_lanes<L: Floats>(_: L) -> [f32; SIDE] {
                [$none; SIDE]
            }

            /// Plain loops: the compiler may use the level's instructions.
            #[inline(always)]
            fn along<L: Floats>(_: L, mut lanes: [f32; SIDE], row: &[f32]) -> [f32; SIDE] {
                let (chunks, rest) = row.as_chunks::<SIDE>();
                for chunk in chunks {
                    for i in 0..SIDE {
                        lanes[i] = $of(lanes[i], chunk[i]);
                    }
                }
                for (lane, &x) in lanes.iter_mut().zip(rest) {
                    *lane = $of(*lane, x);
                }
                lanes
            }

            #[inline(always)]
            fn joined<L: Floats>(_: L, mut lanes: [f32; SIDE]) -> f32 {
                halved::<Self>(&mut lanes)
            }

            #[inline(always)]
            fn across<L: Floats, const R: usize>(_: L, kept: &mut [f32], rows: [&[f32]; R]) {
                for row in rows {
                    for (kept, &x) in kept.iter_mut().zip(row) {
                        *kept = $of(*kept, x);
                    }
                }
            }
        }
    };
}

extreme!(Greatest, f32::NEG_INFINITY, maximum);
extreme!(Least, f32::INFINITY, minimum);

/// Columns that are folded side by side.
const STRIP: usize = 1024;
/// Folds the middle axis of x and hands what is kept of each output to `put`, together with the output.
///
/// # Errors
/// [`BackendError::BudgetExceeded`] if there is no memory for the parts of a long axis.
pub(crate) fn fold<F: Fold, T: Real>(
    q: &CpuQueue,
    [len, inner]: [usize; 2],
    x: &[T],
    y: &mut [T],
    put: impl Fn(&mut T, F::Kept) + Sync,
) -> Result<(), BackendError> {
    if y.is_empty() {
        return Ok(());
    }
    // A long axis is cut into parts of at least a few tasks' elements.
    let part_len = (4 * CHUNK).div_ceil(inner.min(STRIP));
    let parts = len.div_ceil(part_len);
    if parts <= 1 {
        each_part::<F, T, T>(q, [len, inner], len, x, y, &put);
        return Ok(());
    }
    let _scratch = q.reserve_scratch::<F::Kept>(1, parts * y.len())?;
    let mut kept = vec![F::NONE; parts * y.len()];
    each_part::<F, T, F::Kept>(q, [len, inner], part_len, x, &mut kept, &|slot, kept| *slot = kept);
    for (y, kept) in y.chunks_mut(inner).zip(kept.chunks(parts * inner)) {
        for (i, y) in y.iter_mut().enumerate() {
            let parts = kept[i..].iter().step_by(inner);
            put(y, parts.fold(F::NONE, |all, &part| F::both(all, part)));
        }
    }
    Ok(())
}

/// Folds parts of `part_len` elements of the axis each, of which the last may be shorter; `out` is `outer x parts x inner`.
fn each_part<F: Fold, T: Real, O: Send>(
    q: &CpuQueue,
    [len, inner]: [usize; 2],
    part_len: usize,
    x: &[T],
    out: &mut [O],
    put: &(impl Fn(&mut O, F::Kept) + Sync),
) {
    let parts = len.div_ceil(part_len.max(1)).max(1);
    // The first element of a part, and its length.
    let place = |line: usize| {
        let first = line % parts * part_len;
        (line / parts * len + first, (len - first).min(part_len))
    };
    if inner == 1 {
        let per_task = CHUNK.div_ceil(part_len.max(1));
        q.for_chunks(out, per_task, |task, out| {
            dispatch(q.simd(), Rows::<F, _, _, _, _> { first: task * per_task, place, x, out, put, fold: PhantomData });
        });
    } else if inner <= STRIP {
        let per_task = CHUNK.div_ceil(part_len.max(1) * inner);
        q.for_chunks(out, per_task * inner, |task, out| {
            for (i, out) in out.chunks_mut(inner).enumerate() {
                let (first, rows) = place(task * per_task + i);
                let x = &x[first * inner..][..rows * inner];
                dispatch(q.simd(), Strip::<F, _, _, _> { x, pitch: inner, out, put, fold: PhantomData });
            }
        });
    } else {
        let lines = out.chunks_mut(inner).enumerate();
        let strips = lines.flat_map(|(line, out)| out.chunks_mut(STRIP).enumerate().map(move |strip| (line, strip)));
        q.for_jobs(strips.collect(), |_, (line, (strip, out))| {
            let (first, rows) = place(line);
            let x = x[first * inner..][..rows * inner].get(strip * STRIP..).unwrap_or(&[]);
            dispatch(q.simd(), Strip::<F, _, _, _> { x, pitch: inner, out, put, fold: PhantomData });
        });
    }
}

/// Parts of contiguous rows, one to an output.
struct Rows<'a, F, T, O, P, G> {
    first: usize,
    place: G,
    x: &'a [T],
    out: &'a mut [O],
    put: &'a P,
    fold: PhantomData<F>,
}

impl<L: Floats, F: Fold, T: Real, O, P: Fn(&mut O, F::Kept), G: Fn(usize) -> (usize, usize)> Kernel<L>
    for Rows<'_, F, T, O, P, G>
{
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // Each form has a loop of its own, so that what is kept stays in registers.
        if let Some(x) = as_f32(self.x) {
            for (i, out) in self.out.iter_mut().enumerate() {
                let (first, len) = (self.place)(self.first + i);
                let lanes = F::along(l, F::no_lanes(l), &x[first..first + len]);
                (self.put)(out, F::joined(l, lanes));
            }
        } else {
            let mut wide = [0.0; STRIP];
            for (i, out) in self.out.iter_mut().enumerate() {
                let (first, len) = (self.place)(self.first + i);
                let mut lanes = F::no_lanes(l);
                for block in self.x[first..first + len].chunks(STRIP) {
                    widen(l, block, &mut wide[..block.len()]);
                    lanes = F::along(l, lanes, &wide[..block.len()]);
                }
                (self.put)(out, F::joined(l, lanes));
            }
        }
    }
}

/// Neighbouring columns, one to an output: those at the start of rows that begin every `pitch` elements of `x`.
struct Strip<'a, F, T, O, P> {
    x: &'a [T],
    pitch: usize,
    out: &'a mut [O],
    put: &'a P,
    fold: PhantomData<F>,
}

impl<L: Floats, F: Fold, T: Real, O, P: Fn(&mut O, F::Kept)> Kernel<L> for Strip<'_, F, T, O, P> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (mut kept, mut wide) = ([F::NONE; STRIP], [[0.0; STRIP]; 4]);
        let kept = &mut kept[..self.out.len()];
        let n = kept.len();
        for rows in self.x.chunks(4 * self.pitch) {
            let [a, b, c, d] = &mut wide;
            if rows.len() > 3 * self.pitch {
                let (low, high) = rows.split_at(2 * self.pitch);
                let low = [in_f32(l, &low[..n], a), in_f32(l, &low[self.pitch..][..n], b)];
                let high = [in_f32(l, &high[..n], c), in_f32(l, &high[self.pitch..][..n], d)];
                F::across(l, kept, [low[0], low[1], high[0], high[1]]);
            } else {
                for row in rows.chunks(self.pitch) {
                    F::across(l, kept, [in_f32(l, &row[..n], a)]);
                }
            }
        }
        for (out, &kept) in self.out.iter_mut().zip(&*kept) {
            (self.put)(out, kept);
        }
    }
}
