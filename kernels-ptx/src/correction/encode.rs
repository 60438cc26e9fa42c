//! Codes of trainings in one launch.
//!
//! A block makes the features of four trainings at a time in shared memory, one training per warp.
//! It then computes their products with 128 columns of the weights, one column per thread, whose
//! column lies in shared memory too.
//!
//! # Safety
//! The records hold `p.batch` trainings; `weights` are 64 rows of `p.outputs`, `bias` one, `codes`
//! `p.batch`; `features` is null or holds `p.batch` rows of 64. Neither batch nor outputs are zero.
//! Grid: any x one for each 128 outputs; block: 128.

use core_types::params::correction::{EncodeParams, FEATURES};

use super::features::{Records, WARPS};
use crate::dev::{
    idx,
    memory::{
        gmem::F4,
        smem::{Layout, Region},
    },
    numeric::math::fma,
    sync::block_sync,
    unroll::unroll,
};

/// Threads of a block, and columns that it takes.
const THREADS: u32 = 32 * WARPS;
const WIDTH: u32 = FEATURES as u32;
/// The features of four trainings: feature k of all four stands in one place.
const TILE: Region<F4> = Layout::new().array(WIDTH);
/// The columns of the weights, row by row. Each thread reads only elements that it wrote.
const WEIGHTS: Region<f32> = TILE.end().array(WIDTH * THREADS);

/// All codes.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_encode(
    p: EncodeParams,
    losses: *const f32,
    norms: *const f32,
    scalars: *const f32,
    recorded: *const u64,
    weights: *const f32,
    bias: *const f32,
    features: *mut f32,
    codes: *mut f32,
) {
    let records = Records { losses, norms, scalars, recorded };
    let tile = TILE.slice();
    let elements = tile.ptr(0).cast::<f32>();
    let column = u64::from(idx::bid_y() * THREADS + idx::tid_x());
    let exists = column < p.outputs;
    let column = column.min(p.outputs - 1);
    let bias = *bias.add(column as usize);
    let own = WEIGHTS.slice();
    let mut k = 0;
    while k < WIDTH {
        own.set(k * THREADS + idx::tid_x(), *weights.add((u64::from(k) * p.outputs + column) as usize));
        k += 1;
    }
    let mut first = u64::from(idx::bid_x() * WARPS);
    while first < p.batch {
        let training = (first + u64::from(idx::warp())).min(p.batch - 1);
        records.features(training, |i, value| *elements.add((4 * i + idx::warp()) as usize) = value);
        block_sync();
        let mut sums = [bias; WARPS as usize];
        let mut k = 0;
        while k < WIDTH {
            let (F4(values), weight) = (tile.get(k), own.get(k * THREADS + idx::tid_x()));
            unroll!(ROW in 0..4 => {
                sums[ROW as usize] = fma(values[ROW as usize], weight, sums[ROW as usize]);
            });
            k += 1;
        }
        unroll!(ROW in 0..4 => {
            let row = first + ROW as u64;
            if row < p.batch {
                if exists {
                    let sum = sums[ROW as usize];
                    *codes.add((row * p.outputs + column) as usize) = if sum < 0.0 { 0.0 } else { sum };
                }
                if !features.is_null() && idx::bid_y() == 0 && idx::tid_x() < WIDTH {
                    *features.add((row * FEATURES) as usize + idx::tid_x() as usize) =
                        *elements.add((4 * idx::tid_x() + ROW) as usize);
                }
            }
        });
        block_sync();
        first += u64::from(idx::gdim_x() * WARPS);
    }
}

kernel_table! {
    correction_encode: block [THREADS, 1, 1], min_blocks 4, shared Bytes(WEIGHTS.end().bytes()), barriers 2;
}
