//! Products of two words in 64 bits.
//!
//! On the device each is written as its instruction. LLVM widens a word where it is loaded; the
//! block that multiplies it no longer sees that the high half is zero, and multiplies 64 by 64
//! bits, which takes two to four instructions more.

/// `a * b` as halves, lowest first.
#[inline(always)]
pub(super) const fn widening_mul(a: u32, b: u32) -> (u32, u32) {
    const fn computed(a: u32, b: u32) -> (u32, u32) {
        let wide = a as u64 * b as u64;
        (wide as u32, (wide >> 32) as u32)
    }

    #[cfg(target_arch = "nvptx64")]
    {
        #[inline(always)]
        fn instruction(a: u32, b: u32) -> (u32, u32) {
            let (low, high);
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 wide; mul.wide.u32 wide, {2}, {3}; mov.b64 {{{0}, {1}}}, wide; }}",
                    out(reg32) low, out(reg32) high, in(reg32) a, in(reg32) b,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            (low, high)
        }
        core::intrinsics::const_eval_select((a, b), computed, instruction)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    computed(a, b)
}

/// `a * b + sum`; the caller guarantees a result below 2^64.
///
/// ```
/// use core_types::field::widening_mul_add;
///
/// assert_eq!(widening_mul_add(u32::MAX, 2, 3), 2 * u64::from(u32::MAX) + 3);
/// ```
#[inline(always)]
#[must_use]
pub fn widening_mul_add(a: u32, b: u32, sum: u64) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let wide;
        // SAFETY: arithmetic on registers.
        unsafe {
            core::arch::asm!(
                "mad.wide.u32 {0}, {1}, {2}, {3};",
                out(reg64) wide, in(reg32) a, in(reg32) b, in(reg64) sum,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        wide
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u64::from(a) * u64::from(b) + sum
    }
}
