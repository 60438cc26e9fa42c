//! Asynchronous copies of tiles of both factors into a ring of stages.
//!
//! A tile has `LINES` rows of A (or columns of B) and a depth that is four chunks of 16 bytes.
//! Where the factor is contiguous along k, a line of the tile in memory runs along k and has four
//! chunks, else it runs across and the number of lines is the depth of the tile.
//!
//! # Safety
//! As in [`gemm`](super); lines of both factors begin and end at multiples of 16 bytes, and a stage
//! lies in the block's shared memory.

use crate::dev::{
    idx,
    memory::{
        cp_async::{commit, cp16_zfill},
        smem::SharedAddr,
    },
    unroll::unroll,
};

/// The position of a factor's lines.
pub struct Lines<T> {
    /// First element of the matrix.
    pub matrix: *const T,
    /// Elements from one index along k to the next.
    pub k_stride: u64,
    /// Elements from one line to the next.
    pub stride: u64,
    /// First line of the tile.
    pub first: u32,
    /// Lines of the matrix.
    pub count: u32,
}

/// One factor, as one of `THREADS` threads copies it.
///
/// The thread copies the same chunk of every `STEP`-th line in memory.
///
/// It keeps one chunk's place and derives the others, since registers are short.
pub struct Factor<T, const LINES: u32, const THREADS: u32, const ALONG_K: bool> {
    /// The first chunk of the next tile; past the matrix if there is none, and then not read.
    source: *const T,
    /// Byte offset of the chunk in a tile.
    target: u32,
    /// Bytes from line to line of a tile in memory order.
    pitch: u32,
    /// Index along k of the chunk's first element in its tile.
    k: u32,
    /// Lines of the matrix from the chunk's first element on.
    left: u32,
    k_stride: u64,
    stride: u64,
}

impl<T, const LINES: u32, const THREADS: u32, const ALONG_K: bool> Factor<T, LINES, THREADS, ALONG_K> {
    /// Elements of a chunk.
    const CHUNK: u32 = 16 / size_of::<T>() as u32;
    /// Depth of a tile.
    const DEPTH: u32 = 4 * Self::CHUNK;
    /// Chunks of a line in memory.
    const PARTS: u32 = if ALONG_K { 4 } else { LINES / Self::CHUNK };
    /// Lines in memory between two chunks of a thread.
    ///
    /// It is a multiple of 8, after which permutations of chunks repeat.
    const STEP: u32 = THREADS / Self::PARTS;
    /// Chunks of a tile that a thread copies.
    const COUNT: u32 = 4 * LINES / THREADS;

    /// A factor from index `k_first` along k on.
    ///
    /// `target` is the byte offset in a tile of chunk `part` of a line in memory, for lines that
    /// lie `pitch` bytes apart.
    #[inline(always)]
    pub fn new(lines: &Lines<T>, k_first: u32, pitch: u32, target: impl Fn(u32, u32) -> u32) -> Self {
        let Lines { matrix, k_stride, stride, first, count } = *lines;
        let (line, part) = (idx::tid_x() / Self::PARTS, idx::tid_x() % Self::PARTS);
        let (k, across) = if ALONG_K { (part * Self::CHUNK, line) } else { (line, part * Self::CHUNK) };
        let at = u64::from(first + across) * stride + u64::from(k_first + k) * k_stride;
        Self {
            source: matrix.wrapping_add(at as usize),
            target: target(line, part),
            pitch,
            k,
            left: count.saturating_sub(first + across),
            k_stride,
            stride,
        }
    }

    /// Starts the copy of the next tile to `stage`; `k_left` indices remain along k.
    #[inline(always)]
    unsafe fn copy(&mut self, stage: SharedAddr, k_left: u32) {
        unroll!(I in 0..4 => {
            if I < Self::COUNT {
                let lines = I * Self::STEP;
                let (exists, elements, stride) = if ALONG_K {
                    (lines < self.left, k_left.saturating_sub(self.k), self.stride)
                } else {
                    (self.k + lines < k_left, self.left, self.k_stride)
                };
                let bytes = if exists { elements.min(Self::CHUNK) * size_of::<T>() as u32 } else { 0 };
                let source = self.source.wrapping_add((u64::from(lines) * stride) as usize);
                cp16_zfill(stage.offset(self.target + lines * self.pitch), source, bytes);
            }
        });
        self.source = self.source.wrapping_add((u64::from(Self::DEPTH) * self.k_stride) as usize);
    }
}

/// Both factors of one term and the next tile to copy.
pub struct Feed<T, const LINES: u32, const THREADS: u32, const A_ALONG_K: bool, const B_ALONG_K: bool> {
    /// The first factor.
    pub a: Factor<T, LINES, THREADS, A_ALONG_K>,
    /// The second factor.
    pub b: Factor<T, LINES, THREADS, B_ALONG_K>,
    /// Byte offset of B's tile in a stage.
    pub b_offset: u32,
    /// Indices along k that are not yet on their way.
    pub k_left: u32,
}

impl<T, const LINES: u32, const THREADS: u32, const A_ALONG_K: bool, const B_ALONG_K: bool>
    Feed<T, LINES, THREADS, A_ALONG_K, B_ALONG_K>
{
    /// Starts the copy of the next tiles, if there are any, and closes a group of copies.
    #[inline(always)]
    pub unsafe fn next(&mut self, stage: SharedAddr) {
        if self.k_left > 0 {
            self.a.copy(stage, self.k_left);
            self.b.copy(stage.offset(self.b_offset), self.k_left);
            self.k_left = self.k_left.saturating_sub(Factor::<T, LINES, THREADS, A_ALONG_K>::DEPTH);
        }
        commit();
    }
}
