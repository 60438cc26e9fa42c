//! Rollouts: gated recurrent units whose losses are fed back, in the blocks of [`forward`](super::forward). A launch takes the steps from
//! `from` to `to`: all of them, unless the mean over the members is fed back, which a step has from the launch before.
//!
//! # Safety
//! The views have the lengths that `RssmRollout::check` states. Members, batch and states are not zero, and there are fewer than
//! 2^31 products of a state's index with one of the second part. `projected` holds `members x batch x 3 hidden` elements, which
//! the launch from step 0 writes.

use core::hint::assert_unchecked;

use core_types::params::recurrent::{
    Feedback, LOG_LOSS_LIMIT, LossHead, NEGLIGIBLE_PROBABILITY, RolloutParams, Stochastic,
};

use super::{
    rows::{MOST_BYTES, ROWS, THREADS},
    unit::{Added, Outputs, Unit},
};
use crate::dev::{
    functions::{exp, log},
    idx,
    math::fma,
    sync::block_sync,
    warp::reduce,
};

/// What a warp knows of the combined state of its row.
struct Combined {
    loss: f32,
    entropy: f32,
    /// The greatest state that the softmax takes, and the sum of the exponentials relative to it.
    greatest: f32,
    sum: f32,
}

#[inline(always)]
fn add(a: f32, b: f32) -> f32 {
    a + b
}

/// Multiples of 32 after the lane's index, below `len`.
#[inline(always)]
fn of_lane(len: u32) -> impl Iterator<Item = u32> {
    let mut next = idx::lane();
    core::iter::from_fn(move || {
        let index = next;
        next += 32;
        (index < len).then_some(index)
    })
}

/// Element `i` of what the softmax is taken of.
#[inline(always)]
unsafe fn logit(unit: &Unit, p: &RolloutParams, row: u32, i: u32) -> f32 {
    let len = p.stochastic as u32;
    assert_unchecked(len != 0);
    unit.at(row, i * unit.rows.hidden / len)
}

/// Reads the loss of a row from its state, by all lanes of a warp.
#[inline(always)]
unsafe fn combine(unit: &Unit, p: &RolloutParams, head: *const f32, row: u32) -> Combined {
    let (mut dot, mut entropy) = (0.0, 0.0);
    for column in of_lane(unit.rows.hidden) {
        dot = fma(unit.at(row, column), *head.add(column as usize), dot);
    }
    let head = head.add(unit.rows.hidden as usize);
    let (mut greatest, mut sum) = (f32::NEG_INFINITY, 0.0);
    match p.part {
        Stochastic::StridedSoftmax => {
            let len = p.stochastic as u32;
            for i in of_lane(len) {
                greatest = greatest.max(logit(unit, p, row, i));
            }
            greatest = reduce(greatest, f32::max);
            for i in of_lane(len) {
                sum += exp(logit(unit, p, row, i) - greatest);
            }
            sum = reduce(sum, add);
            let log_sum = log(sum);
            for i in of_lane(len) {
                let below = logit(unit, p, row, i) - greatest;
                let s = exp(below) / sum;
                dot = fma(s, *head.add(i as usize), dot);
                if s > NEGLIGIBLE_PROBABILITY {
                    entropy = fma(s, log_sum - below, entropy);
                }
            }
        }
        Stochastic::CopyHidden => {
            for column in of_lane(unit.rows.hidden) {
                dot = fma(unit.at(row, column), *head.add(column as usize), dot);
            }
        }
        Stochastic::Zeros => {}
    }
    let (dot, entropy) = (reduce(dot, add), reduce(entropy, add));
    let loss = match p.head {
        LossHead::Linear => dot,
        LossHead::ExpClamped => {
            let log = if dot < -LOG_LOSS_LIMIT { -LOG_LOSS_LIMIT } else { dot }; // NaN stays
            exp(if log > LOG_LOSS_LIMIT { LOG_LOSS_LIMIT } else { log })
        }
    };
    Combined { loss, entropy, greatest, sum }
}

/// Writes the second part of the combined state of a row.
#[inline(always)]
unsafe fn write_part(unit: &Unit, p: &RolloutParams, row: u32, of_row: &Combined, into: *mut f32) {
    for i in of_lane(p.stochastic as u32) {
        *into.add(i as usize) = match p.part {
            Stochastic::StridedSoftmax => exp(logit(unit, p, row, i) - of_row.greatest) / of_row.sum,
            Stochastic::CopyHidden => unit.at(row, i),
            Stochastic::Zeros => 0.0,
        };
    }
}

/// The mean of all members' losses of a row before step `step`.
#[inline(always)]
unsafe fn mean(p: &RolloutParams, trajectory: *const f32, row: u64, step: u64) -> f32 {
    let (mut sum, mut member) = (0.0, 0);
    while member < p.gru.members {
        sum += f64::from(*trajectory.add(((member * p.gru.batch + row) * (p.gru.steps + 1) + step) as usize));
        member += 1;
    }
    (sum / p.gru.members as f64) as f32
}

/// The steps from `from` to `to`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn recurrent_rssm_rollout(
    p: RolloutParams,
    from: u64,
    to: u64,
    w: *const f32,
    u: *const f32,
    b: *const f32,
    bu: *const f32,
    head: *const f32,
    x: *const f32,
    h0: *const f32,
    losses: *const f32,
    trajectory: *mut f32,
    h_t: *mut f32,
    combined: *mut f32,
    entropy: *mut f32,
    projected: *mut f32,
) {
    let mut unit = Unit::new(&p.gru, w, u, b, bu);
    let state = unit.rows.state(&p.gru);
    // The row of this warp; the warps that have none, or one that is not there, repeat another's and write nothing.
    let row = (idx::warp() % ROWS).min(unit.rows.live - 1);
    let of_batch = unit.rows.first + u64::from(row);
    let at = unit.rows.member * p.gru.batch + of_batch;
    let writes = idx::warp() < unit.rows.live && idx::lane() == 0;
    let of_row = trajectory.add((at * (p.gru.steps + 1)) as usize);
    let (projected, h_t) = (projected.add(3 * state), h_t.add(state));
    unit.begin(if from == 0 { h0.add(state) } else { h_t });
    let x = x.add((p.gru.input_row(unit.rows.member, 0, unit.rows.first) * p.gru.input) as usize);
    if from == 0 {
        unit.project(x, 1, projected);
    }
    block_sync();
    let fed = unit.spare(); // no step takes inputs from here on
    if idx::tid_x() < ROWS {
        let row = idx::tid_x().min(unit.rows.live - 1);
        let value = if from == 0 {
            *x.add((u64::from(row) * p.gru.input) as usize)
        } else {
            mean(&p, trajectory, unit.rows.first + u64::from(row), from)
        };
        fed.set(idx::tid_x(), value);
    }
    let mut entropies = 0.0;
    if writes {
        if from == 0 {
            *of_row = *losses.add(at as usize);
        } else {
            entropies = *entropy.add(at as usize);
        }
    }
    block_sync();
    let mut step = from;
    while step < to {
        unit.step(Added::Fed(projected, fed), &Outputs::NONE);
        let read = combine(&unit, &p, head, row);
        entropies += read.entropy;
        if writes {
            *of_row.add(step as usize + 1) = read.loss;
            if matches!(p.feedback, Feedback::PerMember) {
                fed.set(row, read.loss);
            }
        }
        block_sync();
        step += 1;
    }
    if to == p.gru.steps {
        let into = combined.add((at * (p.gru.hidden + p.stochastic)) as usize);
        let read = combine(&unit, &p, head, row);
        if idx::warp() < unit.rows.live {
            for column in of_lane(unit.rows.hidden) {
                *into.add(column as usize) = unit.at(row, column);
            }
            write_part(&unit, &p, row, &read, into.add(unit.rows.hidden as usize));
        }
    }
    if writes {
        *entropy.add(at as usize) = entropies;
    }
    unit.end(h_t);
}

kernel_table! {
    recurrent_rssm_rollout: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MOST_BYTES), barriers 9;
}
