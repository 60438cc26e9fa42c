//! Index arithmetic, and the elements that a thread takes.

use core::hint::assert_unchecked;

use core_types::params::elementwise::MAX_RANK;

use crate::dev::idx;

/// Remainder and quotient of `i / len`.
///
/// # Safety
/// `len` is not zero.
#[inline(always)]
pub unsafe fn divide(i: u32, len: u32) -> (u32, u32) {
    assert_unchecked(len != 0);
    (i % len, i / len)
}

/// [`divide`] of long indices.
///
/// # Safety
/// `len` is not zero.
#[inline(always)]
pub unsafe fn divide_long(i: u64, len: u64) -> (u64, u64) {
    assert_unchecked(len != 0);
    if (i | len) >> 32 == 0 {
        let (rest, quotient) = divide(i as u32, len as u32);
        return (u64::from(rest), u64::from(quotient));
    }
    (i % len, i / len)
}

/// Calls `step(axis, index)` for each axis of row-major element `i`, innermost first.
///
/// # Safety
/// The shape has more than `i` elements, below 2^32, so that no axis is empty.
#[inline(always)]
pub unsafe fn each_index(i: u32, rank: u32, shape: &[u64; MAX_RANK], mut step: impl FnMut(usize, u64)) {
    let mut rest = i;
    macro_rules! axis {
        ($($axis:literal)*) => {$(
            if rank > $axis {
                let index;
                (index, rest) = divide(rest, shape[$axis] as u32);
                step($axis, u64::from(index));
            }
        )*};
    }
    axis!(5 4 3 2 1 0);
    debug_assert!(rest == 0);
}

/// Threads of a block of a map over elements.
pub const THREADS: u32 = 256;

/// Calls `four(i)` for the elements `i..i + 4` and `one(i)` for the elements left.
///
/// There are `len` elements in all.
#[inline(always)]
pub fn for_elements(len: u64, by_four: bool, four: impl Fn(usize), one: impl Fn(usize)) {
    let whole = if by_four { len / 4 } else { 0 };
    for group in idx::grid_stride(whole) {
        four(4 * group as usize);
    }
    for i in idx::grid_stride(len - 4 * whole) {
        one((4 * whole + i) as usize);
    }
}
