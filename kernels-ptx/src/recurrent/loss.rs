//! Errors of predicted losses, and the gradients of the states.
//!
//! There is a warp for each row. It reads the states five times at most, four of them from the
//! first-level cache, and is bound by memory.
//!
//! # Safety
//! The views have the lengths that `RssmLoss::check` states. Members, rows and states are not zero,
//! there are fewer than 2^31 rows of all members, and fewer than 2^31 products of a state's index
//! with one of the second part.

use core::hint::assert_unchecked;

use core_types::{
    float::ln,
    params::recurrent::{LossError, LossHead, RssmLossParams},
};

use super::{
    head::{Form, of_lane},
    rows::THREADS,
};
use crate::dev::idx;

/// Rows of a block.
const WARPS: u32 = THREADS / 32;

/// The whole op.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn recurrent_rssm_loss(
    p: RssmLossParams,
    head: *const f32,
    states: *const f32,
    targets: *const f32,
    predicted: *mut f32,
    errors: *mut f32,
    slopes: *mut f32,
    combined: *mut f32,
    d_states: *mut f32,
) {
    let form = Form::new(p.hidden, p.stochastic, p.part);
    let row = idx::bid_x() * WARPS + idx::warp();
    if row >= (p.members * p.rows) as u32 {
        return;
    }
    let place = row as usize * form.hidden as usize;
    let (states, d_states) = (states.add(place), d_states.add(place));
    let at = |column: u32| *states.add(column as usize);
    let read = form.combine(at, head);
    let loss = read.loss(p.head);
    let rows = p.rows as u32;
    assert_unchecked(rows != 0);
    let target = *targets.add(if p.own_targets == 0 { row % rows } else { row } as usize);
    let (inner, held) = p.held(read.dot);
    let (error, outer) = match p.error {
        LossError::OfLosses => (loss - target, if matches!(p.head, LossHead::Linear) { 1.0 } else { loss }),
        LossError::OfLogarithms => (held - ln(target), 1.0),
    };
    let slope = p.scale * error * outer * inner;
    if idx::lane() == 0 {
        *predicted.add(row as usize) = loss;
        *errors.add(row as usize) = error;
        *slopes.add(row as usize) = slope;
    }
    form.write(at, &read, combined.add(row as usize * (form.hidden + form.stochastic) as usize));
    let mean = form.mean_weight(at, &read, head);
    for column in of_lane(form.hidden) {
        *d_states.add(column as usize) = slope * form.slope(column, at(column), &read, mean, head);
    }
}

kernel_table! {
    recurrent_rssm_loss: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
}
