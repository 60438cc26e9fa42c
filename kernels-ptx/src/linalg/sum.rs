//! Sums over an axis, in f64, in an order that depends on the shape alone.
//!
//! Long axes are cut into parts (`blockIdx.y`), whose sums a second kernel adds in order.
//!
//! # Safety
//! `x` holds `outer x len x inner` elements and y `outer x inner`; `inner` is not zero. `parts` is
//! null, and there is one part, or holds `outer x inner` doubles for each part.

use core_types::params::elementwise::SumParams;

use super::{
    group::{self, Block, Chunk, Group, Row, Span, Streamed, Warp, all_aligned4},
    index::divide,
    real::{Bf16, F16, Real},
};
use crate::dev::{
    idx,
    memory::smem::{Layout, Region},
    sync::block_sync,
};

/// Columns of a block that sums columns.
pub const COLUMNS: u32 = 32;
/// Rows that such a block takes at a time.
const GROUPS: u32 = 8;
/// Threads of such a block, and of one that adds parts.
pub const THREADS: u32 = COLUMNS * GROUPS;

const SUMS: Region<f64> = Layout::new().array(THREADS);
/// Shared memory of a block that sums columns.
pub const COLUMN_BYTES: u32 = SUMS.end().bytes();

/// Writes the sum of output `i`, of the part that this block works on.
#[inline(always)]
unsafe fn finish<T: Real>(p: &SumParams, i: u64, sum: f64, y: *mut T, parts: *mut f64) {
    if parts.is_null() {
        let before = if p.accumulate == 0 { 0.0 } else { (*y.add(i as usize)).widen() };
        *y.add(i as usize) = T::narrow((f64::from(before) + sum) as f32);
    } else {
        *parts.add((u64::from(idx::bid_y()) * p.outer * p.inner + i) as usize) = sum;
    }
}

/// Sums of contiguous rows (`inner = 1`), a group to a row; parts have `part_len` elements.
#[inline(always)]
unsafe fn rows<G: Group, T: Real>(p: &SumParams, part_len: u32, x: *const T, y: *mut T, parts: *mut f64) {
    let first = u64::from(idx::bid_y()) * u64::from(part_len);
    let len = (p.len - first).min(u64::from(part_len)) as u32;
    let aligned = all_aligned4([x]) && p.len % 4 == 0 && part_len % 4 == 0;
    let span = Span::new::<G>(len, aligned);
    for (row, live) in group::rows::<G>(p.outer) {
        let x = x.add((row * p.len + first) as usize);
        let mut sum = 0.0;
        Streamed { span, fetch: |chunk: Chunk| chunk.load(x) }
            .each(|_, [a, b, c, d]| sum = sum + f64::from(a) + f64::from(b) + f64::from(c) + f64::from(d));
        let sum = G::sum_f64::<0>(sum);
        if live && G::rank() == 0 {
            finish(p, row, sum, y, parts);
        }
    }
}

/// Sums of columns: a block takes 32 neighbouring columns of one outer index.
///
/// `pitch` elements lie between rows.
#[inline(always)]
unsafe fn columns<T: Real, Y: Real>(p: &SumParams, part_len: u32, pitch: u64, x: *const T, y: *mut Y, parts: *mut f64) {
    let (strip, outer) = divide(idx::bid_x(), p.inner.div_ceil(u64::from(COLUMNS)) as u32);
    let (lane, group) = (idx::tid_x() % COLUMNS, idx::tid_x() / COLUMNS);
    let column = u64::from(strip) * u64::from(COLUMNS) + u64::from(lane);
    let first = u64::from(idx::bid_y()) * u64::from(part_len);
    let len = (p.len - first).min(u64::from(part_len)) as u32;
    let x = x.add(((u64::from(outer) * p.len + first) * pitch + column) as usize);
    let mut sum = 0.0;
    let mut c = group;
    while column < p.inner && c < len {
        sum += f64::from((*x.add((u64::from(c) * pitch) as usize)).widen());
        c += GROUPS;
    }
    let sums = SUMS.slice();
    sums.set(idx::tid_x(), sum);
    block_sync();
    if group == 0 && column < p.inner {
        let mut total = 0.0;
        let mut i = lane;
        while i < THREADS {
            total += sums.get(i);
            i += COLUMNS;
        }
        finish(p, u64::from(outer) * p.inner + column, total, y, parts);
    }
}

/// The sum of `count` parts, a thread to an output.
#[inline(always)]
unsafe fn join<T: Real>(p: &SumParams, count: u32, parts: *const f64, y: *mut T) {
    let outputs = p.outer * p.inner;
    for i in idx::grid_stride(outputs) {
        let (mut total, mut part) = (0.0, 0);
        while part < count {
            total += *parts.add((u64::from(part) * outputs + i) as usize);
            part += 1;
        }
        finish(p, i, total, y, core::ptr::null_mut());
    }
}

macro_rules! entries {
    ($type:ty: $warp:ident, $block:ident, $join:ident) => {
        entries!(@rows $type: $warp, Warp);
        entries!(@rows $type: $block, Block);

        #[doc = "[`join`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $join(p: SumParams, count: u32, parts: *const f64, y: *mut $type) {
            join(&p, count, parts, y);
        }

        kernel_table! {
            $warp: block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
            $block: block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 1;
            $join: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
        }
    };
    (@rows $type:ty: $name:ident, $group:ty) => {
        #[doc = "[`rows`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: SumParams,
            part_len: u32,
            x: *const $type,
            y: *mut $type,
            parts: *mut f64,
        ) {
            rows::<$group, $type>(&p, part_len, x, y, parts);
        }
    };
}

macro_rules! column_entries {
    ($($name:ident = $x:ty, $y:ty;)*) => {$(
        #[doc = "[`columns`] of one pair of element types."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: SumParams,
            part_len: u32,
            pitch: u64,
            x: *const $x,
            y: *mut $y,
            parts: *mut f64,
        ) {
            columns(&p, part_len, pitch, x, y, parts);
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 4, shared Bytes(COLUMN_BYTES), barriers 1; }
    )*};
}

entries!(f32: linalg_sum_rows_warp_f32, linalg_sum_rows_block_f32, linalg_sum_join_f32);
entries!(F16: linalg_sum_rows_warp_f16, linalg_sum_rows_block_f16, linalg_sum_join_f16);
entries!(Bf16: linalg_sum_rows_warp_bf16, linalg_sum_rows_block_bf16, linalg_sum_join_bf16);
column_entries! {
    linalg_sum_columns_f32 = f32, f32;
    linalg_sum_columns_f16 = F16, F16;
    linalg_sum_columns_bf16 = Bf16, Bf16;
    linalg_sum_columns_f32_f16 = f32, F16;
    linalg_sum_columns_f32_bf16 = f32, Bf16;
}
