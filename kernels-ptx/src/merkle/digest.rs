//! Digests in global memory, 16 bytes at a time where their buffer is aligned for that.

use core_types::blake2s::{BLOCK_WORDS, Digest};

use crate::dev::{memory::gmem::U4, unroll::unroll};

/// Whether 16 bytes at a time can be read and written from `pointer` on.
#[inline(always)]
fn is_wide<T>(pointer: *const T) -> bool {
    pointer as usize % align_of::<U4>() == 0
}

/// Writes a digest.
///
/// # Safety
/// `target` is a writable global address.
#[inline(always)]
pub(super) unsafe fn write(target: *mut Digest, digest: Digest) {
    let [a, b, c, d, e, f, g, h] = digest.0;
    if is_wide(target) {
        let target = target.cast::<U4>();
        *target = U4([a, b, c, d]);
        *target.add(1) = U4([e, f, g, h]);
    } else {
        let target = target.cast::<u32>();
        unroll!(I in 0..8 => {
            *target.add(I as usize) = digest.0[I as usize];
        });
    }
}

/// The words of two digests that follow each other.
///
/// # Safety
/// `source` is the global address of two digests.
#[inline(always)]
pub(super) unsafe fn read_two(source: *const Digest) -> [u32; BLOCK_WORDS] {
    let mut words = [0; BLOCK_WORDS];
    if is_wide(source) {
        let source = source.cast::<U4>();
        unroll!(I in 0..4 => {
            let four = *source.add(I as usize);
            words[4 * I as usize] = four.0[0];
            words[4 * I as usize + 1] = four.0[1];
            words[4 * I as usize + 2] = four.0[2];
            words[4 * I as usize + 3] = four.0[3];
        });
    } else {
        let source = source.cast::<u32>();
        unroll!(I in 0..16 => {
            words[I as usize] = *source.add(I as usize);
        });
    }
    words
}
