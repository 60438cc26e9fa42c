//! Words of shared memory by 32-bit address.
//!
//! # Safety
//! Addresses lie in the block's shared memory, aligned to what moves; barriers order threads.

use core::arch::asm;

use crate::dev::memory::smem::SharedAddr;

/// Reads a float.
#[inline(always)]
pub unsafe fn load(at: SharedAddr) -> f32 {
    let x;
    asm!("ld.shared.b32 {}, [{}];", out(reg32) x, in(reg32) at.0, options(readonly, nostack, preserves_flags));
    x
}

/// Reads two floats.
#[inline(always)]
pub unsafe fn load2(at: SharedAddr) -> [f32; 2] {
    let (a, b);
    asm!("ld.shared.v2.b32 {{{}, {}}}, [{}];", out(reg32) a, out(reg32) b, in(reg32) at.0,
        options(readonly, nostack, preserves_flags));
    [a, b]
}

/// Reads four floats.
#[inline(always)]
pub unsafe fn load4(at: SharedAddr) -> [f32; 4] {
    let (a, b, c, d);
    asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
        in(reg32) at.0, options(readonly, nostack, preserves_flags));
    [a, b, c, d]
}

/// Writes two floats.
#[inline(always)]
pub unsafe fn store2(at: SharedAddr, [a, b]: [f32; 2]) {
    asm!("st.shared.v2.b32 [{}], {{{}, {}}};", in(reg32) at.0, in(reg32) a, in(reg32) b,
        options(nostack, preserves_flags));
}

/// Writes four floats.
#[inline(always)]
pub unsafe fn store4(at: SharedAddr, [a, b, c, d]: [f32; 4]) {
    asm!("st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};", in(reg32) at.0, in(reg32) a, in(reg32) b, in(reg32) c,
        in(reg32) d, options(nostack, preserves_flags));
}
