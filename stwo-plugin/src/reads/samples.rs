//! Values of polynomials outside the domain.
//!
//! stwo requests them one by one, though a proof samples whole trees at a few points. If each
//! request is a wait, the next columns are sampled ahead at the same point. Their number equals the
//! samples taken there before, so that few waits remain and few samples are unused.

use std::sync::PoisonError;

use backend_api::{
    Buffer as _, Queue,
    ops::circle::{CircleEvalAtPoint, CircleOps as _},
};
use core_types::{
    field::{M31, QM31},
    params::circle::CirclePointParams,
};

use super::counts::ReadCounts;
use crate::{
    device::{done, queue, reads_wait},
    memory::{
        arena::{ArenaContents, Slice},
        known::{Point, Samples},
    },
};

/// Columns that are sampled at once at first.
///
/// They are the coordinates of two columns of the secure field.
const FEWEST: usize = 8;

/// Points whose values are kept: more than one proof samples a tree at.
///
/// A tree may be of many proofs.
const MOST_POINTS: usize = 256;

/// The value of a column of coefficients at a point.
pub(crate) fn sample(column: &Slice<M31>, point: Point) -> QM31 {
    if !reads_wait() {
        return evaluate(column, 1, point)[0];
    }
    let Samples { values, columns } = &mut *column.arena.samples.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&value) = values.get(&(point, column.start, column.len)) {
        return value;
    }
    if columns.len() >= MOST_POINTS && !columns.contains_key(&point) {
        values.clear();
        columns.clear();
    }
    let sampled = columns.entry(point).or_default();
    let count = following(column).min(FEWEST.max(*sampled));
    *sampled += count;
    ReadCounts::count_ahead();
    let results = evaluate(column, count, point);
    let places = (0..count).map(|k| (point, column.start + k * column.len, column.len));
    values.extend(places.zip(results.iter().copied()));
    results[0]
}

/// How many columns of its length follow each other from `column` on.
fn following(column: &Slice<M31>) -> usize {
    let ArenaContents::Columns(columns) = column.arena.form() else { return 1 };
    let after = columns.partition_point(|at| at.first <= column.start as u64);
    let Some(own) = columns[..after].last() else { return 1 };
    let run = columns[after..].iter().take_while(|at| at.log_len == own.log_len).last();
    let end = run.unwrap_or(own).end().map_or(column.start + column.len, |end| end as usize);
    ((end - column.start) / column.len).max(1)
}

/// The values of `count` columns that follow each other.
fn evaluate(first: &Slice<M31>, count: usize, point: Point) -> Vec<QM31> {
    let coefficients = Slice { len: count * first.len, ..first.clone() };
    let mut results = done(queue().alloc(count));
    done(queue().circle_eval_at_point(CircleEvalAtPoint {
        params: &CirclePointParams { log_size: first.len.ilog2(), columns: count as u32, point },
        coefficients: coefficients.view(),
        results: results.view_mut(),
    }));
    done(queue().download(&results))
}
