//! Hiding from the compiler that a value does not change.

use core::arch::asm;

/// Hides the origin of `pointer` from the compiler.
///
/// A loop then recomputes its derived addresses in each turn instead of keeping them in registers.
#[inline(always)]
pub fn opaque<T>(pointer: *const T) -> *const T {
    let same;
    // SAFETY: copies a register.
    unsafe { asm!("mov.b64 {}, {};", out(reg64) same, in(reg64) pointer, options(nomem, nostack, preserves_flags)) };
    // SAFETY: it is the pointer of a kernel's parameter, which is global.
    unsafe { super::memory::gmem::as_global(same) }
}

/// [`opaque`] for a word.
#[inline(always)]
pub fn opaque_word(word: u32) -> u32 {
    let same;
    // SAFETY: copies a register.
    unsafe { asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) word, options(nomem, nostack, preserves_flags)) };
    same
}
