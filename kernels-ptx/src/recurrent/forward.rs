//! Gated recurrent units, all steps in one launch.
//!
//! There is a block for each four rows of each member, in a one-dimensional grid. Each step reads
//! the weights of its member once for each block, from the second-level cache, and is bound by
//! that.
//!
//! # Safety
//! The views have the lengths that `GruForward::check` states; the optional ones may be null.
//! Members, batch and states are not zero. `projected` holds `members x batch x 3 hidden` elements
//! if the inputs are constant, and is null otherwise.

use core_types::params::recurrent::GruParams;

use super::{
    rows::{MOST_BYTES, THREADS},
    unit::{Added, Outputs, Unit},
};
use crate::{
    dev::sync::block_sync,
    linalg::real::{Bf16, F16, Real},
};

/// The whole pass.
#[inline(always)]
unsafe fn gru_forward<T: Real>(
    p: GruParams,
    w: *const T,
    u: *const T,
    b: *const T,
    bu: *const T,
    x: *const f32,
    h0: *const f32,
    states: *mut f32,
    h_t: *mut f32,
    saved: *mut f32,
    projected: *mut f32,
) {
    let mut unit = Unit::new(&p, w, u, b, bu);
    let state = unit.rows.state(&p);
    unit.begin(if h0.is_null() { h0 } else { h0.add(state) });
    let (member, first) = (unit.rows.member, unit.rows.first);
    let inputs = |step: u64| x.add((p.input_row(member, step, first) * p.input) as usize);
    let projected = if projected.is_null() { projected } else { projected.add(3 * state) };
    if !projected.is_null() && p.steps > 0 {
        unit.project(inputs(0), 0, projected);
    }
    block_sync();
    let mut step = 0;
    while step < p.steps {
        let at = (((member * p.steps + step) * p.batch + first) * p.hidden) as usize;
        let outputs = Outputs {
            states: if states.is_null() { states } else { states.add(at) },
            saved: if saved.is_null() { saved } else { saved.add(at) },
            plane: p.members * p.steps * p.batch * p.hidden,
        };
        let added = if projected.is_null() { Added::Inputs(inputs(step)) } else { Added::Projected(projected) };
        unit.step(added, &outputs);
        step += 1;
    }
    unit.end(h_t.add(state));
}

macro_rules! of_type {
    ($name:ident, $type:ty) => {
        #[doc = "[`gru_forward`] with weights of one type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: GruParams,
            w: *const $type,
            u: *const $type,
            b: *const $type,
            bu: *const $type,
            x: *const f32,
            h0: *const f32,
            states: *mut f32,
            h_t: *mut f32,
            saved: *mut f32,
            projected: *mut f32,
        ) {
            gru_forward(p, w, u, b, bu, x, h0, states, h_t, saved, projected);
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MOST_BYTES), barriers 15; }
    };
}

of_type!(recurrent_gru_forward_f32, f32);
of_type!(recurrent_gru_forward_f16, F16);
of_type!(recurrent_gru_forward_bf16, Bf16);
