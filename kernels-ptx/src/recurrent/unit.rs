//! Steps of a gated recurrent unit for the rows of a block.
//!
//! States lie in shared memory, weights come from the cache.
//!
//! # Safety
//! As for [`rows`](super::rows). Weights, inputs and states have the sizes given by the parameters;
//! only steps and inputs may be zero.

use core::ptr::null_mut;

use core_types::params::recurrent::{GruParams, GruVariant};

use super::rows::{ROWS, Rows, Sums, THREADS, add};
use crate::{
    dev::{
        idx,
        memory::smem::SharedSlice,
        numeric::{
            functions::{sigmoid, tanh},
            math::fma,
        },
        sync::block_sync,
        unroll::unroll,
    },
    linalg::real::Real,
};

/// Features of the inputs that a block holds at a time.
const TILE: u32 = THREADS / ROWS;
/// The destinations of a step: pointers to the block's first row, null for omitted outputs.
#[derive(Clone, Copy)]
pub struct Outputs {
    /// The new states.
    pub states: *mut f32,
    /// The first of the five matrices for the backward pass.
    pub saved: *mut f32,
    /// Elements from one of these matrices to the next.
    pub plane: u64,
}

impl Outputs {
    /// No outputs.
    pub const NONE: Self = Self { states: null_mut(), saved: null_mut(), plane: 0 };
}

/// The unit of a member, and the rows that a block works on.
#[derive(Clone, Copy)]
pub struct Unit<T> {
    pub rows: Rows,
    input: u32,
    after: bool,
    w: *const T,
    u: *const T,
    b: *const T,
    bu: *const T,
    /// The states.
    h: SharedSlice<f32>,
    /// The reset states, or the next states.
    other: SharedSlice<f32>,
    /// The update gates.
    z: SharedSlice<f32>,
    /// Some features of the inputs.
    tile: SharedSlice<f32>,
}

impl<T: Real> Unit<T> {
    /// The unit of this block's rows.
    #[inline(always)]
    pub unsafe fn new(p: &GruParams, w: *const T, u: *const T, b: *const T, bu: *const T) -> Self {
        let rows = Rows::new(p);
        let columns = 3 * p.hidden;
        let of = |all: *const T, len: u64| all.add((rows.member * len) as usize);
        let after = matches!(p.variant, GruVariant::ResetAfter);
        Self {
            rows,
            input: p.input as u32,
            after,
            w: of(w, p.input * columns),
            u: of(u, p.hidden * columns),
            b: of(b, columns),
            bu: if after { of(bu, p.hidden) } else { bu },
            h: rows.matrix(0),
            other: rows.matrix(1),
            z: rows.matrix(2),
            tile: rows.matrix(3),
        }
    }

    /// Reads the states of the block's rows from `h0`, or makes them zeros without.
    ///
    /// A barrier stands before the first step.
    #[inline(always)]
    pub unsafe fn begin(&self, h0: *const f32) {
        for (column, exists) in self.rows.columns() {
            unroll!(ROW in 0..4 => {
                let given = !h0.is_null() && ROW < self.rows.live;
                let value = if given { *h0.add((ROW * self.rows.hidden + column) as usize) } else { 0.0 };
                if exists {
                    self.h.set(ROW * self.rows.stride + column, value);
                }
            });
        }
    }

    /// Writes the states of the block's rows.
    #[inline(always)]
    pub unsafe fn end(&self, h_t: *mut f32) {
        for (column, exists) in self.rows.columns() {
            unroll!(ROW in 0..4 => {
                if exists && ROW < self.rows.live {
                    *h_t.add((ROW * self.rows.hidden + column) as usize) = self.h.get(ROW * self.rows.stride + column);
                }
            });
        }
    }

    /// Elements from one row of weights to the next, and from a gate to the next.
    #[inline(always)]
    fn pitches(&self) -> [usize; 2] {
        [3 * self.rows.hidden as usize, self.rows.hidden as usize]
    }

    /// Adds the products of the inputs from feature `skipped` on.
    ///
    /// `x` is the first of the block's rows.
    #[inline(always)]
    unsafe fn add_inputs<const PAIR: bool>(
        &self,
        x: *const f32,
        skipped: u32,
        column: u32,
        first: &mut Sums,
        second: &mut Sums,
    ) {
        let mut from = skipped;
        while from < self.input {
            let (row, feature) = (idx::tid_x() / TILE, from + idx::tid_x() % TILE);
            let exists = row < self.rows.live && feature < self.input;
            block_sync();
            self.tile.set(idx::tid_x(), if exists { *x.add((row * self.input + feature) as usize) } else { 0.0 });
            block_sync();
            let weights = self.w.add(from as usize * 3 * self.rows.hidden as usize + column as usize);
            add::<PAIR, T>(self.tile, TILE, (self.input - from).min(TILE), weights, self.pitches(), first, second);
            from += TILE;
        }
    }

    /// Projects the inputs `x` from feature `skipped` on, with biases, into `[rows, 3 hidden]`.
    ///
    /// A barrier stands before the first step.
    #[inline(always)]
    pub unsafe fn project(&self, x: *const f32, skipped: u32, into: *mut f32) {
        for (column, exists) in self.rows.columns() {
            let (mut z, mut r, mut c) = (self.biases(0, column), self.biases(1, column), self.biases(2, column));
            self.add_inputs::<true>(x, skipped, column, &mut z, &mut r);
            self.add_inputs::<false>(x, skipped, 2 * self.rows.hidden + column, &mut c, &mut [0.0; ROWS as usize]);
            unroll!(ROW in 0..4 => {
                if exists && ROW < self.rows.live {
                    let into = into.add((ROW * 3 * self.rows.hidden + column) as usize);
                    *into = z[ROW as usize];
                    *into.add(self.rows.hidden as usize) = r[ROW as usize];
                    *into.add(2 * self.rows.hidden as usize) = c[ROW as usize];
                }
            });
        }
    }

    #[inline(always)]
    unsafe fn biases(&self, gate: u32, column: u32) -> Sums {
        [(*self.b.add((gate * self.rows.hidden + column) as usize)).widen(); ROWS as usize]
    }

    /// The projected inputs of gate `gate`.
    #[inline(always)]
    unsafe fn projected(&self, from: *const f32, gate: u32, column: u32) -> Sums {
        let mut sums = [0.0; ROWS as usize];
        unroll!(ROW in 0..4 => {
            if ROW < self.rows.live {
                sums[ROW as usize] = *from.add(((3 * ROW + gate) * self.rows.hidden + column) as usize);
            }
        });
        sums
    }

    /// The same, with the first feature's part.
    #[inline(always)]
    unsafe fn fed(&self, from: *const f32, fed: SharedSlice<f32>, gate: u32, column: u32) -> Sums {
        let mut sums = self.projected(from, gate, column);
        let weight = (*self.w.add((gate * self.rows.hidden + column) as usize)).widen();
        unroll!(ROW in 0..4 => {
            sums[ROW as usize] = fma(fed.get(ROW), weight, sums[ROW as usize]);
        });
        sums
    }

    /// The state of row `row`.
    #[inline(always)]
    pub unsafe fn row(&self, row: u32) -> SharedSlice<f32> {
        SharedSlice::at(self.h.addr(row * self.rows.stride))
    }

    /// Room for another state of row `row`, until the next step.
    #[inline(always)]
    pub unsafe fn spare_row(&self, row: u32) -> SharedSlice<f32> {
        SharedSlice::at(self.z.addr(row * self.rows.stride))
    }

    /// Zeros for the spare rows: sums read those that stand for no row of the batch, too.
    ///
    /// A barrier stands before the first step.
    #[inline(always)]
    pub unsafe fn clear_spare(&self) {
        let mut at = idx::tid_x();
        while at < ROWS * self.rows.stride {
            self.z.set(at, 0.0);
            at += THREADS;
        }
    }

    /// Computes features of each row, from its row in `v` and the weights and biases.
    ///
    /// The weights and biases are for all members. `into` is the place of the first row's features.
    #[inline(always)]
    pub unsafe fn map(&self, v: SharedSlice<f32>, weights: *const f32, biases: *const f32, into: *mut f32) {
        let (mut feature, none) = (idx::tid_x(), &mut [0.0; ROWS as usize]);
        while feature < self.input {
            let mut sums = [*biases.add(feature as usize); ROWS as usize];
            let pitches = [self.input as usize, 0];
            add::<false, f32>(
                v,
                self.rows.stride,
                self.rows.hidden,
                weights.add(feature as usize),
                pitches,
                &mut sums,
                none,
            );
            unroll!(ROW in 0..4 => {
                if ROW < self.rows.live {
                    *into.add((ROW * self.input + feature) as usize) = sums[ROW as usize];
                }
            });
            feature += THREADS;
        }
    }

    /// Shared memory that nothing but inputs takes, an element for each thread.
    #[inline(always)]
    pub fn spare(&self) -> SharedSlice<f32> {
        self.tile
    }

    /// Steps the states, given the inputs' contribution to the gates.
    #[inline(always)]
    pub unsafe fn step(&mut self, inputs: Added, outputs: &Outputs) {
        if self.after {
            self.step_after(inputs, outputs);
            core::mem::swap(&mut self.h, &mut self.other);
        } else {
            self.step_before(inputs, outputs);
        }
        block_sync();
    }

    /// Saves an element of matrix `part`.
    #[inline(always)]
    unsafe fn save(&self, outputs: &Outputs, part: u64, row: u32, column: u32, value: f32) {
        if !outputs.saved.is_null() && row < self.rows.live {
            *outputs.saved.add((part * outputs.plane) as usize + (row * self.rows.hidden + column) as usize) = value;
        }
    }

    /// The new state of a column, written to the outputs that are not null.
    #[inline(always)]
    unsafe fn update(&self, outputs: &Outputs, row: u32, column: u32, [z, c, before]: [f32; 3]) -> f32 {
        let state = fma(z, c - before, before);
        self.save(outputs, 2, row, column, c);
        if !outputs.states.is_null() && row < self.rows.live {
            *outputs.states.add((row * self.rows.hidden + column) as usize) = state;
        }
        state
    }

    /// The sums of z and r.
    #[inline(always)]
    unsafe fn update_and_reset(&self, inputs: &Added, column: u32) -> (Sums, Sums) {
        let (mut z, mut r);
        match *inputs {
            Added::Inputs(x) => {
                (z, r) = (self.biases(0, column), self.biases(1, column));
                self.add_inputs::<true>(x, 0, column, &mut z, &mut r);
            }
            Added::Projected(from) => (z, r) = (self.projected(from, 0, column), self.projected(from, 1, column)),
            Added::Fed(from, fed) => (z, r) = (self.fed(from, fed, 0, column), self.fed(from, fed, 1, column)),
        }
        let u = self.u.add(column as usize);
        add::<true, T>(self.h, self.rows.stride, self.rows.hidden, u, self.pitches(), &mut z, &mut r);
        (z, r)
    }

    /// The inputs' contribution to the candidate.
    #[inline(always)]
    unsafe fn candidate(&self, inputs: &Added, column: u32) -> Sums {
        match *inputs {
            Added::Inputs(x) => {
                let mut c = self.biases(2, column);
                self.add_inputs::<false>(x, 0, 2 * self.rows.hidden + column, &mut c, &mut [0.0; ROWS as usize]);
                c
            }
            Added::Projected(from) => self.projected(from, 2, column),
            Added::Fed(from, fed) => self.fed(from, fed, 2, column),
        }
    }

    /// A step that resets the states before their product with U.
    #[inline(always)]
    unsafe fn step_before(&self, inputs: Added, outputs: &Outputs) {
        for (column, exists) in self.rows.columns() {
            let (z, r) = self.update_and_reset(&inputs, column);
            if exists {
                unroll!(ROW in 0..4 => {
                    let at = ROW * self.rows.stride + column;
                    let (z, r, before) = (sigmoid(z[ROW as usize]), sigmoid(r[ROW as usize]), self.h.get(at));
                    let reset = r * before;
                    self.z.set(at, z);
                    self.other.set(at, reset);
                    self.save(outputs, 0, ROW, column, z);
                    self.save(outputs, 1, ROW, column, r);
                    self.save(outputs, 3, ROW, column, before);
                    self.save(outputs, 4, ROW, column, reset);
                });
            }
        }
        block_sync();
        for (column, exists) in self.rows.columns() {
            let mut c = self.candidate(&inputs, column);
            self.add_candidate(self.other, column, &mut c);
            if exists {
                unroll!(ROW in 0..4 => {
                    let at = ROW * self.rows.stride + column;
                    let parts = [self.z.get(at), tanh(c[ROW as usize]), self.h.get(at)];
                    self.h.set(at, self.update(outputs, ROW, column, parts));
                });
            }
        }
    }

    /// A step that resets the states after their product with U.
    ///
    /// The new states are in `other` after it.
    #[inline(always)]
    unsafe fn step_after(&self, inputs: Added, outputs: &Outputs) {
        for (column, exists) in self.rows.columns() {
            let (z, r) = self.update_and_reset(&inputs, column);
            let mut reset = [(*self.bu.add(column as usize)).widen(); ROWS as usize];
            self.add_candidate(self.h, column, &mut reset);
            let c = self.candidate(&inputs, column);
            if exists {
                unroll!(ROW in 0..4 => {
                    let at = ROW * self.rows.stride + column;
                    let (z, r, before) = (sigmoid(z[ROW as usize]), sigmoid(r[ROW as usize]), self.h.get(at));
                    let reset = reset[ROW as usize];
                    self.save(outputs, 0, ROW, column, z);
                    self.save(outputs, 1, ROW, column, r);
                    self.save(outputs, 3, ROW, column, before);
                    self.save(outputs, 4, ROW, column, reset);
                    let parts = [z, tanh(fma(r, reset, c[ROW as usize])), before];
                    self.other.set(at, self.update(outputs, ROW, column, parts));
                });
            }
        }
    }

    /// Adds the product of the rows of `v` with a column of the candidate's U.
    #[inline(always)]
    unsafe fn add_candidate(&self, v: SharedSlice<f32>, column: u32, sums: &mut Sums) {
        let weights = self.u.add((2 * self.rows.hidden + column) as usize);
        let none = &mut [0.0; ROWS as usize];
        add::<false, T>(v, self.rows.stride, self.rows.hidden, weights, self.pitches(), sums, none);
    }
}

/// The contribution of the inputs to the gates of a step.
#[derive(Clone, Copy)]
pub enum Added {
    /// The inputs themselves, from the first of the block's rows on.
    Inputs(*const f32),
    /// What [`Unit::project`] made of them.
    Projected(*const f32),
    /// The same, and the first feature of each row.
    Fed(*const f32, SharedSlice<f32>),
}
