//! Rows of a table by index: their copies, and sums into them.

use backend_api::{Element, Real, ops::tensor::ScatterAdd};
use core_types::params::tensor::TableParams;

use crate::{
    CpuQueue,
    linalg::{
        convert::{BLOCK, in_f32, narrow, widen},
        reals::{Reals, RealsMut},
    },
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Most tasks that rows of a table are dealt to.
const MOST_TASKS: usize = 64;

/// Row i of y is row `indices[i]` of the table; `zero` where there is none.
pub(super) fn gather<T: Element>(q: &CpuQueue, p: &TableParams, table: &[T], indices: &[u32], y: &mut [T], zero: T) {
    let width = p.width as usize;
    if y.is_empty() {
        return;
    }
    let per_task = CHUNK.div_ceil(width);
    q.for_chunks(y, per_task * width, |task, y| {
        for (y, &index) in y.chunks_mut(width).zip(&indices[task * per_task..]) {
            match row(table, width, index) {
                Some(row) => y.copy_from_slice(row),
                None => y.fill(zero),
            }
        }
    });
}

/// A row of the table, if it has that many.
fn row<T>(table: &[T], width: usize, index: u32) -> Option<&[T]> {
    let first = (index as usize).checked_mul(width)?;
    table.get(first..first.checked_add(width)?)
}

/// Adds rows of g to the table rows that `indices` name.
///
/// Rows of equal index are added in the order of `order`.
pub(super) fn scatter_add<T: Real>(q: &CpuQueue, op: ScatterAdd<'_, CpuQueue, T>) {
    let ScatterAdd { params: p, indices, order, g, table } = op;
    let width = p.width as usize;
    if table.is_empty() || indices.is_empty() {
        return;
    }
    // Rows of the table are dealt out evenly; a task finds its indices by bisection.
    let rows = p.rows as usize;
    let per_task = CHUNK.div_ceil(width).max(rows.div_ceil(MOST_TASKS));
    let index_of = |place: u32| indices.get(place as usize).map_or(usize::MAX, |&index| index as usize);
    q.for_chunks(table, per_task * width, |task, table| {
        let first = task * per_task;
        let end = first + table.len() / width;
        let begin = order.partition_point(|&place| index_of(place) < first);
        let mut rest = &order[begin..];
        while let Some(&place) = rest.first() {
            let index = index_of(place);
            if !(first..end).contains(&index) {
                break;
            }
            let run = rest.iter().take_while(|&&place| index_of(place) == index).count();
            let row = &mut table[(index - first) * width..][..width];
            dispatch(q.simd(), SummedRows { g: g.into(), width, places: &rest[..run], row: row.into() });
            rest = &rest[run..];
        }
    });
}

/// Rows of g at `places`, which are summed and added to a row.
struct SummedRows<'a> {
    g: Reals<'a>,
    width: usize,
    places: &'a [u32],
    row: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for SummedRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { g, width, places, mut row } = self;
        // Most rows of a large table are named once, if at all.
        if let ([place], Reals::F32(g), RealsMut::F32(row)) = (places, g, &mut row) {
            for (y, &x) in row.iter_mut().zip(&g[*place as usize * width..]) {
                *y += 0.0 + x; // as a sum, which begins with 0
            }
            return;
        }
        let (mut sums, mut wide) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
        for first in (0..row.len()).step_by(BLOCK) {
            let n = BLOCK.min(row.len() - first);
            let (sums, row) = (&mut sums[..n], row.range(first..first + n));
            sums.fill(0.0);
            for &place in places {
                let at = place as usize * width + first;
                let part = in_f32(l, g.range(at..at + n), &mut wide);
                for (sum, &x) in sums.iter_mut().zip(part) {
                    *sum += x;
                }
            }
            widen(l, row.shared(), &mut wide[..n]);
            for (sum, &x) in sums.iter_mut().zip(&wide[..n]) {
                *sum += x;
            }
            narrow(l, sums, row);
        }
    }
}
