//! Four rows of a member, on one block.
//!
//! A thread has a column of states, and sums it for all rows, so that it uses each weight four
//! times.
//!
//! # Safety
//! All threads of the block call each function, in uniform control flow. The launch gives the block
//! room for three states of each row, and for an element of each thread after them; no member, row
//! or state is missing.

use core::hint::assert_unchecked;

use core_types::params::recurrent::GruParams;

use crate::{
    dev::{
        idx,
        memory::{
            gmem::F4,
            smem::{SharedAddr, SharedSlice},
        },
        numeric::math::fma,
        unroll::unroll,
    },
    linalg::real::Real,
};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Rows of a block.
pub const ROWS: u32 = 4;
/// Rows of weights that a thread loads ahead, while it uses the previous ones.
const AHEAD: u32 = 8;
/// Most shared memory of a block, which every device of capability 8.0 or more has.
pub const MOST_BYTES: u32 = 96 << 10;

/// A sum for each row.
pub type Sums = [f32; ROWS as usize];

/// The rows of a member that a block works on.
#[derive(Clone, Copy)]
pub struct Rows {
    pub member: u64,
    /// The first of its rows.
    pub first: u64,
    /// How many of its rows there are.
    pub live: u32,
    pub hidden: u32,
    /// Elements from one row of a state in shared memory to the next: rows are read in fours.
    pub stride: u32,
}

impl Rows {
    /// The rows of this block of a one-dimensional grid.
    ///
    /// The grid has a block for each four rows of each member. Blocks of a member are neighbours.
    #[inline(always)]
    pub unsafe fn new(p: &GruParams) -> Self {
        let groups = p.batch.div_ceil(u64::from(ROWS)) as u32;
        assert_unchecked(groups != 0);
        let (member, group) = (u64::from(idx::bid_x() / groups), u64::from(idx::bid_x() % groups));
        let first = group * u64::from(ROWS);
        let hidden = p.hidden as u32;
        let live = (p.batch - first).min(u64::from(ROWS)) as u32;
        Self { member, first, live, hidden, stride: hidden.next_multiple_of(4) }
    }

    /// Matrix `index` of states of the rows, of three in shared memory, or what lies behind them.
    #[inline(always)]
    pub unsafe fn matrix(&self, index: u32) -> SharedSlice<f32> {
        SharedSlice::at(SharedAddr::dynamic().offset(4 * ROWS * self.stride * index))
    }

    /// Where the states of the block's rows begin in `[members, batch, hidden]`.
    #[inline(always)]
    pub fn state(&self, p: &GruParams) -> usize {
        ((self.member * p.batch + self.first) * p.hidden) as usize
    }

    /// The columns of this thread: the place of each, and whether it exists.
    ///
    /// All threads get equally many, so that they meet at barriers; a column that does not exist
    /// repeats the last.
    #[inline(always)]
    pub fn columns(&self) -> impl Iterator<Item = (u32, bool)> {
        let hidden = self.hidden;
        let mut next = 0;
        core::iter::from_fn(move || {
            let column = next + idx::tid_x();
            let more = next < hidden;
            next += THREADS;
            more.then_some((column.min(hidden - 1), column < hidden))
        })
    }
}

/// Adds to `first` the products of rows of `v` with a column of weights.
///
/// Rows are `stride` apart, elements of the column `pitch` apart. If there is a `PAIR` of columns,
/// the products with the column `gate` further are added to `second`.
#[inline(always)]
pub unsafe fn add<const PAIR: bool, T: Real>(
    v: SharedSlice<f32>,
    stride: u32,
    len: u32,
    column: *const T,
    [pitch, gate]: [usize; 2],
    first: &mut Sums,
    second: &mut Sums,
) {
    let whole = len / AHEAD * AHEAD;
    let (mut next, mut paired) = ([0.0; AHEAD as usize], [0.0; AHEAD as usize]);
    let mut from = column;
    if whole > 0 {
        unroll!(K in 0..8 => {
            next[K as usize] = (*from.add(K as usize * pitch)).widen();
            if PAIR {
                paired[K as usize] = (*from.add(K as usize * pitch + gate)).widen();
            }
        });
    }
    let mut k = 0;
    while k < whole {
        let (weights, others) = (next, paired);
        from = from.add(AHEAD as usize * pitch);
        if k + AHEAD < whole {
            unroll!(K in 0..8 => {
                next[K as usize] = (*from.add(K as usize * pitch)).widen();
                if PAIR {
                    paired[K as usize] = (*from.add(K as usize * pitch + gate)).widen();
                }
            });
        }
        unroll!(ROW in 0..4 => {
            let row = v.ptr(ROW * stride + k).cast::<F4>();
            let (F4([a, b, c, d]), F4([e, f, g, h])) = (*row, *row.add(1));
            let values = [a, b, c, d, e, f, g, h];
            unroll!(K in 0..8 => {
                first[ROW as usize] = fma(values[K as usize], weights[K as usize], first[ROW as usize]);
                if PAIR {
                    second[ROW as usize] = fma(values[K as usize], others[K as usize], second[ROW as usize]);
                }
            });
        });
        k += AHEAD;
    }
    while k < len {
        let weight = (*from).widen();
        let other = if PAIR { (*from.add(gate)).widen() } else { 0.0 };
        unroll!(ROW in 0..4 => {
            let value = v.get(ROW * stride + k);
            first[ROW as usize] = fma(value, weight, first[ROW as usize]);
            if PAIR {
                second[ROW as usize] = fma(value, other, second[ROW as usize]);
            }
        });
        from = from.add(pitch);
        k += 1;
    }
}
