//! Atomic read-modify-write.
//!
//! The plain forms are relaxed: they order no other access, whatever ordering Rust specifies,
//! since the code generator drops it. The `_acq_rel` form fences on both sides.

use core::{
    arch::asm,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use super::sync::fence_gpu;

macro_rules! global {
    ($($(#[$doc:meta])* $name:ident: $word:ty as $atomic:ty = $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `pointer` is a global word that is accessed only atomically, or with barriers in
        /// between.
        #[inline(always)]
        pub unsafe fn $name(pointer: *mut $word, value: $word) -> $word {
            <$atomic>::from_ptr(pointer).$method(value, Relaxed)
        }
    )*};
}

global! {
    /// Adds to a global word; the value before.
    add: u32 as AtomicU32 = fetch_add;
    /// Adds to a global word; the value before.
    add_u64: u64 as AtomicU64 = fetch_add;
    /// Lowers a global word to at most `value`; the value before.
    min_u64: u64 as AtomicU64 = fetch_min;
    /// Raises a global word to at least `value`; the value before.
    max: u32 as AtomicU32 = fetch_max;
    /// Raises a global word to at least `value`; the value before.
    max_u64: u64 as AtomicU64 = fetch_max;
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
