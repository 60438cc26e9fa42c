//! Maximum, minimum and argmax along an axis in one pass, and the last step of means.
//!
//! Each element becomes a word, and words are ordered like the elements. Long axes are cut into
//! parts (`blockIdx.y`).
//!
//! # Safety
//! `x` holds `outer x len x inner` elements, `keys` or `sums` a word for each part and each of
//! `outer x inner` outputs, y the outputs; no axis is empty, and parts have `part_len` elements of
//! the axis, the last the rest.

use crate::{
    dev::{
        idx,
        memory::smem::{Layout, Region},
        sync::block_sync,
    },
    linalg::{
        group::{self, Block, Group, Warp},
        index::{THREADS, divide},
        real::{Bf16, F16, Real},
    },
};

/// Columns of a block that takes columns.
pub const COLUMNS: u32 = 32;
/// Rows that such a block takes at a time.
const GROUPS: u32 = 8;

const KEYS: Region<u64> = Layout::new().array(COLUMNS * GROUPS);
/// Shared memory of a block that takes columns.
pub const COLUMN_BYTES: u32 = KEYS.end().bytes();

/// The kinds of extremes other than the greatest element.
const LEAST: u32 = 1;
const PLACE: u32 = 2;

/// A word that is greater for a greater x, and among equal ones for a lower index.
///
/// NaN is above all. For the least element x is negated; for a place, zeros of both signs are
/// equal.
#[inline(always)]
fn key(asked: u32, x: f32, index: u32) -> u64 {
    let x = if asked == LEAST { -x } else { x };
    let x = if asked == PLACE { x + 0.0 } else { x };
    let bits = x.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    let ordered = if x.is_nan() { u32::MAX } else { ordered };
    u64::from(ordered) << 32 | u64::from(!index)
}

/// The element that a word stands for.
#[inline(always)]
fn element(asked: u32, key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered & 0x7fff_ffff } else { !ordered };
    let x = if ordered == u32::MAX { f32::NAN } else { f32::from_bits(bits) };
    if asked == LEAST { -x } else { x }
}

/// The greatest word of each contiguous row (`inner = 1`), a group to a row.
#[inline(always)]
unsafe fn rows<G: Group, T: Real>(asked: u32, outer: u64, len: u64, part_len: u32, x: *const T, keys: *mut u64) {
    let first = u64::from(idx::bid_y()) * u64::from(part_len);
    let count = (len - first).min(u64::from(part_len)) as u32;
    for (row, live) in group::rows::<G>(outer) {
        let x = x.add((row * len + first) as usize);
        let (mut greatest, mut i) = (0, G::rank());
        while i < count {
            greatest = key(asked, (*x.add(i as usize)).widen(), first as u32 + i).max(greatest);
            i += G::SIZE;
        }
        let greatest = G::max_u64::<0>(greatest);
        if live && G::rank() == 0 {
            *keys.add((u64::from(idx::bid_y()) * outer + row) as usize) = greatest;
        }
    }
}

/// The greatest word of each column.
///
/// A block takes 32 neighbouring columns of one outer index.
#[inline(always)]
unsafe fn columns<T: Real>(asked: u32, outer: u64, len: u64, inner: u64, part_len: u32, x: *const T, keys: *mut u64) {
    let (strip, o) = divide(idx::bid_x(), inner.div_ceil(u64::from(COLUMNS)) as u32);
    let (lane, group) = (idx::tid_x() % COLUMNS, idx::tid_x() / COLUMNS);
    let column = u64::from(strip) * u64::from(COLUMNS) + u64::from(lane);
    let first = u64::from(idx::bid_y()) * u64::from(part_len);
    let count = (len - first).min(u64::from(part_len)) as u32;
    let x = x.add(((u64::from(o) * len + first) * inner + column) as usize);
    let (mut greatest, mut i) = (0, group);
    while column < inner && i < count {
        let element = (*x.add((u64::from(i) * inner) as usize)).widen();
        greatest = key(asked, element, first as u32 + i).max(greatest);
        i += GROUPS;
    }
    let shared = KEYS.slice();
    shared.set(idx::tid_x(), greatest);
    block_sync();
    if group == 0 && column < inner {
        let mut i = lane;
        while i < COLUMNS * GROUPS {
            greatest = shared.get(i).max(greatest);
            i += COLUMNS;
        }
        let output = u64::from(o) * inner + column;
        *keys.add((u64::from(idx::bid_y()) * outer * inner + output) as usize) = greatest;
    }
}

/// The greatest word of all parts of output `i`.
#[inline(always)]
unsafe fn joined(outputs: u64, parts: u32, i: u64, keys: *const u64) -> u64 {
    let (mut greatest, mut part) = (0, 0);
    while part < parts {
        greatest = (*keys.add((u64::from(part) * outputs + i) as usize)).max(greatest);
        part += 1;
    }
    greatest
}

/// The elements that the words of all parts stand for, a thread to an output.
#[inline(always)]
unsafe fn elements<T: Real>(asked: u32, outputs: u64, parts: u32, keys: *const u64, y: *mut T) {
    for i in idx::grid_stride(outputs) {
        *y.add(i as usize) = T::narrow(element(asked, joined(outputs, parts, i, keys)));
    }
}

/// The mean of `len` elements whose sums are in parts, a thread to an output.
#[inline(always)]
unsafe fn means<T: Real>(len: u64, outputs: u64, parts: u32, sums: *const f64, y: *mut T) {
    for i in idx::grid_stride(outputs) {
        let (mut total, mut part) = (0.0, 0);
        while part < parts {
            total += *sums.add((u64::from(part) * outputs + i) as usize);
            part += 1;
        }
        *y.add(i as usize) = T::narrow((total / len as f64) as f32);
    }
}

/// The places that the words of all parts stand for, a thread to an output.
///
/// # Safety
/// As the file.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn tensor_extreme_places(outputs: u64, parts: u32, keys: *const u64, y: *mut u32) {
    for i in idx::grid_stride(outputs) {
        *y.add(i as usize) = !(joined(outputs, parts, i, keys) as u32);
    }
}

macro_rules! entries {
    ($type:ty: $warp:ident, $block:ident, $columns:ident, $elements:ident, $means:ident) => {
        entries!(@rows $type: $warp, Warp);
        entries!(@rows $type: $block, Block);

        #[doc = "[`columns`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $columns(
            asked: u32,
            outer: u64,
            len: u64,
            inner: u64,
            part_len: u32,
            x: *const $type,
            keys: *mut u64,
        ) {
            columns(asked, outer, len, inner, part_len, x, keys);
        }

        #[doc = "[`elements`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $elements(
            asked: u32,
            outputs: u64,
            parts: u32,
            keys: *const u64,
            y: *mut $type,
        ) {
            elements(asked, outputs, parts, keys, y);
        }

        #[doc = "[`means`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $means(len: u64, outputs: u64, parts: u32, sums: *const f64, y: *mut $type) {
            means(len, outputs, parts, sums, y);
        }

        kernel_table! {
            $warp: block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
            $block: block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 1;
            $columns: block [COLUMNS * GROUPS, 1, 1], min_blocks 4, shared Bytes(COLUMN_BYTES), barriers 1;
            $elements, $means: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
        }
    };
    (@rows $type:ty: $name:ident, $group:ty) => {
        #[doc = "[`rows`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            asked: u32,
            outer: u64,
            len: u64,
            part_len: u32,
            x: *const $type,
            keys: *mut u64,
        ) {
            rows::<$group, $type>(asked, outer, len, part_len, x, keys);
        }
    };
}

entries!(f32: tensor_extreme_warp_f32, tensor_extreme_block_f32, tensor_extreme_columns_f32, tensor_extreme_elements_f32,
    tensor_mean_f32);
entries!(F16: tensor_extreme_warp_f16, tensor_extreme_block_f16, tensor_extreme_columns_f16, tensor_extreme_elements_f16,
    tensor_mean_f16);
entries!(Bf16: tensor_extreme_warp_bf16, tensor_extreme_block_bf16, tensor_extreme_columns_bf16,
    tensor_extreme_elements_bf16, tensor_mean_bf16);

kernel_table! {
    tensor_extreme_places: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
}
