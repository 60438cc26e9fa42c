//! Atomic read-modify-write.
//!
//! The plain forms are relaxed: they order no other access, whatever ordering Rust specifies,
//! since the code generator drops it. The `_acq_rel` form fences on both sides.
//!
//! Sums of floats depend on the order of arrival, so no op that promises equal bits uses
//! [`red_add_f32`].

use core::{
    arch::asm,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use super::sync::fence_gpu;

macro_rules! global {
    ($($(#[$doc:meta])* $name:ident, $name64:ident = $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `pointer` is a global word that is accessed only atomically, or with barriers in
        /// between.
        #[inline(always)]
        pub unsafe fn $name(pointer: *mut u32, value: u32) -> u32 {
            AtomicU32::from_ptr(pointer).$method(value, Relaxed)
        }

        $(#[$doc])*
        ///
        /// # Safety
        /// As for the 32-bit form.
        #[inline(always)]
        pub unsafe fn $name64(pointer: *mut u64, value: u64) -> u64 {
            AtomicU64::from_ptr(pointer).$method(value, Relaxed)
        }
    )*};
}

global! {
    /// Adds to a global word; the value before.
    add, add_u64 = fetch_add;
    /// Lowers a global word to at most `value`; the value before.
    min, min_u64 = fetch_min;
    /// Raises a global word to at least `value`; the value before.
    max, max_u64 = fetch_max;
    /// Clears bits of a global word; the value before.
    and, and_u64 = fetch_and;
    /// Sets bits of a global word; the value before.
    or, or_u64 = fetch_or;
    /// Flips bits of a global word; the value before.
    xor, xor_u64 = fetch_xor;
    /// Replaces a global word; the value before.
    exch, exch_u64 = swap;
}

/// [`add`] with release and acquire: the "last block" idiom.
///
/// Releases this thread's writes before it, and acquires the writes of earlier adders.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub unsafe fn add_acq_rel_gpu(pointer: *mut u32, value: u32) -> u32 {
    fence_gpu();
    let before = add(pointer, value);
    fence_gpu();
    before
}

/// Reads a global word that other blocks change, and acquires what they released with it.
///
/// # Safety
/// `pointer` is a readable global word.
#[inline(always)]
pub unsafe fn load_acquire_gpu(pointer: *const u32) -> u32 {
    let word;
    asm!("ld.acquire.gpu.global.b32 {}, [{}];", out(reg32) word, in(reg64) pointer, options(nostack, preserves_flags));
    word
}

/// Adds to a global float, in no fixed order.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub unsafe fn red_add_f32(pointer: *mut f32, value: f32) {
    asm!("red.global.add.f32 [{}], {};", in(reg64) pointer, in(reg32) value, options(nostack, preserves_flags));
}
