//! Rollouts by blocks that keep weights in shared memory for all steps.
//!
//! A block holds the weights of 32 states of a member, and takes 16 rows. It reads the results of
//! the member's other blocks for these rows from global memory once all of them have arrived, so
//! all blocks of a launch have to run at once. Sums have the order of [`rollout`](super::rollout),
//! and results its bits.
//!
//! # Safety
//! As for [`rollout`](super::rollout), and losses are fed back. The launch is cooperative, with a
//! block for each 32 states of each 16 rows of each member: blocks that share rows of a member are
//! neighbours, and so are the rows of a member. There are more than 32 states, and at least one
//! step; three times the product of steps and blocks is below 2^31. `exchanged` holds three times
//! `members x batch` rows of one element per state, rounded up to a multiple of four; `arrived`
//! holds a zero for each 16 rows of each member, and after those one for each 16 rows.

use core::{hint::assert_unchecked, ptr::null};

use core_types::params::recurrent::{Feedback, GruParams, GruVariant, RolloutParams};

use super::{
    head::{Form, of_lane},
    rollout::mean,
    rows::{ROWS as OF_THREAD, Sums, add},
    view::View,
};
use crate::{
    dev::{
        grid::GridBarrier,
        idx,
        memory::{
            cp_async::{commit, cp16_zfill, wait_group},
            smem::{SharedAddr, SharedSlice},
        },
        numeric::{
            functions::{sigmoid, tanh},
            math::fma,
        },
        sync::block_sync,
        unroll::unroll,
    },
    linalg::real::{Bf16, F16, Real},
};

/// Rows of a block.
const ROWS: u32 = 16;
/// Threads of a block.
const THREADS: u32 = 256;
/// Warps of a block; each reads losses from some rows.
const WARPS: u32 = THREADS / 32;
/// States of a block: a thread of the first warps sums one of them for four rows.
const STATES: u32 = 32;
/// The warps that sum.
const WORKERS: u32 = ROWS / OF_THREAD;
/// Columns of weights: three gates for each state.
const COLUMNS: u32 = 3 * STATES;
/// Most shared memory of a block: devices of capability 8.0 and 9.0 have it.
const MOST_BYTES: u32 = 160 << 10;

/// The part of a member's work that is a block's.
#[derive(Clone, Copy)]
struct Part {
    member: u64,
    /// The first of its rows.
    first: u64,
    /// How many of its rows there are.
    live: u32,
    hidden: u32,
    /// Which states it has, and how many blocks share its rows.
    slice: u32,
    slices: u32,
    /// Which 16 rows of the batch it has, and how many such there are.
    group: u32,
    groups: u32,
    /// Floats from one row of states to the next, in shared and in global memory.
    pitch: u32,
}

impl Part {
    #[inline(always)]
    unsafe fn new(p: &GruParams) -> Self {
        let hidden = p.hidden as u32;
        assert_unchecked(hidden > STATES && hidden < MOST_BYTES / 4);
        let (slices, groups) = (hidden.div_ceil(STATES), p.batch.div_ceil(u64::from(ROWS)) as u32);
        assert_unchecked(slices != 0);
        assert_unchecked(groups != 0);
        let (slice, rest) = (idx::bid_x() % slices, idx::bid_x() / slices);
        let (group, member) = (rest % groups, u64::from(rest / groups));
        let first = u64::from(group) * u64::from(ROWS);
        let live = (p.batch - first).min(u64::from(ROWS)) as u32;
        Self { member, first, live, hidden, slice, slices, group, groups, pitch: hidden.next_multiple_of(4) }
    }

    /// The weights, a row of all gates' columns for each state.
    #[inline(always)]
    unsafe fn weights(&self) -> SharedSlice<f32> {
        SharedSlice::at(SharedAddr::dynamic())
    }

    /// Row `row` of the states, or of the reset states.
    #[inline(always)]
    unsafe fn row(&self, reset: bool, row: u32) -> SharedSlice<f32> {
        let rows = if reset { ROWS + row } else { row };
        SharedSlice::at(SharedAddr::dynamic().offset(4 * (COLUMNS * self.hidden + rows * self.pitch)))
    }

    /// The first feature of each row.
    #[inline(always)]
    unsafe fn fed(&self) -> SharedSlice<f32> {
        self.row(true, ROWS)
    }

    /// The sum of each row's entropies.
    #[inline(always)]
    unsafe fn entropies(&self) -> SharedSlice<f32> {
        SharedSlice::at(self.fed().addr(ROWS))
    }

    /// Loads the weights of the block's states and the states of its rows into shared memory.
    ///
    /// It has no barrier.
    #[inline(always)]
    unsafe fn begin<T: Real>(&self, u: *const T, h0: *const f32, column: u32) {
        let mut k = idx::warp();
        while k < self.hidden {
            unroll!(GATE in 0..3 => {
                let weight = (*u.add(((3 * k + GATE) * self.hidden + column) as usize)).widen();
                self.weights().set(k * COLUMNS + GATE * STATES + idx::lane(), weight);
            });
            k += WARPS;
        }
        let mut row = idx::warp();
        while row < ROWS {
            for column in of_lane(self.pitch) {
                let given = row < self.live && column < self.hidden;
                let state = if given { *h0.add((row * self.hidden + column) as usize) } else { 0.0 };
                self.row(false, row).set(column, state);
                self.row(true, row).set(column, 0.0);
            }
            row += WARPS;
        }
    }

    /// Takes the block's rows from global memory.
    #[inline(always)]
    unsafe fn take(&self, from: *const f32, reset: bool) {
        let mut row = idx::warp();
        while row < self.live {
            let (into, from) = (self.row(reset, row), from.add((row * self.pitch) as usize));
            for four in of_lane(self.pitch / 4) {
                let bytes = 4 * (self.hidden - 4 * four).min(4);
                cp16_zfill(into.addr(4 * four), from.add(4 * four as usize), bytes);
            }
            row += WARPS;
        }
        commit();
        wait_group::<0>();
        block_sync();
    }
}

/// A thread's data of one state in its rows.
#[derive(Clone, Copy)]
struct Column {
    /// Its place among the member's states.
    column: u32,
    exists: bool,
    /// The first of the thread's rows.
    row: u32,
    /// The contribution of the biases and the features that stay to each gate.
    given: [Sums; 3],
    /// The weights of the feature that is fed back.
    fed: [f32; 3],
    /// The bias of the candidate's U.
    reset: f32,
}

impl Column {
    /// `x` is the block's first row.
    #[inline(always)]
    unsafe fn new<T: Real>(part: &Part, p: &GruParams, [w, b, bu]: [*const T; 3], x: *const f32) -> Self {
        let own = part.slice * STATES + idx::lane();
        let (column, row) = (own.min(part.hidden - 1), OF_THREAD * (idx::warp() % WORKERS));
        let (mut given, mut fed) = ([[0.0; OF_THREAD as usize]; 3], [0.0; 3]);
        unroll!(GATE in 0..3 => {
            let at = (GATE * part.hidden + column) as usize;
            given[GATE as usize] = [(*b.add(at)).widen(); OF_THREAD as usize];
            fed[GATE as usize] = (*w.add(at)).widen();
        });
        let input = p.input as u32;
        let mut feature = 1;
        while feature < input {
            let weights = w.add((3 * feature * part.hidden + column) as usize);
            unroll!(ROW in 0..4 => {
                let there = row + ROW < part.live;
                let value = if there { *x.add(((row + ROW) * input + feature) as usize) } else { 0.0 };
                unroll!(GATE in 0..3 => {
                    let weight = (*weights.add((GATE * part.hidden) as usize)).widen();
                    let sum = &mut given[GATE as usize][ROW as usize];
                    *sum = fma(value, weight, *sum);
                });
            });
            feature += 1;
        }
        let reset = if bu.is_null() { 0.0 } else { (*bu.add(column as usize)).widen() };
        Self { column, exists: own < part.hidden, row, given, fed, reset }
    }

    /// The inputs' contribution to a gate.
    #[inline(always)]
    unsafe fn inputs<const GATE: usize>(&self, part: &Part) -> Sums {
        let mut sums = self.given[GATE];
        unroll!(ROW in 0..4 => {
            sums[ROW as usize] = fma(part.fed().get(self.row + ROW), self.fed[GATE], sums[ROW as usize]);
        });
        sums
    }

    /// Adds the products of the states, or of the reset states, with the weights of gate `gate`.
    ///
    /// With `PAIR`, does the same for the gate after it.
    #[inline(always)]
    unsafe fn add<const PAIR: bool>(&self, part: &Part, reset: bool, gate: u32, first: &mut Sums, second: &mut Sums) {
        let weights: *const f32 = part.weights().ptr(gate * STATES + idx::lane());
        let pitches = [COLUMNS as usize, STATES as usize];
        add::<PAIR, f32>(part.row(reset, self.row), part.pitch, part.hidden, weights, pitches, first, second);
    }

    /// The states before the step.
    #[inline(always)]
    unsafe fn before(&self, part: &Part, row: u32) -> f32 {
        part.row(false, self.row + row).get(self.column)
    }

    /// Gives a row's value to the member's other blocks.
    #[inline(always)]
    unsafe fn give(&self, part: &Part, row: u32, into: *mut f32, value: f32) {
        if self.exists && self.row + row < part.live {
            *into.add(((self.row + row) * part.pitch + self.column) as usize) = value;
        }
    }
}

/// All steps.
#[inline(always)]
unsafe fn rssm_resident<T: Real>(
    p: RolloutParams,
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
    exchanged: *mut f32,
    arrived: *mut u32,
) {
    let part = Part::new(&p.gru);
    let (member, hidden) = (part.member, p.gru.hidden);
    let after = matches!(p.gru.variant, GruVariant::ResetAfter);
    let of = |all: *const T, len: u64| all.add((member * len) as usize);
    let layer = [of(w, 3 * p.gru.input * hidden), of(b, 3 * hidden), if after { of(bu, hidden) } else { null() }];
    let x = x.add((p.gru.input_row(member, 0, part.first) * p.gru.input) as usize);
    let rows = p.gru.members * p.gru.batch;
    let of_block = member * p.gru.batch + part.first;
    let plane = |index: u64| exchanged.add(((index * rows + of_block) * u64::from(part.pitch)) as usize);
    let (fed, sums) = (part.fed(), part.entropies());
    let state = Column::new(&part, &p.gru, layer, x);
    part.begin(of(u, 3 * hidden * hidden), h0.add((of_block * hidden) as usize), state.column);
    // The first block of those that share the rows writes what they all know.
    let writes = part.slice == 0;
    // The elements of a row among those that have `len` to a row.
    let at = |row: u32, len: u64| ((of_block + u64::from(row)) * len) as usize;
    if idx::tid_x() < ROWS {
        let row = idx::tid_x();
        let there = row < part.live;
        fed.set(row, if there { *x.add((u64::from(row) * p.gru.input) as usize) } else { 0.0 });
        sums.set(row, 0.0);
        if writes && there {
            *trajectory.add(at(row, p.gru.steps + 1)) = *losses.add(at(row, 1));
        }
    }
    let of_members = arrived.add((p.gru.members as u32 * part.groups + part.group) as usize);
    let mut blocks = GridBarrier::new(arrived.add((member as u32 * part.groups + part.group) as usize), part.slices);
    let mut members = GridBarrier::new(of_members, part.slices * p.gru.members as u32);
    let form = Form::new(hidden, p.stochastic, p.part);
    let view = View { gamma, beta, eps: p.eps, mask: p.mask };
    let (worker, none) = (idx::warp() < WORKERS, &mut [0.0; OF_THREAD as usize]);
    block_sync();
    let mut step = 0;
    loop {
        let (into, reset) = (plane(step % 2), plane(2));
        let mut update = [0.0; OF_THREAD as usize];
        if worker {
            let (mut z, mut r) = (state.inputs::<0>(&part), state.inputs::<1>(&part));
            state.add::<true>(&part, false, 0, &mut z, &mut r);
            if after {
                let mut sums = [state.reset; OF_THREAD as usize];
                state.add::<false>(&part, false, 2, &mut sums, none);
                let c = state.inputs::<2>(&part);
                unroll!(ROW in 0..4 => {
                    let (z, r, before) = (sigmoid(z[ROW as usize]), sigmoid(r[ROW as usize]), state.before(&part, ROW));
                    let c = tanh(fma(r, sums[ROW as usize], c[ROW as usize]));
                    state.give(&part, ROW, into, fma(z, c - before, before));
                });
            } else {
                unroll!(ROW in 0..4 => {
                    update[ROW as usize] = sigmoid(z[ROW as usize]);
                    state.give(&part, ROW, reset, sigmoid(r[ROW as usize]) * state.before(&part, ROW));
                });
            }
        }
        if !after {
            blocks.wait();
            part.take(reset, true);
            if worker {
                let mut c = state.inputs::<2>(&part);
                state.add::<false>(&part, true, 2, &mut c, none);
                unroll!(ROW in 0..4 => {
                    let before = state.before(&part, ROW);
                    state.give(&part, ROW, into, fma(update[ROW as usize], tanh(c[ROW as usize]) - before, before));
                });
            }
        }
        blocks.wait();
        part.take(into, false);
        let mut turn = 0;
        while turn < ROWS / WARPS {
            let row = turn * WARPS + idx::warp();
            let first = p.state_index(member, step, part.first + u64::from(row));
            let (h, there) = (part.row(false, row), row < part.live);
            let seen = if view.changes() { view.apply([h, part.row(true, row)], part.hidden, true, first) } else { h };
            let read = form.combine(|column| seen.get(column), head);
            if there && writes {
                if !states.is_null() {
                    let into = states.add(first as usize);
                    for column in of_lane(part.hidden) {
                        *into.add(column as usize) = seen.get(column);
                    }
                }
                if step + 1 == p.gru.steps {
                    let into = combined.add(at(row, hidden + p.stochastic));
                    form.write(|column| seen.get(column), &read, into);
                }
            }
            if idx::lane() == 0 {
                let loss = read.loss(p.head);
                fed.set(row, loss);
                sums.set(row, sums.get(row) + read.entropy);
                if there && writes {
                    *trajectory.add(at(row, p.gru.steps + 1) + step as usize + 1) = loss;
                }
            }
            turn += 1;
        }
        step += 1;
        if step == p.gru.steps {
            break;
        }
        if matches!(p.feedback, Feedback::EnsembleMean) {
            members.wait();
            if idx::tid_x() < part.live {
                fed.set(idx::tid_x(), mean(&p, trajectory, part.first + u64::from(idx::tid_x()), step));
            }
        }
        block_sync();
    }
    if writes {
        let mut row = idx::warp();
        while row < part.live {
            if idx::lane() == 0 {
                *entropy.add(at(row, 1)) = sums.get(row);
            }
            let into = h_t.add(at(row, hidden));
            for column in of_lane(part.hidden) {
                *into.add(column as usize) = part.row(false, row).get(column);
            }
            row += WARPS;
        }
    }
}

macro_rules! of_type {
    ($name:ident, $type:ty) => {
        #[doc = "[`rssm_resident`] with weights of one type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: RolloutParams,
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
            exchanged: *mut f32,
            arrived: *mut u32,
        ) {
            rssm_resident(
                p, w, u, b, bu, head, gamma, beta, x, h0, losses, trajectory, h_t, combined, entropy, states,
                exchanged, arrived,
            );
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MOST_BYTES), barriers 11; }
    };
}

of_type!(recurrent_rssm_resident_f32, f32);
of_type!(recurrent_rssm_resident_f16, F16);
of_type!(recurrent_rssm_resident_bf16, Bf16);
