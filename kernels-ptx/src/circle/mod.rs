//! Kernels of the circle op set.
//!
//! A transform is one launch over contiguous tiles, which run the lowest layers, and none to two launches over strips of
//! rows, which run the others; in between nothing is transposed. A thread holds sixteen words and runs four layers on them
//! (`round`); between such rounds the words of a block change places in shared memory.

mod inverse;
mod point;
mod round;
mod small;
mod strip;
mod tile;
mod twiddles;

use self::{
    inverse::{circle_inverse_m31, circle_inverse_qm31},
    point::{circle_point_ranges, circle_point_sums},
    small::{circle_small_evaluate, circle_small_interpolate},
    strip::{
        circle_strip_evaluate, circle_strip_interpolate, circle_strip_lde, circle_wide_strip_evaluate,
        circle_wide_strip_interpolate, circle_wide_strip_lde,
    },
    tile::{circle_tile_evaluate, circle_tile_extend, circle_tile_interpolate},
    twiddles::circle_twiddles,
};
use crate::table::Shared;

kernel_table! {
    circle_twiddles: block [256, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    circle_small_interpolate: block [256, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    circle_small_evaluate: block [256, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    circle_tile_interpolate: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(tile::SHARED_BYTES), barriers 3;
    circle_tile_evaluate: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(tile::SHARED_BYTES), barriers 3;
    circle_tile_extend: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(tile::SHARED_BYTES), barriers 3;
    circle_strip_interpolate: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(strip::SHARED_BYTES), barriers 1;
    circle_strip_evaluate: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(strip::SHARED_BYTES), barriers 1;
    circle_wide_strip_interpolate: block [512, 1, 1], min_blocks 1, shared Shared::Bytes(strip::WIDE_SHARED_BYTES), barriers 1;
    circle_wide_strip_evaluate: block [512, 1, 1], min_blocks 1, shared Shared::Bytes(strip::WIDE_SHARED_BYTES), barriers 1;
    circle_strip_lde: block [256, 1, 1], min_blocks 3, shared Shared::Bytes(strip::SHARED_BYTES), barriers 3;
    circle_wide_strip_lde: block [512, 1, 1], min_blocks 1, shared Shared::Bytes(strip::WIDE_SHARED_BYTES), barriers 3;
    circle_point_ranges: block [256, 1, 1], min_blocks 4, shared Shared::Bytes(point::SHARED_BYTES), barriers 3;
    circle_point_sums: block [256, 1, 1], min_blocks 4, shared Shared::Bytes(point::SUM_BYTES), barriers 1;
    circle_inverse_m31: block [256, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    circle_inverse_qm31: block [256, 1, 1], min_blocks 2, shared Shared::None, barriers 0;
}
