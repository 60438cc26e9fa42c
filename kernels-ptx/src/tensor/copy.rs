//! Copies between layouts.
//!
//! A thread takes an element, in row-major order of the axes that it is given. Each element is read
//! once and written once. If neighbours of one side lie apart on the other, the sectors of memory
//! that are moved limit it.
//!
//! # Safety
//! The strides stay inside the views, and elements of y do not overlap.

use core_types::params::tensor::CopyParams;

use crate::{
    dev::idx,
    linalg::{
        index::{THREADS, each_index},
        real::{Bf16, F16},
    },
};

/// `y[i] = x[i]` for `len` indices, below 2^32, so that no axis is empty.
#[inline(always)]
unsafe fn copy<T: Copy>(p: &CopyParams, len: u32, x: *const T, y: *mut T) {
    for i in idx::grid_stride(u64::from(len)) {
        let (mut at_x, mut at_y) = (0, 0);
        each_index(i as u32, p.rank, &p.shape, |axis, index| {
            at_x += index * p.x_strides[axis];
            at_y += index * p.y_strides[axis];
        });
        *y.add(at_y as usize) = *x.add(at_x as usize);
    }
}

macro_rules! entries {
    ($($name:ident = $type:ty;)*) => {$(
        #[doc = "[`copy`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(p: CopyParams, len: u32, x: *const $type, y: *mut $type) {
            copy(&p, len, x, y);
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    )*};
}

entries! {
    tensor_copy_f32 = f32;
    tensor_copy_f16 = F16;
    tensor_copy_bf16 = Bf16;
    tensor_copy_bool = u8;
    tensor_copy_u32 = u32;
    tensor_copy_u64 = u64;
}
