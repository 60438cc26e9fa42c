//! Gated recurrent units backward through time, all steps in one launch.
//!
//! The blocks are those in [`forward`](super::forward). Each step reads the weights of the states
//! once for each block, from the second-level cache, as a matrix that another kernel has turned, so
//! that neighbours read neighbours.
//!
//! # Safety
//! As for [`rows`](super::rows). The views have the lengths that `GruBackward::check` states; the
//! optional ones may be null.

use core_types::params::recurrent::{GruParams, GruVariant};

use super::rows::{MOST_BYTES, ROWS, Rows, THREADS, add};
use crate::dev::{
    idx,
    memory::smem::{Layout, Region},
    numeric::math::fma,
    sync::block_sync,
    unroll::unroll,
};

/// Rows and columns of a tile that is turned.
const SIDE: u32 = 32;
/// Rows of a tile that a block moves at a time.
const AT_ONCE: u32 = THREADS / SIDE;
/// A tile, each row in banks one further than the row before.
const TILE: Region<f32> = Layout::new().array(SIDE * (SIDE + 1));

/// The transposes of the members' `hidden x 3 hidden` matrices.
///
/// A block transposes a tile, with tiles along x and y and members along z.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn recurrent_turn(hidden: u32, u: *const f32, turned: *mut f32) {
    let columns = 3 * hidden;
    let member = idx::bid_z() as usize * hidden as usize * columns as usize;
    let (x, y) = (idx::tid_x() % SIDE, idx::tid_x() / SIDE);
    let (first_row, first_column) = (idx::bid_y() * SIDE, idx::bid_x() * SIDE);
    let tile = TILE.slice();
    unroll!(PART in 0..4 => {
        let (row, column) = (first_row + y + PART * AT_ONCE, first_column + x);
        if row < hidden && column < columns {
            let value = *u.add(member + row as usize * columns as usize + column as usize);
            tile.set((y + PART * AT_ONCE) * (SIDE + 1) + x, value);
        }
    });
    block_sync();
    unroll!(PART in 0..4 => {
        let (row, column) = (first_row + x, first_column + y + PART * AT_ONCE);
        if row < hidden && column < columns {
            let value = tile.get(x * (SIDE + 1) + y + PART * AT_ONCE);
            *turned.add(member + column as usize * hidden as usize + row as usize) = value;
        }
    });
}

/// The whole pass.
///
/// `turned` are the transposes of U; the gradients of the states stand where those before the first
/// step are to be, each touched by one thread.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn recurrent_gru_backward(
    p: GruParams,
    turned: *const f32,
    saved: *const f32,
    d_states: *const f32,
    d_h_t: *const f32,
    d_gates: *mut f32,
    d_h0: *mut f32,
) {
    let rows = Rows::new(&p);
    let (hidden, after) = (rows.hidden, matches!(p.variant, GruVariant::ResetAfter));
    let pitches = [hidden as usize, 0];
    let gate = hidden as usize * hidden as usize;
    let turned = turned.add(rows.member as usize * 3 * gate);
    let state = rows.state(&p);
    let dh = d_h0.add(state);
    let plane = (p.members * p.steps * p.batch * p.hidden) as usize;
    // The gradients of the sums of z and r, and of the candidate's product with U.
    let (of_z, of_r, of_c) = (rows.matrix(0), rows.matrix(1), rows.matrix(2));
    for (column, exists) in rows.columns() {
        unroll!(ROW in 0..4 => {
            if exists && ROW < rows.live {
                let at = (ROW * hidden + column) as usize;
                *dh.add(at) = if d_h_t.is_null() { 0.0 } else { *d_h_t.add(state + at) };
            }
        });
    }
    let mut left = p.steps;
    while left > 0 {
        left -= 1;
        let at = (((rows.member * p.steps + left) * p.batch + rows.first) * p.hidden) as usize;
        let (saved, d_gates) = (saved.add(at), d_gates.add(3 * at));
        for (column, exists) in rows.columns() {
            unroll!(ROW in 0..4 => {
                let place = ROW * rows.stride + column;
                if exists && ROW < rows.live {
                    let from = (ROW * hidden + column) as usize;
                    let of = |matrix: usize| *saved.add(matrix * plane + from);
                    let (z, r, c, h) = (of(0), of(1), of(2), of(3));
                    let mut d = *dh.add(from);
                    if !d_states.is_null() {
                        d += *d_states.add(at + from);
                    }
                    let d_c = d * z * fma(-c, c, 1.0);
                    let d_z = d * (c - h) * fma(-z, z, z);
                    *dh.add(from) = fma(-d, z, d);
                    let into = d_gates.add((3 * ROW * hidden + column) as usize);
                    *into = d_z;
                    *into.add(2 * hidden as usize) = d_c;
                    of_z.set(place, d_z);
                    if after {
                        let d_r = d_c * of(4) * fma(-r, r, r);
                        *into.add(hidden as usize) = d_r;
                        of_r.set(place, d_r);
                        of_c.set(place, d_c * r);
                    } else {
                        of_c.set(place, d_c);
                    }
                } else if exists {
                    of_z.set(place, 0.0);
                    of_r.set(place, 0.0);
                    of_c.set(place, 0.0);
                }
            });
        }
        block_sync();
        for (column, exists) in rows.columns() {
            let mut sums = [0.0; ROWS as usize];
            let weights = turned.add(2 * gate + column as usize);
            add::<false, f32>(of_c, rows.stride, hidden, weights, pitches, &mut sums, &mut [0.0; ROWS as usize]);
            unroll!(ROW in 0..4 => {
                if exists && ROW < rows.live {
                    let from = (ROW * hidden + column) as usize;
                    let d = sums[ROW as usize];
                    if after {
                        *dh.add(from) += d;
                    } else {
                        let (r, h) = (*saved.add(plane + from), *saved.add(3 * plane + from));
                        *dh.add(from) = fma(d, r, *dh.add(from));
                        let d_r = d * h * fma(-r, r, r);
                        *d_gates.add(((3 * ROW + 1) * hidden + column) as usize) = d_r;
                        of_r.set(ROW * rows.stride + column, d_r);
                    }
                }
            });
        }
        block_sync();
        for (column, exists) in rows.columns() {
            let (mut sums, none) = ([0.0; ROWS as usize], &mut [0.0; ROWS as usize]);
            add::<false, f32>(of_z, rows.stride, hidden, turned.add(column as usize), pitches, &mut sums, none);
            add::<false, f32>(of_r, rows.stride, hidden, turned.add(gate + column as usize), pitches, &mut sums, none);
            unroll!(ROW in 0..4 => {
                if exists && ROW < rows.live {
                    *dh.add((ROW * hidden + column) as usize) += sums[ROW as usize];
                }
            });
        }
        block_sync();
    }
}

kernel_table! {
    recurrent_gru_backward: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MOST_BYTES), barriers 3;
    recurrent_turn: block [THREADS, 1, 1], min_blocks 4, shared Bytes(TILE.end().bytes()), barriers 1;
}
