//! Sums and extremes over the middle axis of `outer x len x inner` elements, in an order that depends on the shape alone.

use core::marker::PhantomData;

use backend_api::{BackendError, Real};
use core_types::float::{maximum, minimum};

use super::convert::{as_f32, widen};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{Kernel, dispatch, floats::Floats},
};

/// What becomes of the elements along an axis.
pub(crate) trait Fold: Sync {
    /// What is kept of the elements seen.
    type Kept: Copy + Send + Sync;
    /// Of no elements.
    const NONE: Self::Kept;
    /// With one more element.
    fn one(kept: Self::Kept, x: f32) -> Self::Kept;
    /// With four more.
    fn four(kept: Self::Kept, x: [f32; 4]) -> Self::Kept;
    /// Of both.
    fn both(a: Self::Kept, b: Self::Kept) -> Self::Kept;
}

/// The sum in f64, which leaves an error of one rounding.
pub(crate) struct Sum;
/// The greatest element: NaN if there is one.
pub(crate) struct Greatest;
/// The least element: NaN if there is one.
pub(crate) struct Least;

impl Fold for Sum {
    type Kept = f64;
    const NONE: f64 = 0.0;

    #[inline(always)]
    fn one(kept: f64, x: f32) -> f64 {
        kept + f64::from(x)
    }

    #[inline(always)]
    fn four(kept: f64, [a, b, c, d]: [f32; 4]) -> f64 {
        kept + ((f64::from(a) + f64::from(b)) + (f64::from(c) + f64::from(d)))
    }

    #[inline(always)]
    fn both(a: f64, b: f64) -> f64 {
        a + b
    }
}

macro_rules! extreme {
    ($name:ident, $none:expr, $of:ident) => {
        impl Fold for $name {
            type Kept = f32;
            const NONE: f32 = $none;

            #[inline(always)]
            fn one(kept: f32, x: f32) -> f32 {
                $of(kept, x)
            }

            #[inline(always)]
            fn four(kept: f32, [a, b, c, d]: [f32; 4]) -> f32 {
                $of(kept, $of($of(a, b), $of(c, d)))
            }

            #[inline(always)]
            fn both(a: f32, b: f32) -> f32 {
                $of(a, b)
            }
        }
    };
}

extreme!(Greatest, f32::NEG_INFINITY, maximum);
extreme!(Least, f32::INFINITY, minimum);

/// Columns that are folded side by side.
const STRIP: usize = 512;
/// Elements of a row that are folded side by side.
const SIDE: usize = 32;

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
    // A long axis is cut into parts of at least a task's elements.
    let part_len = CHUNK.div_ceil(inner.min(STRIP));
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
        for (line, out) in out.chunks_mut(inner).enumerate() {
            let (first, rows) = place(line);
            let x = &x[first * inner..][..rows * inner];
            q.for_chunks(out, STRIP, |strip, out| {
                let x = x.get(strip * STRIP..).unwrap_or(&[]);
                dispatch(q.simd(), Strip::<F, _, _, _> { x, pitch: inner, out, put, fold: PhantomData });
            });
        }
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
    fn run(self, _: L) {
        let place = |i: usize| {
            let (first, len) = (self.place)(self.first + i);
            first..first + len
        };
        // Each form has a loop of its own, so that what is kept stays in registers.
        if let Some(x) = as_f32(self.x) {
            for (i, out) in self.out.iter_mut().enumerate() {
                let mut kept = [F::NONE; SIDE];
                side_by_side::<F>(&mut kept, &x[place(i)]);
                (self.put)(out, joined::<F>(kept));
            }
        } else {
            let mut wide = [0.0; STRIP];
            for (i, out) in self.out.iter_mut().enumerate() {
                let mut kept = [F::NONE; SIDE];
                for block in self.x[place(i)].chunks(STRIP) {
                    widen(block, &mut wide[..block.len()]);
                    side_by_side::<F>(&mut kept, &wide[..block.len()]);
                }
                (self.put)(out, joined::<F>(kept));
            }
        }
    }
}

/// What is kept of all elements.
#[inline(always)]
fn joined<F: Fold>(mut kept: [F::Kept; SIDE]) -> F::Kept {
    let mut half = SIDE / 2;
    while half > 0 {
        for i in 0..half {
            kept[i] = F::both(kept[i], kept[i + half]);
        }
        half /= 2;
    }
    kept[0]
}

/// Element i joins what is kept at `i % SIDE`.
#[inline(always)]
fn side_by_side<F: Fold>(kept: &mut [F::Kept; SIDE], row: &[f32]) {
    let mut all = *kept;
    let (chunks, rest) = row.as_chunks::<SIDE>();
    for chunk in chunks {
        for i in 0..SIDE {
            all[i] = F::one(all[i], chunk[i]);
        }
    }
    for (kept, &x) in all.iter_mut().zip(rest) {
        *kept = F::one(*kept, x);
    }
    *kept = all;
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
    fn run(self, _: L) {
        let (mut kept, mut wide) = ([F::NONE; STRIP], [[0.0; STRIP]; 4]);
        let kept = &mut kept[..self.out.len()];
        for rows in self.x.chunks(4 * self.pitch) {
            let mut rows = rows.chunks(self.pitch);
            let [a, b, c, d] = wide.each_mut().map(|wide| rows.next().map(|row| in_f32(&row[..kept.len()], wide)));
            if let (Some(a), Some(b), Some(c), Some(d)) = (a, b, c, d) {
                for ((((kept, &a), &b), &c), &d) in kept.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *kept = F::four(*kept, [a, b, c, d]);
                }
                continue;
            }
            for row in [a, b, c].into_iter().flatten() {
                for (kept, &x) in kept.iter_mut().zip(row) {
                    *kept = F::one(*kept, x);
                }
            }
        }
        for (out, &kept) in self.out.iter_mut().zip(&*kept) {
            (self.put)(out, kept);
        }
    }
}

/// The row itself if it is f32, else its values in `wide`.
#[inline(always)]
fn in_f32<'a, T: Real>(row: &'a [T], wide: &'a mut [f32; STRIP]) -> &'a [f32] {
    as_f32(row).unwrap_or_else(|| {
        widen(row, &mut wide[..row.len()]);
        &wide[..row.len()]
    })
}
