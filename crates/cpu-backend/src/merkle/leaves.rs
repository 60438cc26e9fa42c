//! Leaves of a tree of columns.
//!
//! Leaf `j` of a tree of height `h` is Blake2s of one word of each column, the smallest columns
//! first: word `((j >> (h-l+1)) << 1) + (j & 1)` of `2^l`, `l >= 1` (stwo 2.3, `core/vcs_lifted`).
//! A tile of rows goes through all columns, one block of a message after the other.

use core_types::{
    air::lifted,
    blake2s::{BLOCK_WORDS, Digest, START},
    params::columns::ColumnAt,
};

use crate::{
    blake2s::{compress, rows_of_planes},
    simd::{LaneKernel, WIDEST, bits::Bits},
};

/// Most leaves of a tile.
///
/// The chaining values of a tile fit the first-level cache, and it reads a page of each column.
pub(super) const TILE: usize = 1 << 10;

/// Words of scratch of a tile.
pub(super) const SCRATCH: usize = 8 * TILE;

/// Rows at a time for which smaller columns are written out.
const STRIP: usize = 128;

/// Prefetch distance in rows of a column.
///
/// Processors follow a page by themselves, but each block of a message begins sixteen pages.
const AHEAD: usize = 48;

const NOTHING: [u32; STRIP] = [0; STRIP];

/// `2^k` leaves that follow each other, at most [`TILE`] and all of them if there are fewer.
///
/// The chaining value of a row has one word per plane. While all columns so far are smaller than
/// the tree, the tile has one row per value of the largest of them, and at least one vector of
/// rows.
pub(super) struct LeafTile<'a> {
    /// The buffer of the columns.
    pub(super) words: &'a [u32],
    /// The columns, the smallest first.
    pub(super) columns: &'a [ColumnAt],
    /// Height of the tree.
    pub(super) log_leaves: u32,
    /// Number of the first leaf.
    pub(super) first: u32,
    /// The leaves.
    pub(super) leaves: &'a mut [Digest],
}

impl LeafTile<'_> {
    /// The values of a column that the leaves take.
    fn part(&self, column: &ColumnAt) -> &[u32] {
        let log_tiles = self.log_leaves - self.leaves.len().ilog2();
        let log_len = column.log_len.saturating_sub(log_tiles).max(column.log_len.min(1));
        let at = if column.log_len == 0 { 0 } else { lifted(self.first, self.log_leaves, column.log_len) };
        &self.words[column.first as usize + at as usize..][..1 << log_len]
    }
}

impl<L: Bits> LaneKernel<L> for LeafTile<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        // Chaining values of one vector of rows, which is the least.
        let mut chain: Box<[[u32; TILE]; 8]> = bytemuck::zeroed_box();
        for (plane, word) in chain.iter_mut().zip(START) {
            plane[..L::N].fill(word);
        }
        let mut rows = L::N;
        let mut scratch = [[0; STRIP]; BLOCK_WORDS];
        let count = self.columns.len();
        // Each block of sixteen columns; rows are repeated when columns get larger.
        for block in 0..count.div_ceil(BLOCK_WORDS).max(1) {
            let end = count.min((block + 1) * BLOCK_WORDS);
            let mut parts: [&[u32]; BLOCK_WORDS] = [&[]; BLOCK_WORDS];
            for (part, column) in parts.iter_mut().zip(&self.columns[block * BLOCK_WORDS..end]) {
                *part = self.part(column);
                stretch(&mut *chain, &mut rows, part.len());
            }
            // A strip of rows: smaller columns are lifted to it, and all words are compressed.
            for first in (0..rows).step_by(STRIP) {
                let len = STRIP.min(rows - first);
                let mut messages: [&[u32]; BLOCK_WORDS] = [&NOTHING; BLOCK_WORDS];
                for ((message, part), scratch) in messages.iter_mut().zip(parts).zip(&mut scratch) {
                    if part.len() == rows {
                        *message = &part[first..first + len];
                    } else if !part.is_empty() {
                        lift(part, rows, first, &mut scratch[..len]);
                        *message = &scratch[..len];
                    }
                }
                let (bytes, last) = (4 * end as u64, end == count);
                for at in (0..len).step_by(L::N) {
                    let (mut words, mut state) = ([l.splat(0); BLOCK_WORDS], [l.splat(0); 8]);
                    for (word, message) in words.iter_mut().zip(&messages) {
                        l.prefetch(message.as_ptr().wrapping_add(at + AHEAD));
                        *word = l.load(&message[at..]);
                    }
                    for (word, plane) in state.iter_mut().zip(&*chain) {
                        *word = l.load(&plane[first + at..]);
                    }
                    let state = compress(l, state, &words, bytes, last);
                    for (&word, plane) in state.iter().zip(&mut *chain) {
                        l.store(&mut plane[first + at..], word);
                    }
                }
            }
        }
        // If all columns are smaller than the tree, rows are repeated once more.
        stretch(&mut *chain, &mut rows, self.leaves.len());
        store(l, &chain, self.leaves);
    }
}

/// Repeats the first `rows` words of each plane until they are `more`, if that is more.
fn stretch(planes: &mut [[u32; TILE]], rows: &mut usize, more: usize) {
    if more <= *rows {
        return;
    }
    let times = (more / *rows).ilog2();
    for plane in planes {
        let pairs = plane[..more].as_chunks_mut::<2>().0;
        // From the last one on: a pair is read before it is written, or stays as it is.
        for i in (0..pairs.len()).rev() {
            pairs[i] = pairs[i >> times];
        }
    }
    *rows = more;
}

/// Rows `first` and following of a column that is lifted from `part` to `rows` values.
fn lift(part: &[u32], rows: usize, first: usize, out: &mut [u32]) {
    let (pairs, single) = part.as_chunks::<2>();
    if let &[word] = single {
        return out.fill(word);
    }
    let times = (rows / part.len()).ilog2();
    for (i, pair) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        *pair = pairs[(first / 2 + i) >> times];
    }
}

/// Writes the first words of the planes as digests: one per leaf, or a vector of lifted ones.
#[inline(always)]
fn store<L: Bits>(l: L, planes: &[[u32; TILE]; 8], leaves: &mut [Digest]) {
    let mut few = [Digest::default(); WIDEST];
    let direct = leaves.len() >= L::N;
    let target = bytemuck::must_cast_slice_mut::<_, u32>(if direct { &mut *leaves } else { &mut few[..L::N] });
    for (i, rows) in target.chunks_exact_mut(8 * L::N).enumerate() {
        let mut words = [l.splat(0); 8];
        for (word, plane) in words.iter_mut().zip(planes) {
            *word = l.load(&plane[i * L::N..]);
        }
        for (j, &row) in rows_of_planes(l, words).iter().enumerate() {
            l.store(&mut rows[j * L::N..], row);
        }
    }
    if !direct {
        let log_leaves = leaves.len().ilog2();
        for (i, leaf) in leaves.iter_mut().enumerate() {
            *leaf = few[lifted(i as u32, log_leaves, L::LOG) as usize];
        }
    }
}
