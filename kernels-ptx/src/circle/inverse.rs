//! Batch inversion.
//!
//! Each thread multiplies its elements up, inverts the product and walks back.
//!
//! # Safety
//! Buffers hold `len` elements, `first_zero` one word of `u64::MAX`. Grid: one block per `256 * N`
//! elements; block: 256 threads.

use core_types::field::{Field, M31, QM31};

use crate::dev::{
    atomic,
    idx::{bid_x, tid_x},
    unroll::unroll,
};

#[inline(always)]
unsafe fn invert<F: Field, const N: usize>(elements: *const F, inverses: *mut F, first_zero: *mut u64, len: u64) {
    let first = u64::from(bid_x()) * (256 * N as u64) + u64::from(tid_x());
    let mut own = [F::ONE; N];
    let mut below = [F::ONE; N];
    let mut product = F::ONE;
    let mut zero = u64::MAX;
    unroll!(I in 0..16 => {
        if (I as usize) < N {
            let index = first + 256 * u64::from(I);
            if index < len {
                let element = *elements.add(index as usize);
                // A zero counts as one, so that the product stays invertible; the batch is refused anyway.
                if element == F::ZERO {
                    zero = zero.min(index);
                } else {
                    own[I as usize] = element;
                }
            }
            below[I as usize] = product;
            product = product * own[I as usize];
        }
    });
    if zero != u64::MAX {
        atomic::min_u64(first_zero, zero);
    }
    let mut above = product.inverse().unwrap_or(F::ZERO);
    unroll!(DOWN in 0..16 => {
        const I: usize = 15 - DOWN as usize;
        if I < N {
            if I + 1 < N {
                above = above * own[I + 1];
            }
            let index = first + 256 * I as u64;
            if index < len {
                *inverses.add(index as usize) = below[I] * above;
            }
        }
    });
}

macro_rules! inverses {
    ($($name:ident: $field:ty, $each:literal, min_blocks $min_blocks:literal;)*) => {$(
        #[doc = concat!("Inverts elements of `", stringify!($field), "`.")]
        ///
        /// `first_zero` becomes the least index of a zero.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            elements: *const $field,
            inverses: *mut $field,
            first_zero: *mut u64,
            len: u64,
        ) {
            invert::<$field, $each>(elements, inverses, first_zero, len);
        }

        kernel_table! { $name: block [256, 1, 1], min_blocks $min_blocks, shared None, barriers 0; }
    )*};
}

inverses! {
    circle_inverse_m31: M31, 8, min_blocks 4;
    circle_inverse_qm31: QM31, 4, min_blocks 2;
}
