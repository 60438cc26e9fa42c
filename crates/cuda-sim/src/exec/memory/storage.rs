//! The bytes of one range of the address space.
//!
//! Several host threads can read and write them at once.
//!
//! # Safety
//!
//! Unsafe functions here take a place for one word: it must be valid for the width of the word and
//! aligned to it.

use std::{
    ptr,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// Bytes with interior mutability plus one initialisation bit per byte.
///
/// Simulated programs may race; all accesses are therefore relaxed atomics of the natural width, so
/// a race in a kernel is a wrong value and never undefined behaviour of the simulator.
pub(in crate::exec) struct Storage {
    base: *mut u8,
    len: u64,
    /// Whether `base` came from a box of words.
    ///
    /// Otherwise it is host memory that the caller mapped.
    is_owned: bool,
    /// Bit `i` of byte `j` is set if byte `8 j + i` was written.
    written: Box<[AtomicU8]>,
    /// Set once a writer has left `written` out of date.
    ///
    /// Every byte counts as written from then on.
    untracked: AtomicBool,
}

// SAFETY: `base` points to bytes that the value owns, or to host memory that `Storage::mapped`'s caller keeps valid; every
// access through it is atomic.
unsafe impl Send for Storage {}
// SAFETY: as for `Send`.
unsafe impl Sync for Storage {}

/// An unsigned machine word that memory is accessed in.
pub(in crate::exec) trait MachineWord: Copy {
    /// The word at `at`.
    ///
    /// # Safety
    /// `at` is valid for the width of the word and aligned to it.
    unsafe fn load(at: *mut u8) -> Self;

    /// Stores `value` at `at`.
    ///
    /// # Safety
    /// As [`MachineWord::load`].
    unsafe fn store(at: *mut u8, value: Self);
}

macro_rules! word {
    ($($word:ty, $atomic:ty);*) => {$(
        impl MachineWord for $word {
            #[inline(always)]
            unsafe fn load(at: *mut u8) -> Self {
                // SAFETY: valid and aligned by the caller's contract; accessed by atomics only.
                unsafe { <$atomic>::from_ptr(at.cast()) }.load(Relaxed)
            }

            #[inline(always)]
            unsafe fn store(at: *mut u8, value: Self) {
                // SAFETY: as in `load`.
                unsafe { <$atomic>::from_ptr(at.cast()) }.store(value, Relaxed);
            }
        }
    )*};
}
word!(u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64);

/// Bytes in whole words, zeroed.
fn zeroed(len: u64) -> *mut [u64] {
    Box::into_raw(vec![0_u64; len.div_ceil(8) as usize].into_boxed_slice())
}

impl Drop for Storage {
    fn drop(&mut self) {
        if self.is_owned {
            let words = ptr::slice_from_raw_parts_mut(self.base.cast::<u64>(), self.len.div_ceil(8) as usize);
            // SAFETY: `zeroed` made the box with this length, and nothing reaches it after this value.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

impl Storage {
    /// `len` fresh bytes, none of them written yet.
    pub(super) fn fresh(len: u64) -> Self {
        let base = zeroed(len).cast();
        let written = (0..len.div_ceil(8)).map(|_| AtomicU8::new(0)).collect();
        Self { base, len, is_owned: true, written, untracked: AtomicBool::new(false) }
    }

    /// `len` bytes of host memory at `base`; all of them count as written.
    ///
    /// # Safety
    /// The range stays valid until the value is dropped, and nothing holds a Rust reference to it
    /// meanwhile.
    pub(super) unsafe fn mapped(base: *mut u8, len: u64) -> Self {
        Self { base, len, is_owned: false, written: Box::new([]), untracked: AtomicBool::new(true) }
    }

    pub(super) fn is_mapped(&self) -> bool {
        !self.is_owned
    }

    fn at(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.len), "access inside the storage");
        // SAFETY: in bounds by the line above.
        unsafe { self.base.add(offset as usize) }
    }

    /// The word at `offset`.
    ///
    /// # Safety
    /// The word lies in the storage and `offset` is a multiple of its width.
    #[inline(always)]
    pub(in crate::exec) unsafe fn load<W: MachineWord>(&self, offset: u64) -> W {
        debug_assert!(offset + size_of::<W>() as u64 <= self.len && offset.is_multiple_of(size_of::<W>() as u64));
        // SAFETY: in bounds by the caller's contract; simulated and host addresses agree modulo 8, so alignment carries
        // over.
        unsafe { W::load(self.base.add(offset as usize)) }
    }

    /// Stores a word at `offset`.
    ///
    /// # Safety
    /// As [`Storage::load`].
    #[inline(always)]
    pub(in crate::exec) unsafe fn store<W: MachineWord>(&self, offset: u64, value: W) {
        debug_assert!(offset + size_of::<W>() as u64 <= self.len && offset.is_multiple_of(size_of::<W>() as u64));
        // SAFETY: as in `load`.
        unsafe { W::store(self.base.add(offset as usize), value) }
    }

    pub(in crate::exec) fn byte(&self, offset: u64) -> u8 {
        let at = self.at(offset, 1);
        // SAFETY: `at` checked the bounds; a byte is always aligned.
        unsafe { u8::load(at) }
    }

    /// The 32-bit word at `offset` as an atomic.
    pub(in crate::exec) fn atomic32(&self, offset: u64) -> &AtomicU32 {
        let at = self.at(offset, 4);
        debug_assert!(at.addr().is_multiple_of(4));
        // SAFETY: in bounds and aligned as in `load`; lives as long as `self`.
        unsafe { AtomicU32::from_ptr(at.cast()) }
    }

    /// The 64-bit word at `offset` as an atomic.
    pub(in crate::exec) fn atomic64(&self, offset: u64) -> &AtomicU64 {
        let at = self.at(offset, 8);
        debug_assert!(at.addr().is_multiple_of(8));
        // SAFETY: as in `atomic32`.
        unsafe { AtomicU64::from_ptr(at.cast()) }
    }

    /// Copies the bytes from `offset` on into `out`.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) {
        let at = self.at(offset, out.len() as u64);
        let head = at.align_offset(8).min(out.len());
        let (head_out, rest) = out.split_at_mut(head);
        let mut words = rest.chunks_exact_mut(8);
        // SAFETY: every address formed lies in the range that `at` checked; words start at a multiple of 8.
        unsafe {
            for (i, byte) in head_out.iter_mut().enumerate() {
                *byte = u8::load(at.add(i));
            }
            let mut from = at.add(head);
            for word in &mut words {
                word.copy_from_slice(&u64::load(from).to_le_bytes());
                from = from.add(8);
            }
            for (i, byte) in words.into_remainder().iter_mut().enumerate() {
                *byte = u8::load(from.add(i));
            }
        }
    }

    /// Overwrites the bytes from `offset` on; the caller marks them.
    pub(super) fn write(&self, offset: u64, from: &[u8]) {
        let at = self.at(offset, from.len() as u64);
        let head = at.align_offset(8).min(from.len());
        let (head_from, rest) = from.split_at(head);
        let words = rest.chunks_exact(8);
        // SAFETY: as in `read`.
        unsafe {
            for (i, &byte) in head_from.iter().enumerate() {
                u8::store(at.add(i), byte);
            }
            let mut to = at.add(head);
            for (i, &byte) in words.remainder().iter().enumerate() {
                u8::store(to.add(rest.len() / 8 * 8 + i), byte);
            }
            for word in words {
                u64::store(to, u64::from_le_bytes(word.try_into().unwrap_or_default()));
                to = to.add(8);
            }
        }
    }

    /// Declares every byte written: for writers that do not track.
    #[inline(always)]
    pub(in crate::exec) fn forget_tracking(&self) {
        if !self.untracked.load(Relaxed) {
            self.untracked.store(true, Relaxed);
        }
    }

    /// Marks `bytes` bytes from `offset` on as written (or as not written).
    pub(in crate::exec) fn mark(&self, offset: u64, bytes: u64, written: bool) {
        if self.written.is_empty() {
            return;
        }
        for (group, bits) in groups(offset, offset + bytes) {
            let cell = &self.written[group as usize];
            if !written {
                cell.fetch_and(!bits, Relaxed);
            } else if cell.load(Relaxed) & bits != bits {
                cell.fetch_or(bits, Relaxed);
            }
        }
    }

    /// The first of `bytes` bytes from `offset` on that nothing has written.
    pub(in crate::exec) fn first_unwritten(&self, offset: u64, bytes: u64) -> Option<u64> {
        if self.untracked.load(Relaxed) {
            return None;
        }
        let end = offset + bytes;
        groups(offset, end).find_map(|(group, bits)| {
            let missing = !self.written[group as usize].load(Relaxed) & bits;
            (missing != 0).then(|| group * 8 + u64::from(missing.trailing_zeros()))
        })
    }
}

/// Numbers of the 8-byte groups in `start..end`, each with the bits of its bytes in it.
#[inline(always)]
fn groups(start: u64, end: u64) -> impl Iterator<Item = (u64, u8)> {
    (start / 8..end.div_ceil(8)).map(move |group| {
        let low = u8::MAX << start.saturating_sub(group * 8);
        let high = u8::MAX >> (group * 8 + 8).saturating_sub(end);
        (group, low & high)
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn bytes_at_any_offset_are_those_of_a_plain_array() {
        let (storage, mut model) = (Storage::fresh(29), [0u8; 29]);
        for (offset, count) in (0..=29).flat_map(|offset| (0..=29 - offset).map(move |count| (offset, count))) {
            let from: Vec<u8> = (0..count).map(|i| (31 * offset + 7 * count + i) as u8).collect();
            storage.write(offset as u64, &from);
            model[offset..offset + count].copy_from_slice(&from);
            let mut got = [0; 29];
            storage.read(0, &mut got);
            assert_eq!(got, model, "{count} bytes from {offset}");
            let mut part = vec![0; count];
            storage.read(offset as u64, &mut part);
            assert_eq!(part, from);
        }
        for at in 0..29 {
            assert_eq!(storage.byte(at), model[at as usize]);
        }
        // SAFETY: both lie in the storage, at multiples of their width.
        let (low, high) = unsafe { (storage.load::<u16>(6), storage.load::<u32>(24)) };
        assert_eq!((low.to_le_bytes(), &high.to_le_bytes()[..]), ([model[6], model[7]], &model[24..28]));
        storage.atomic32(24).store(5, Relaxed);
        storage.atomic64(8).fetch_add(1 << 63, Relaxed);
        assert_eq!((storage.byte(24), storage.byte(15)), (5, model[15] ^ 0x80));
    }

    #[test]
    fn marks_are_those_of_a_plain_set() {
        let (storage, mut model, mut rng) = (Storage::fresh(29), [false; 29], fastrand::Rng::with_seed(1));
        for _ in 0..150 {
            let (start, end, is_written) = (rng.usize(..30), rng.usize(..30), rng.u32(..4) > 0);
            let range = start.min(end)..start.max(end);
            storage.mark(range.start as u64, range.len() as u64, is_written);
            model[range].fill(is_written);
            for (from, to) in (0..30).flat_map(|from| (from..30).map(move |to| (from, to))) {
                let gap = (from..to).find(|&at| !model[at]).map(|at| at as u64);
                assert_eq!(storage.first_unwritten(from as u64, (to - from) as u64), gap, "{from}..{to} of {model:?}");
            }
        }
        storage.forget_tracking();
        assert_eq!(storage.first_unwritten(0, 29), None);
    }

    #[test]
    fn memory_of_the_host_is_the_callers() {
        let mut words = [1u64, 2, 3];
        // SAFETY: the array outlives the storage, and nothing else names it meanwhile.
        let storage = unsafe { Storage::mapped(words.as_mut_ptr().cast(), 24) };
        storage.write(7, &[9, 9]);
        assert!(storage.is_mapped() && storage.first_unwritten(0, 24).is_none());
        drop(storage);
        assert_eq!(words, [1 | 9 << 56, 9, 3]);
    }

    #[test]
    fn threads_that_race_find_words_that_were_stored() {
        let storage = &Storage::fresh(8);
        thread::scope(|scope| {
            for value in [0x1111_1111_1111_1111u64, 0x2222_2222_2222_2222] {
                // SAFETY: the word lies in the storage, at its start.
                scope.spawn(move || (0..50).for_each(|_| unsafe { storage.store(0, value) }));
            }
            // SAFETY: as for the stores.
            let word = || unsafe { storage.load::<u64>(0) };
            assert!(
                (0..50).map(|_| word()).all(|word| matches!(word >> 60, 0..3) && word % 0x1111_1111_1111_1111 == 0)
            );
        });
    }
}
