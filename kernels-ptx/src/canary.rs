//! Kernels that a compiler without the flags of `README.md` breaks.
//!
//! One more kernel is broken with any flags. No op uses them: `cargo xtask build-ptx` compiles them
//! with and without those flags. A test of `cuda-sim` shows that the simulator and the lints pass
//! the former builds and report the latter. `trefoil trials` runs the kernels that the flags repair
//! on a device.
//!
//! # Safety
//! `from` and `to` are `len` words. Block: 64; grid: one block for each 64 words begun.

use core::sync::atomic::{AtomicU32, Ordering::AcqRel};

use crate::dev::{atomic, idx, memory::smem, sync, warp};

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

/// Copies words to the mirrored place of their block, through shared memory.
///
/// Without the pass, and without optimisation at link time, the compiler reaches it through generic
/// addresses.
///
/// # Safety
/// See the module; `len` is a multiple of 64, and the launch gives 256 bytes of dynamic shared
/// memory.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_shared(from: *const u32, to: *mut u32, len: u32) {
    const WORDS: smem::Region<u32> = smem::Layout::new().array(64);
    let (i, tid) = (idx::global_id(), idx::tid_x());
    let words = WORDS.slice();
    if i < len {
        words.set(tid, *from.add(i as usize));
    }
    sync::block_sync();
    if i < len {
        *to.add(i as usize) = words.get(63 - tid);
    }
}

/// Copies the neighbouring word with a check of its index.
///
/// Unless panics abort at once, panic functions and their texts are linked in.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_checked(from: *const u32, to: *mut u32, len: u32) {
    let words = core::slice::from_raw_parts(from, len as usize);
    let i = idx::global_id();
    if i < len {
        *to.add(i as usize) = words[i as usize ^ 1];
    }
}

/// Sums `from` in the block that arrives last.
///
/// Each block leaves its sum after two words of `to`. The block that arrives last, by the count in
/// the first word, adds them up into the second.
///
/// # Safety
/// See the module; `to` has two words, the first of them 0, and one word for each block.
#[inline(always)]
unsafe fn sum_by_last_block(from: *const u32, to: *mut u32, len: u32, arrive: impl Fn(*mut u32) -> u32) {
    if idx::tid_x() != 0 {
        return;
    }
    let block = idx::bid_x();
    let mut sum = 0_u32;
    for i in 64 * block..len.min(64 * block + 64) {
        sum = sum.wrapping_add(*from.add(i as usize));
    }
    let sums = to.add(2);
    *sums.add(block as usize) = sum;
    if arrive(to) == idx::gdim_x() - 1 {
        let mut total = 0_u32;
        for block in 0..idx::gdim_x() {
            total = total.wrapping_add(*sums.add(block as usize));
        }
        *to.add(1) = total;
    }
}

/// The sum by the device library's fenced addition.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_last_block_fenced(from: *const u32, to: *mut u32, len: u32) {
    sum_by_last_block(from, to, len, |count| atomic::add_acq_rel_gpu(count, 1));
}

/// The sum by Rust's ordered addition, whose ordering the compiler drops under any flags.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn canary_last_block_ordered(from: *const u32, to: *mut u32, len: u32) {
    sum_by_last_block(from, to, len, |count| AtomicU32::from_ptr(count).fetch_add(1, AcqRel));
}
