//! Kernels that a compiler without the flags of `README.md` breaks. They do not ship: `cargo xtask build-ptx` compiles them with and
//! without those flags, and a test of `cuda-sim` shows that the simulator passes the one and reports the other.
//!
//! # Safety
//! `from` and `to` are `len` words. Block: 64; grid: one block for each 64 words begun.

use crate::dev::{idx, sync, warp};

/// Copies words around a barrier that every thread reaches.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_barrier(from: *const u32, to: *mut u32, len: u32) {
    let i = idx::global_id();
    let mut word = 0;
    if i < len {
        word = *from.add(i as usize);
    }
    sync::block_sync();
    if i < len {
        *to.add(i as usize) = word;
    }
}

/// Copies the words of the neighbouring lane, exchanged by all lanes through the intrinsic.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_shuffle(from: *const u32, to: *mut u32, len: u32) {
    let i = idx::global_id();
    let mut word = 0;
    if i < len {
        word = *from.add(i as usize);
    }
    let other = warp::shfl_xor(u32::MAX, word, 1);
    if i < len {
        *to.add(i as usize) = other;
    }
}

/// The same by inline assembly, which the compiler does not know to be convergent.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_assembly_shuffle(from: *const u32, to: *mut u32, len: u32) {
    let i = idx::global_id();
    let mut word = 0;
    if i < len {
        word = *from.add(i as usize);
    }
    let other: u32;
    core::arch::asm!("shfl.sync.bfly.b32 {0}, {1}, 1, 0x1f, 0xffffffff;", out(reg32) other, in(reg32) word);
    if i < len {
        *to.add(i as usize) = other;
    }
}
