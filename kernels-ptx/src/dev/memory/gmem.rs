//! Global memory: address-space facts and wide words.

use core::hint::assert_unchecked;

use crate::dev::intrinsics as llvm;

/// Four words that move as one access of 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct U4(pub [u32; 4]);

/// Two words that move as one access of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct U2(pub [u32; 2]);

/// Four floats that move as one access of 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct F4(pub [f32; 4]);

/// Marks `pointer` as global for the compiler.
///
/// The compiler cannot infer that for pointers out of parameter records.
///
/// # Safety
/// `pointer` is a global address.
#[inline(always)]
pub unsafe fn as_global<T>(pointer: *const T) -> *const T {
    assert_unchecked(llvm::isspacep_global(pointer.cast()));
    pointer
}
