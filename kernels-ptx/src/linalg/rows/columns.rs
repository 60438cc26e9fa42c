//! Softmax, log-softmax and their gradients along an axis that is not the last.
//!
//! Blocks take 32 columns by 8 parts of the axis. One-dimensional grids of one block per 32 columns
//! `(outer, inner)`.
//!
//! # Safety
//! Tensors hold `outer x len x inner` elements, masks `mask_period x len x inner`; no axis and no
//! period is zero. The output of a softmax may be its input: after the barrier, a thread reads only
//! the elements that it writes.

use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{
    super::{
        index::divide_long,
        real::{Bf16, F16, Real},
    },
    softmax::Mask,
    state::{Kind, State},
};
use crate::dev::{
    idx,
    memory::{
        gmem::F4,
        smem::{Layout, Region},
    },
    sync::block_sync,
};

/// Columns of a block.
const COLUMNS: u32 = 32;
/// Parts of the axis; part `i` has the elements `i`, `i + PARTS`, ..
const PARTS: u32 = 8;
/// Threads of a block.
pub const THREADS: u32 = COLUMNS * PARTS;

/// The state of each thread, and 1 where it has an element that is kept.
const STATES: Region<F4> = Layout::new().array(THREADS);
/// Shared memory of the forward pass.
pub const FORWARD_BYTES: u32 = STATES.end().bytes();
const SUMS: Region<f32> = Layout::new().array(THREADS);
/// Shared memory of the backward pass.
pub const BACKWARD_BYTES: u32 = SUMS.end().bytes();

/// Elements of the axis, 64 a thread, that are summed before they join the running sum.
///
/// Rounding errors then do not grow with the length of the axis.
const TURN: u32 = 64 * PARTS;

/// The column of a thread; a thread past the last column repeats it and is not live.
struct Column {
    outer: u64,
    inner: u64,
    live: bool,
    part: u32,
}

impl Column {
    #[inline(always)]
    unsafe fn own(axis: &AxisParams) -> Self {
        let (columns, thread) = (axis.outer * axis.inner, idx::tid_x());
        let column = u64::from(idx::bid_x()) * u64::from(COLUMNS) + u64::from(thread % COLUMNS);
        let (inner, outer) = divide_long(column.min(columns - 1), axis.inner);
        Self { outer, inner, live: column < columns, part: thread / COLUMNS }
    }

    /// Place of element 0.
    #[inline(always)]
    fn start(&self, outer: u64, axis: &AxisParams) -> usize {
        (outer * axis.len * axis.inner + self.inner) as usize
    }
}

#[inline(always)]
unsafe fn forward<T: Real>(p: &SoftmaxParams, kind: Kind, causal: u32, x: *const T, mask: Mask, y: *mut T) {
    let (axis, column) = (&p.axis, Column::own(&p.axis));
    let (len, step) = (axis.len as u32, axis.inner as usize);
    let end = if causal != 0 { p.causal_len(column.outer) as u32 } else { len };
    let start = column.start(column.outer, axis);
    let (mask_outer, _) = divide_long(column.outer, p.mask_period);
    let mask_start = column.start(mask_outer, axis);
    let logit = |c: u32| {
        if c >= end {
            return (f32::NEG_INFINITY, false);
        }
        let x = (*x.add(start + c as usize * step)).widen();
        if mask.is_none() { (x, true) } else { mask.apply(mask_start + c as usize * step, x) }
    };
    let (mut state, mut turn, mut any) = (State::EMPTY, State::EMPTY, false);
    let mut c = column.part;
    while c < len {
        let (x, keep) = logit(c);
        turn.push(x);
        any |= keep;
        if c % TURN >= TURN - PARTS {
            state = state.with(turn);
            turn = State::EMPTY;
        }
        c += PARTS;
    }
    let state = state.with(turn);
    let (states, thread) = (STATES.slice(), idx::tid_x());
    states.set(thread, F4([state.greatest, state.rest, state.ties, if any { 1.0 } else { 0.0 }]));
    block_sync();
    let mut total = State::EMPTY;
    let mut part = thread % COLUMNS;
    while part < THREADS {
        let F4([greatest, rest, ties, kept]) = states.get(part);
        any |= kept != 0.0;
        total = total.with(State { greatest, rest, ties });
        part += COLUMNS;
    }
    let finish = total.finish(kind, any);
    let mut c = column.part;
    while column.live && c < len {
        *y.add(start + c as usize * step) = T::narrow(finish.value::<T>(logit(c).0));
        c += PARTS;
    }
}

#[inline(always)]
unsafe fn backward<T: Real>(axis: &AxisParams, kind: Kind, y: *const T, g: *const T, dx: *mut T) {
    let column = Column::own(axis);
    let (len, step) = (axis.len as u32, axis.inner as usize);
    let start = column.start(column.outer, axis);
    // The sum over the elements from `c` on that lie before `end`.
    let turn = |mut c: u32, end: u32| {
        let mut sum = 0.0;
        while c < end {
            let at = start + c as usize * step;
            sum += kind.contribution((*y.add(at)).widen(), (*g.add(at)).widen());
            c += PARTS;
        }
        sum
    };
    let (mut sum, mut first) = (0.0, 0);
    while len - first > TURN {
        sum += turn(first + column.part, first + TURN);
        first += TURN;
    }
    sum += turn(first + column.part, len);
    let (sums, thread) = (SUMS.slice(), idx::tid_x());
    sums.set(thread, sum);
    block_sync();
    sum = 0.0;
    let mut part = thread % COLUMNS;
    while part < THREADS {
        sum += sums.get(part);
        part += COLUMNS;
    }
    let mut c = column.part;
    while column.live && c < len {
        let at = start + c as usize * step;
        *dx.add(at) = T::narrow(kind.gradient((*y.add(at)).widen(), (*g.add(at)).widen(), sum));
        c += PARTS;
    }
}

softmaxes! {
    forward, block [THREADS, 1, 1], min_blocks 4, shared Bytes(FORWARD_BYTES), barriers 1 =>
        linalg_softmax_columns_f32: f32, linalg_softmax_columns_f16: F16, linalg_softmax_columns_bf16: Bf16;
}

softmax_gradients! {
    backward, block [THREADS, 1, 1], min_blocks 4, shared Bytes(BACKWARD_BYTES), barriers 1 =>
        linalg_softmax_backward_columns_f32: f32, linalg_softmax_backward_columns_f16: F16,
        linalg_softmax_backward_columns_bf16: Bf16;
}
