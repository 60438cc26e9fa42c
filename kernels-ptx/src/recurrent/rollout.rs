//! Rollouts: gated recurrent units that feed back their predictions.
//!
//! The blocks are those in [`forward`](super::forward). A launch takes the steps from `from` to
//! `to`. These are all of the steps, unless the mean over the members is fed back, which a step has
//! from the launch before.
//!
//! # Safety
//! The views have the lengths that `RssmRollout::check` states. Members, batch and states are not
//! zero, and there are fewer than 2^31 products of a state's index with one of the second part.
//! `projected` holds `members x batch x 3 hidden` elements, which the launch from step 0 writes. If
//! states are fed back, `features` holds `members x batch x input` elements.

use core_types::params::recurrent::{Feedback, RolloutParams};

use super::{
    head::{Form, of_lane},
    rows::{MOST_BYTES, ROWS, THREADS},
    unit::{Added, Outputs, Unit},
    view::View,
};
use crate::{
    dev::{idx, sync::block_sync},
    linalg::real::{Bf16, F16, Real},
};

/// The mean of all members' losses of a row before step `step`.
#[inline(always)]
pub unsafe fn mean(p: &RolloutParams, trajectory: *const f32, row: u64, step: u64) -> f32 {
    let (mut sum, mut member) = (0.0, 0);
    while member < p.gru.members {
        sum += f64::from(*trajectory.add(((member * p.gru.batch + row) * (p.gru.steps + 1) + step) as usize));
        member += 1;
    }
    (sum / p.gru.members as f64) as f32
}

/// The steps from `from` to `to`.
#[inline(always)]
unsafe fn rssm_rollout<T: Real>(
    p: RolloutParams,
    from: u64,
    to: u64,
    w: *const T,
    u: *const T,
    b: *const T,
    bu: *const T,
    head: *const f32,
    gamma: *const f32,
    beta: *const f32,
    x: *const f32,
    h0: *const f32,
    losses: *const f32,
    trajectory: *mut f32,
    h_t: *mut f32,
    combined: *mut f32,
    entropy: *mut f32,
    states: *mut f32,
    projected: *mut f32,
    back: *const f32,
    back_bias: *const f32,
    features: *mut f32,
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
    let (maps, changing) = match p.feedback {
        Feedback::PerMember | Feedback::EnsembleMean => (false, false),
        Feedback::None => (false, !p.gru.inputs.is_constant()),
        Feedback::State => (true, true),
    };
    let (first, member) = (unit.rows.first, unit.rows.member);
    let given = |step: u64| x.add((p.gru.input_row(member, step, first) * p.gru.input) as usize);
    let features = if maps { features.add(((member * p.gru.batch + first) * p.gru.input) as usize) } else { features };
    let fed = unit.spare(); // what projects the features is done with it when they are fed
    let of_thread = u64::from(idx::tid_x().min(unit.rows.live - 1));
    if from > 0 && idx::tid_x() < ROWS {
        fed.set(idx::tid_x(), mean(&p, trajectory, first + of_thread, from));
    }
    let form = Form::new(p.gru.hidden, p.stochastic, p.part);
    let view = View { gamma, beta, eps: p.eps, mask: p.mask };
    let changes = view.changes();
    unit.clear_spare();
    let index = |step: u64| p.state_index(member, step, of_batch);
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
    loop {
        let steps = p.gru.steps > 0;
        if steps && (step == 0 || changing) {
            let x = if maps && step > 0 { features.cast_const() } else { given(step) };
            unit.project(x, 1, projected);
            block_sync();
            if idx::tid_x() < ROWS {
                fed.set(idx::tid_x(), *x.add((of_thread * p.gru.input) as usize));
            }
            block_sync();
        }
        if steps {
            unit.step(Added::Fed(projected, fed), &Outputs::NONE);
        }
        let seen = if changes {
            // The update gates, which no step needs any more, make room.
            view.apply(
                [unit.row(row), unit.spare_row(row)],
                unit.rows.hidden,
                idx::warp() < unit.rows.live,
                index(step),
            )
        } else {
            unit.row(row)
        };
        let read = form.combine(|column| seen.get(column), head);
        if steps {
            entropies += read.entropy;
            if !states.is_null() && idx::warp() < unit.rows.live {
                let into = states.add(index(step) as usize);
                for column in of_lane(unit.rows.hidden) {
                    *into.add(column as usize) = seen.get(column);
                }
            }
            if writes {
                let loss = read.loss(p.head);
                *of_row.add(step as usize + 1) = loss;
                if matches!(p.feedback, Feedback::PerMember) {
                    fed.set(row, loss);
                }
            }
        }
        step += 1;
        if step >= p.gru.steps && idx::warp() < unit.rows.live {
            let into = combined.add((at * (p.gru.hidden + p.stochastic)) as usize);
            form.write(|column| seen.get(column), &read, into);
        }
        if maps && step < to {
            unit.map(if changes { unit.spare_row(0) } else { unit.row(0) }, back, back_bias, features);
        }
        block_sync();
        if step >= to {
            break;
        }
    }
    if writes {
        *entropy.add(at as usize) = entropies;
    }
    unit.end(h_t);
}

macro_rules! of_type {
    ($name:ident, $type:ty) => {
        #[doc = "[`rssm_rollout`] with weights of one type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: RolloutParams,
            from: u64,
            to: u64,
            w: *const $type,
            u: *const $type,
            b: *const $type,
            bu: *const $type,
            head: *const f32,
            gamma: *const f32,
            beta: *const f32,
            x: *const f32,
            h0: *const f32,
            losses: *const f32,
            trajectory: *mut f32,
            h_t: *mut f32,
            combined: *mut f32,
            entropy: *mut f32,
            states: *mut f32,
            projected: *mut f32,
            back: *const f32,
            back_bias: *const f32,
            features: *mut f32,
        ) {
            rssm_rollout(
                p, from, to, w, u, b, bu, head, gamma, beta, x, h0, losses, trajectory, h_t, combined, entropy, states,
                projected, back, back_bias, features,
            );
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MOST_BYTES), barriers 11; }
    };
}

of_type!(recurrent_rssm_rollout_f32, f32);
of_type!(recurrent_rssm_rollout_f16, F16);
of_type!(recurrent_rssm_rollout_bf16, Bf16);
