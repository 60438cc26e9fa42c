//! Host memory for keys: wiped when dropped, and on huge pages from 4 MiB on.
//!
//! Fresh memory costs a fault for each page, and returning it costs as much again. For a ReLU of 64
//! bits, which has 952 bytes of keys, both took longer than the walk of its tree; with pages of
//! 2 MiB neither shows.

use core::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;
use zeroize::Zeroize;

/// The fewest bytes that are mapped; allocators keep smaller blocks for the next use.
const LEAST_MAPPED: usize = 2 * HUGE_PAGE;

/// A huge page. Systems place mappings of whole huge pages at their borders.
const HUGE_PAGE: usize = 2 << 20;

/// A fixed number of elements that are secret.
#[derive(Default)]
pub(crate) struct Section<T: Pod + Zeroize> {
    memory: Memory<T>,
    len: usize,
}

enum Memory<T> {
    Allocated(Vec<T>),
    Mapped(MmapMut),
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self::Allocated(Vec::new())
    }
}

impl<T: Pod + Zeroize> Section<T> {
    /// Zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>());
        let mapped = if bytes < LEAST_MAPPED { None } else { map(bytes) };
        let memory = mapped.map_or_else(|| Memory::Allocated(vec![T::zeroed(); len]), Memory::Mapped);
        Self { memory, len }
    }

    /// Adds the little-endian bytes of all elements to `out`.
    pub(crate) fn put_le_bytes(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(bytemuck::cast_slice(self));
        swap_on_big_endian::<T>(&mut out[start..]);
    }

    /// A copy of `rows`, one after the other; `len` is the length of all of them.
    pub(crate) fn of_rows<'a>(len: usize, rows: impl IntoIterator<Item = &'a [T]>) -> Self
    where
        T: 'a,
    {
        let mut section = Self::zeroed(len);
        let mut rest = &mut section[..];
        for row in rows {
            let (target, after) = rest.split_at_mut(row.len());
            target.copy_from_slice(row);
            rest = after;
        }
        section
    }

    fn wipe(&mut self) {
        self.iter_mut().zeroize();
    }
}

/// Turns elements of type `T` from little-endian to the order of this machine, and back.
pub(crate) fn swap_on_big_endian<T>(bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
}

/// Memory on huge pages if the system has them; `None` if it refuses the mapping.
fn map(bytes: usize) -> Option<MmapMut> {
    let mapped = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE_PAGE)?).ok()?;
    #[cfg(target_os = "linux")]
    let _ = mapped.advise(memmap2::Advice::HugePage); // a system without huge pages refuses, which does no harm
    Some(mapped)
}

impl<T: Pod + Zeroize> Deref for Section<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Allocated(elements) => elements,
            Memory::Mapped(mapped) => bytemuck::cast_slice(&mapped[..self.len * size_of::<T>()]),
        }
    }
}

impl<T: Pod + Zeroize> DerefMut for Section<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Allocated(elements) => elements,
            Memory::Mapped(mapped) => bytemuck::cast_slice_mut(&mut mapped[..self.len * size_of::<T>()]),
        }
    }
}

impl<T: Pod + Zeroize> Drop for Section<T> {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_all_sizes_hold_what_is_written() {
        for len in [0, 1, 33, LEAST_MAPPED / 16 - 1, LEAST_MAPPED / 16, LEAST_MAPPED / 16 + 1, LEAST_MAPPED / 4 + 5] {
            let mut section = Section::<u128>::zeroed(len);
            assert!(section.len() == len && section.iter().all(|&element| element == 0));
            section.iter_mut().enumerate().for_each(|(i, element)| *element = i as u128);
            assert!(section.iter().enumerate().all(|(i, &element)| element == i as u128));
            let rows = section.chunks(1000).collect::<Vec<_>>();
            let copy = Section::of_rows(len, rows);
            assert!(copy[..] == section[..]);
            assert_eq!(matches!(copy.memory, Memory::Mapped(_)), 16 * len >= LEAST_MAPPED);
            section.wipe();
            assert!(section.iter().all(|&element| element == 0));
        }
    }
}
