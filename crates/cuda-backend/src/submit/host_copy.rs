//! Copies within host memory.
//!
//! They go between the caller's memory and the memory that transfers use.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{
    sync::{Mutex, OnceLock},
    thread,
};

use backend_api::Element;
use bytemuck::checked;

use crate::sync::lock;

/// Shorter copies are made by the calling thread alone.
const SHARED_BYTES: usize = 1 << 20;

/// Bytes that a thread copies at a time.
const PART_BYTES: usize = 512 << 10;

/// The most threads that copy at once. One alone is slower than the memory and the bus.
const MOST_THREADS: usize = 4;

/// Copies `source` to `target`, which is as long.
pub(super) fn copy_bytes(source: &[u8], target: &mut [u8]) {
    in_parts(threads(), source, target, |_, source, target| target.copy_from_slice(source));
}

/// Copies the elements that `source` holds to `target`, which is as long.
///
/// # Errors
/// The index of the first element that is not a valid value of `T`.
pub(super) fn copy_elements<T: Element>(source: &[u8], target: &mut [T]) -> Result<(), usize> {
    copy_elements_on(threads(), source, target)
}

fn copy_elements_on<T: Element>(threads: usize, source: &[u8], target: &mut [T]) -> Result<(), usize> {
    let invalid = AtomicUsize::new(usize::MAX);
    in_parts(threads, source, target, |first, source, target| {
        if let Err(index) = copy_part(source, target) {
            invalid.fetch_min(first + index, Ordering::Relaxed);
        }
    });
    match invalid.into_inner() {
        usize::MAX => Ok(()),
        index => Err(index),
    }
}

/// [`copy_elements`] on this thread.
fn copy_part<T: Element>(source: &[u8], target: &mut [T]) -> Result<(), usize> {
    if let Ok(elements) = checked::try_cast_slice::<u8, T>(source) {
        target.copy_from_slice(elements);
        return Ok(());
    }
    for (index, (bytes, element)) in source.chunks_exact(size_of::<T>()).zip(target).enumerate() {
        *element = checked::try_pod_read_unaligned(bytes).map_err(|_| index)?;
    }
    Ok(())
}

/// Number of threads that copy at once on this machine.
///
/// It is half of the processors: the caller has work for the others.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS
        .get_or_init(|| thread::available_parallelism().map_or(1, |threads| (threads.get() / 2).clamp(1, MOST_THREADS)))
}

/// Calls `copy` with the index of the first element of each part, its bytes and its elements.
///
/// It uses up to `threads` threads if there are many bytes.
fn in_parts<T: Send>(threads: usize, source: &[u8], target: &mut [T], copy: impl Fn(usize, &[u8], &mut [T]) + Sync) {
    if threads < 2 || source.len() < SHARED_BYTES {
        return copy(0, source, target);
    }
    let elements = (PART_BYTES / size_of::<T>()).max(1);
    let helpers = target.len().div_ceil(elements).min(threads) - 1;
    let parts = source.chunks(elements * size_of::<T>()).zip(target.chunks_mut(elements)).enumerate();
    let parts = Mutex::new(parts);
    let next = || lock(&parts).next();
    let work = || {
        while let Some((part, (source, target))) = next() {
            copy(part * elements, source, target);
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            // If a helper cannot be started, the others do its share.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use core_types::field::M31;

    use super::*;

    #[test]
    fn copies_on_any_number_of_threads_are_whole() {
        for bytes in [0, 1, SHARED_BYTES - 1, SHARED_BYTES, SHARED_BYTES + 1, 4 * SHARED_BYTES + 12] {
            let mut source = vec![0; bytes];
            fastrand::Rng::with_seed(1).fill(&mut source);
            for threads in 1..=MOST_THREADS + 1 {
                let mut target = vec![0; bytes];
                in_parts(threads, &source, &mut target, |_, source, target| target.copy_from_slice(source));
                assert!(target == source, "{bytes} bytes on {threads} threads");
                let mut words = vec![0u64; bytes / 8];
                let source = &source[..bytes / 8 * 8];
                assert_eq!(copy_elements_on(threads, source, &mut words), Ok(()));
                assert!(bytemuck::cast_slice::<u64, u8>(&words) == source, "{bytes} bytes on {threads} threads");
            }
        }
    }

    #[test]
    fn the_first_invalid_element_is_named_whichever_thread_meets_it() {
        let len = 2 * SHARED_BYTES / size_of::<M31>();
        for threads in 1..=MOST_THREADS {
            for (first, second) in [(0, 1), (5, len - 1), (len / 2 - 1, len / 2), (len - 1, len - 1)] {
                let mut source = vec![0u32; len];
                (source[first], source[second]) = (u32::MAX, u32::MAX);
                let mut target = vec![M31::from_u32(0); len];
                let copied = copy_elements_on(threads, bytemuck::cast_slice(&source), &mut target);
                assert_eq!(copied, Err(first), "{threads} threads");
            }
        }
    }
}
