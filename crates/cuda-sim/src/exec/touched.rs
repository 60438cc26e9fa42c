//! Bytes of global memory that a launch touches.
//!
//! A driver compares them with other work.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Access;

/// Bytes of one page.
const PAGE: u64 = 4096;
/// Words of one page's bits.
const WORDS: usize = PAGE as usize / 64;

/// The bytes of global memory that a launch touches, by kind of access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    reads: Bytes,
    writes: Bytes,
    atomics: Bytes,
    strong_reads: Bytes,
}

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Bytes {
    /// Index of each page in `bits`.
    pages: BTreeMap<u64, usize>,
    /// One bit for each byte of a page.
    bits: Vec<[u64; WORDS]>,
    /// One more than the number of the page that was used last, and its index.
    last: (u64, usize),
}

impl Touched {
    /// Notes an access, which writes or only reads.
    pub(super) fn note(&mut self, access: Access, writes: bool, bytes: Range<u64>) {
        match access {
            Access::Read | Access::ConstantRead | Access::AsyncRead => self.reads.add(bytes),
            Access::Write | Access::AsyncWrite => self.writes.add(bytes),
            Access::Atomic | Access::BlockAtomic | Access::Volatile if !writes => self.strong_reads.add(bytes),
            Access::Atomic | Access::BlockAtomic | Access::Volatile => self.atomics.add(bytes),
        }
    }

    /// Bytes that plain loads read, as ranges in ascending order.
    pub fn reads(&self) -> Vec<Range<u64>> {
        self.reads.ranges()
    }

    /// Bytes that plain stores write, likewise.
    pub fn writes(&self) -> Vec<Range<u64>> {
        self.writes.ranges()
    }

    /// Bytes that atomics and synchronising stores go to, likewise.
    pub fn atomics(&self) -> Vec<Range<u64>> {
        self.atomics.ranges()
    }

    /// Bytes that synchronising loads read, likewise.
    pub fn strong_reads(&self) -> Vec<Range<u64>> {
        self.strong_reads.ranges()
    }

    /// Adds what another part of the launch touches.
    pub(super) fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.reads, &other.reads),
            (&mut self.writes, &other.writes),
            (&mut self.atomics, &other.atomics),
            (&mut self.strong_reads, &other.strong_reads),
        ] {
            theirs.ranges().into_iter().for_each(|range| mine.add(range));
        }
    }
}

impl Bytes {
    fn add(&mut self, bytes: Range<u64>) {
        let mut at = bytes.start;
        while at < bytes.end {
            let (page, from) = (at / PAGE, at % PAGE);
            let to = (bytes.end - page * PAGE).min(PAGE);
            let bits = self.page(page);
            // Most accesses lie within a word of bits, or fill some.
            let (first, last) = ((from / 64) as usize, ((to - 1) / 64) as usize);
            let (low, high) = (u64::MAX << (from % 64), u64::MAX >> (63 - (to - 1) % 64));
            if first == last {
                bits[first] |= low & high;
            } else {
                bits[first] |= low;
                bits[first + 1..last].fill(u64::MAX);
                bits[last] |= high;
            }
            at = page * PAGE + to;
        }
    }

    fn page(&mut self, page: u64) -> &mut [u64; WORDS] {
        if self.last.0 != page + 1 {
            let fresh = self.bits.len();
            let index = *self.pages.entry(page).or_insert(fresh);
            if index == fresh {
                self.bits.push([0; WORDS]);
            }
            self.last = (page + 1, index);
        }
        &mut self.bits[self.last.1]
    }

    fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut push = |start: u64, end: u64| match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        };
        for (&page, &index) in &self.pages {
            for (word, &bits) in self.bits[index].iter().enumerate() {
                let base = page * PAGE + word as u64 * 64;
                let mut left = bits;
                while left != 0 {
                    let start = left.trailing_zeros();
                    let length = (!(left >> start)).trailing_zeros();
                    push(base + u64::from(start), base + u64::from(start + length));
                    left = if start + length == 64 { 0 } else { left & u64::MAX << (start + length) };
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::super::Access;
    use super::*;

    #[test]
    fn bytes_become_the_fewest_ranges_whatever_the_order() {
        let mut touched = Touched::default();
        for range in [8190..8194, 4096..4097, 0..64, 64..128, 130..131, 4000..8190, 12_000..20_000] {
            touched.note(Access::Read, false, range);
        }
        assert_eq!(touched.reads(), [0..128, 130..131, 4000..8194, 12_000..20_000]);
        touched.note(Access::Write, true, 5..5);
        assert!(touched.writes().is_empty() && touched.atomics().is_empty());
    }

    #[test]
    fn ranges_are_those_of_a_plain_set() {
        let (mut touched, mut set, mut rng) = (Touched::default(), vec![false; 20_000], fastrand::Rng::with_seed(1));
        for _ in 0..2000 {
            let (start, length) = (rng.u64(..0x4000), rng.u64(1..=70));
            touched.note(Access::Atomic, true, start..start + length);
            set[start as usize..(start + length) as usize].fill(true);
        }
        let mut found = vec![false; set.len()];
        for range in touched.atomics() {
            found[range.start as usize..range.end as usize].fill(true);
        }
        assert!(found == set);
        let mut sum = Touched::default();
        sum.add(&touched);
        assert_eq!(sum.atomics(), touched.atomics());
    }
}
