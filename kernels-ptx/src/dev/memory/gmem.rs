//! Global memory: address-space facts, wide words and cache hints.

use core::{arch::asm, hint::assert_unchecked};

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

/// Eight 16-bit words that move as one access of 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct H8(pub [u16; 8]);

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

/// Reads a word through the read-only cache.
///
/// # Safety
/// `pointer` is a readable global address, and nothing writes to it while the kernel runs.
#[inline(always)]
pub unsafe fn ldg(pointer: *const u32) -> u32 {
    let word;
    asm!("ld.global.nc.b32 {}, [{}];", out(reg32) word, in(reg64) pointer, options(pure, readonly, nostack, preserves_flags));
    word
}

/// Reads four words through the read-only cache.
///
/// # Safety
/// As for [`ldg`]; `pointer` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn ldg_v4(pointer: *const U4) -> U4 {
    let (a, b, c, d);
    asm!(
        "ld.global.nc.v4.b32 {{{}, {}, {}, {}}}, [{}];",
        out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) pointer,
        options(pure, readonly, nostack, preserves_flags)
    );
    U4([a, b, c, d])
}
