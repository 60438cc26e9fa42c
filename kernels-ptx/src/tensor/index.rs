//! Rows of a table by index, a thread to an element.
//!
//! Neighbours of a row are neighbours in memory.
//!
//! # Safety
//! The table holds `rows x width` elements, `indices` and `order` `count` words each, y and g
//! `count x width` elements; `width` is not zero.

use core_types::params::tensor::TableParams;

use crate::{
    dev::idx,
    linalg::{
        index::{THREADS, divide_long},
        real::{Bf16, F16, Real},
    },
};

/// Row i of y is row `indices[i]` of the table, or zero: reads each index and each row once.
#[inline(always)]
unsafe fn gather<T: Copy>(p: &TableParams, table: *const T, indices: *const u32, y: *mut T, zero: T) {
    for i in idx::grid_stride(p.count * p.width) {
        let (column, place) = divide_long(i, p.width);
        let index = u64::from(*indices.add(place as usize));
        *y.add(i as usize) = if index < p.rows { *table.add((index * p.width + column) as usize) } else { zero };
    }
}

/// Adds rows of g to the table.
///
/// The threads of the first place of each index add up the rows of all its places, in order.
#[inline(always)]
unsafe fn scatter_add<T: Real>(p: &TableParams, indices: *const u32, order: *const u32, g: *const T, table: *mut T) {
    let index_at = |i: u64| {
        let place = *order.add(i as usize);
        let index = if u64::from(place) < p.count { *indices.add(place as usize) } else { u32::MAX };
        (u64::from(place), u64::from(index))
    };
    for i in idx::grid_stride(p.count * p.width) {
        let (column, first) = divide_long(i, p.width);
        let (mut place, index) = index_at(first);
        if index >= p.rows || place >= p.count || (first > 0 && index_at(first - 1).1 == index) {
            continue;
        }
        let (mut sum, mut next) = (0.0, first + 1);
        loop {
            sum += (*g.add((place * p.width + column) as usize)).widen();
            if next == p.count {
                break;
            }
            let (later, of_later) = index_at(next);
            if of_later != index || later >= p.count {
                break;
            }
            (place, next) = (later, next + 1);
        }
        let element = table.add((index * p.width + column) as usize);
        *element = T::narrow(sum + (*element).widen());
    }
}

macro_rules! entries {
    ($type:ty: $gather:ident, $scatter_add:ident) => {
        #[doc = "[`gather`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $gather(
            p: TableParams,
            table: *const $type,
            indices: *const u32,
            y: *mut $type,
        ) {
            gather(&p, table, indices, y, <$type as Real>::narrow(0.0));
        }

        #[doc = "[`scatter_add`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $scatter_add(
            p: TableParams,
            indices: *const u32,
            order: *const u32,
            g: *const $type,
            table: *mut $type,
        ) {
            scatter_add(&p, indices, order, g, table);
        }

        kernel_table! { $gather, $scatter_add: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    };
}

entries!(f32: tensor_gather_f32, tensor_scatter_add_f32);
entries!(F16: tensor_gather_f16, tensor_scatter_add_f16);
entries!(Bf16: tensor_gather_bf16, tensor_scatter_add_bf16);

/// [`gather`] of words of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn tensor_gather_u64(
    p: TableParams,
    table: *const u64,
    indices: *const u32,
    y: *mut u64,
) {
    gather(&p, table, indices, y, 0);
}

kernel_table! { tensor_gather_u64: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
