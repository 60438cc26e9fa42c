//! Sums and extremes over the middle axis of `outer x len x inner` elements.
//!
//! The order depends only on the shape.

use backend_api::{BackendError, Real};
use core_types::float::{maximum, minimum};

use super::{
    convert::{in_f32, widen},
    reals::Reals,
};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// What becomes of the elements along an axis.
pub(crate) trait Fold: Sync {
    /// State of a fold of some elements.
    type Kept: Copy + Send + Sync;
    /// State of elements that are folded in parallel lanes.
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
    /// Adds `R` rows, element i to the state at i; all lengths are equal.
    fn across<L: Floats, const R: usize>(l: L, kept: &mut [Self::Kept], rows: [&[f32]; R]);
}

/// The sum in f64, which leaves an error of one rounding.
pub(crate) struct WideSum;
/// The greatest element: NaN if there is one.
pub(crate) struct Greatest;
/// The least element: NaN if there is one.
pub(crate) struct Least;

/// Vectors of a row that are summed side by side.
const UNROLL: usize = 4;
/// More lanes than those vectors have on any level.
const MAX_LANES: usize = 16 * UNROLL;

impl Fold for WideSum {
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

/// Joins all states, halves first; their number is a power of two.
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
const SIDE: usize = 64;

/// An integer in the order of floats, -0 below 0.
///
/// `beyond` stands for NaN: `i32::MAX` for maxima, `i32::MIN` for minima. Integers are compared by
/// one instruction, floats of `maximum` and `minimum` by several.
#[inline(always)]
const fn key(x: f32, beyond: i32) -> i32 {
    let bits = x.to_bits().cast_signed();
    // Larger magnitudes of negative numbers are smaller.
    let ordered = bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed();
    if bits & i32::MAX > f32::INFINITY.to_bits().cast_signed() { beyond } else { ordered }
}

/// The float of a key.
#[inline(always)]
const fn of_key(key: i32, beyond: i32) -> f32 {
    let bits = key ^ ((key >> 31).cast_unsigned() >> 1).cast_signed();
    if key == beyond { f32::NAN } else { f32::from_bits(bits.cast_unsigned()) }
}

macro_rules! extreme {
    ($name:ident, $none:expr, $of:ident, $of_keys:ident, $beyond:expr) => {
        impl Fold for $name {
            type Kept = f32;
            type Lanes<L: Floats> = [i32; SIDE];
            const NONE: f32 = $none;

            #[inline(always)]
            fn both(a: f32, b: f32) -> f32 {
                $of(a, b)
            }

            #[inline(always)]
            fn no_lanes<L: Floats>(_: L) -> [i32; SIDE] {
                [key($none, $beyond); SIDE]
            }

            /// Plain loops: the compiler may use the level's instructions.
            #[inline(always)]
            fn along<L: Floats>(_: L, mut lanes: [i32; SIDE], row: &[f32]) -> [i32; SIDE] {
                let (chunks, rest) = row.as_chunks::<SIDE>();
                for chunk in chunks {
                    for i in 0..SIDE {
                        lanes[i] = lanes[i].$of_keys(key(chunk[i], $beyond));
                    }
                }
                for (lane, &x) in lanes.iter_mut().zip(rest) {
                    *lane = (*lane).$of_keys(key(x, $beyond));
                }
                lanes
            }

            #[inline(always)]
            fn joined<L: Floats>(_: L, lanes: [i32; SIDE]) -> f32 {
                let mut kept = lanes[0];
                for lane in lanes {
                    kept = kept.$of_keys(lane);
                }
                of_key(kept, $beyond)
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

extreme!(Greatest, f32::NEG_INFINITY, maximum, max, i32::MAX);
extreme!(Least, f32::INFINITY, minimum, min, i32::MIN);

/// Columns that are folded side by side.
const STRIP: usize = 1024;
/// Rows whose results are kept before they are put in their places.
const ROWS: usize = 64;

/// Writes outputs of type `O` from their results.
type Put<'a, O, K> = dyn Fn(&mut [O], &[K]) + Sync + 'a;

/// Folds the middle axis of x and passes outputs and their results to `put`, some at a time.
///
/// `put` is a pointer: the function is compiled once for each fold and element type.
///
/// # Errors
/// [`BackendError::BudgetExceeded`] if there is no memory for the parts of a long axis.
pub(crate) fn fold<F: Fold, T: Real>(
    q: &CpuQueue,
    [len, inner]: [usize; 2],
    x: &[T],
    y: &mut [T],
    put: &Put<'_, T, F::Kept>,
) -> Result<(), BackendError> {
    if y.is_empty() {
        return Ok(());
    }
    if len == 0 {
        y.chunks_mut(ROWS).for_each(|y| put(y, &[F::NONE; ROWS][..y.len()]));
        return Ok(());
    }
    // A long axis is cut into parts of at least a few tasks' elements.
    let part_len = (4 * CHUNK).div_ceil(inner.min(STRIP));
    let parts = len.div_ceil(part_len);
    if parts == 1 {
        each_part::<F, T>(q, Parts::new(len, len), inner, x.into(), y, put);
        return Ok(());
    }
    let _scratch = q.reserve_scratch::<F::Kept>(1, parts * y.len())?;
    let mut kept = vec![F::NONE; parts * y.len()];
    each_part::<F, F::Kept>(q, Parts::new(len, part_len), inner, x.into(), &mut kept, &|to, from| {
        to.copy_from_slice(from)
    });
    for (y, kept) in y.chunks_mut(inner).zip(kept.chunks_mut(parts * inner)) {
        let (all, later) = kept.split_at_mut(inner);
        all.iter_mut().for_each(|all| *all = F::both(F::NONE, *all));
        for part in later.chunks(inner) {
            all.iter_mut().zip(part).for_each(|(all, &part)| *all = F::both(*all, part));
        }
        put(y, all);
    }
    Ok(())
}

/// An axis of `len` elements, at least one, in `count` parts of `part_len`.
///
/// The last part may be shorter.
#[derive(Clone, Copy)]
struct Parts {
    len: usize,
    part_len: usize,
    count: usize,
}

impl Parts {
    fn new(len: usize, part_len: usize) -> Self {
        Self { len, part_len, count: len.div_ceil(part_len) }
    }

    /// The first element of part `line`, and its length; parts are numbered across all axes.
    #[inline(always)]
    fn place(self, line: usize) -> (usize, usize) {
        let first = line % self.count * self.part_len;
        (line / self.count * self.len + first, (self.len - first).min(self.part_len))
    }
}

/// Folds each part; `out` is `outer x parts x inner`.
fn each_part<F: Fold, O: Send>(
    q: &CpuQueue,
    parts: Parts,
    inner: usize,
    x: Reals<'_>,
    out: &mut [O],
    put: &Put<'_, O, F::Kept>,
) {
    // Contiguous parts, a block of results at a time.
    if inner == 1 {
        let per_task = CHUNK.div_ceil(parts.part_len);
        q.for_chunks(out, per_task, |task, out| {
            for (i, out) in out.chunks_mut(ROWS).enumerate() {
                let mut kept = [F::NONE; ROWS];
                let kept = &mut kept[..out.len()];
                dispatch(q.simd(), FoldRows::<F> { first: task * per_task + i * ROWS, parts, x, kept });
                put(out, kept);
            }
        });
        return;
    }
    // Columns from `column` on of the part `line`.
    let strip = |line: usize, column: usize, out: &mut [O]| {
        let (first, rows) = parts.place(line);
        let x = x.range(first * inner + column..(first + rows) * inner);
        let mut kept = [F::NONE; STRIP];
        let kept = &mut kept[..out.len()];
        dispatch(q.simd(), FoldStrip::<F> { x, pitch: inner, kept });
        put(out, kept);
    };
    // Narrow parts are one strip each, wide ones several.
    if inner <= STRIP {
        let per_task = CHUNK.div_ceil(parts.part_len * inner);
        q.for_chunks(out, per_task * inner, |task, out| {
            for (i, out) in out.chunks_mut(inner).enumerate() {
                strip(task * per_task + i, 0, out);
            }
        });
    } else {
        let lines = out.chunks_mut(inner).enumerate();
        let strips = lines.flat_map(|(line, out)| out.chunks_mut(STRIP).enumerate().map(move |strip| (line, strip)));
        q.for_jobs(strips.collect(), |_, (line, (i, out))| strip(line, i * STRIP, out));
    }
}

/// Parts of contiguous rows, one to a result.
struct FoldRows<'a, F: Fold> {
    first: usize,
    parts: Parts,
    x: Reals<'a>,
    kept: &'a mut [F::Kept],
}

impl<L: Floats, F: Fold> LaneKernel<L> for FoldRows<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { first, parts, x, kept } = self;
        // Each form has a separate loop, so that the lanes stay in registers.
        if let Some(x) = x.as_f32() {
            for (i, kept) in kept.iter_mut().enumerate() {
                let (first, len) = parts.place(first + i);
                let lanes = F::along(l, F::no_lanes(l), &x[first..first + len]);
                *kept = F::joined(l, lanes);
            }
        } else {
            let mut wide = [0.0; STRIP];
            for (i, kept) in kept.iter_mut().enumerate() {
                let (first, len) = parts.place(first + i);
                let mut lanes = F::no_lanes(l);
                for block in x.range(first..first + len).chunks(STRIP) {
                    let wide = &mut wide[..block.len()];
                    widen(l, block, wide);
                    lanes = F::along(l, lanes, wide);
                }
                *kept = F::joined(l, lanes);
            }
        }
    }
}

/// Neighbouring columns, one for each result.
///
/// They are at the start of rows that begin every `pitch` elements of `x`.
struct FoldStrip<'a, F: Fold> {
    x: Reals<'a>,
    pitch: usize,
    kept: &'a mut [F::Kept],
}

impl<L: Floats, F: Fold> LaneKernel<L> for FoldStrip<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { x, pitch, kept } = self;
        let n = kept.len();
        let (mut at, mut wide) = (0, [[0.0; STRIP]; 4]);
        let [a, b, c, d] = &mut wide;
        while at + 3 * pitch < x.len() {
            let row = |i: usize| x.range(at + i * pitch..at + i * pitch + n);
            let rows = [in_f32(l, row(0), a), in_f32(l, row(1), b), in_f32(l, row(2), c), in_f32(l, row(3), d)];
            F::across(l, kept, rows);
            at += 4 * pitch;
        }
        while at < x.len() {
            F::across(l, kept, [in_f32(l, x.range(at..at + n), a)]);
            at += pitch;
        }
    }
}
