//! Index arithmetic.

use core::hint::assert_unchecked;

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
