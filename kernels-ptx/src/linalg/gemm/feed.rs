//! Asynchronous copies of tiles of both factors into a ring of stages.
//!
//! A tile has `LINES` rows of A (or columns of B) and a depth that is four chunks of 16 bytes. Where the factor is
//! contiguous along k, a line of the tile in memory runs along k and has four chunks, else it runs across and there are as
//! many lines as the tile is deep.

use core_types::params::gemm::{GemmParams, MatrixStrides};

use super::{Tile, place};
use crate::dev::{
    cp_async::{commit, cp16_zfill},
    idx,
    smem::SharedAddr,
    unroll::unroll,
};

/// Most chunks of one tile that a thread copies.
const MOST: usize = 4;

/// One factor, as one thread copies it.
pub struct Factor<T> {
    start: *const T,
    source: [*const T; MOST],
    target: [u32; MOST],
    k: [u32; MOST],
    bytes: [u32; MOST],
    chunks: u32,
    step: u64,
    along_k: bool,
}

/// Where a factor's lines lie: the view, the strides along k and across, the first line and the number of lines.
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

impl<T> Factor<T> {
    /// Elements of a chunk.
    const CHUNK: u32 = 16 / size_of::<T>() as u32;
    /// Depth of a tile.
    pub const DEPTH: u32 = 4 * Self::CHUNK;

    /// The share of this thread, one of `threads`, in tiles of `LINES` lines; `target` places chunk `part` of a line in memory.
    #[inline(always)]
    pub fn new<const LINES: u32, const ALONG_K: bool>(
        lines: &Lines<T>,
        k_first: u32,
        threads: u32,
        target: impl Fn(u32, u32) -> u32,
    ) -> Self {
        let start = lines.matrix.wrapping_add((u64::from(k_first) * lines.k_stride) as usize);
        let mut own = Self {
            start,
            source: [start; MOST],
            target: [0; MOST],
            k: [0; MOST],
            bytes: [0; MOST],
            chunks: 4 * LINES / threads,
            step: u64::from(Self::DEPTH) * lines.k_stride,
            along_k: ALONG_K,
        };
        unroll!(I in 0..4 => {
            if I < own.chunks {
                let chunk = idx::tid_x() + I * threads;
                let parts = if ALONG_K { 4 } else { LINES / Self::CHUNK };
                let (line, part) = (chunk / parts, chunk % parts);
                let (k, across) = if ALONG_K { (part * Self::CHUNK, line) } else { (line, part * Self::CHUNK) };
                let left = lines.count.saturating_sub(lines.first + across);
                let bytes = if ALONG_K { left.min(1) * 16 } else { left.min(Self::CHUNK) * size_of::<T>() as u32 };
                let at = u64::from(lines.first + across) * lines.stride + u64::from(k) * lines.k_stride;
                own.source[I as usize] = start.wrapping_add(at as usize);
                own.target[I as usize] = target(line, part);
                own.k[I as usize] = k;
                own.bytes[I as usize] = bytes;
            }
        });
        own
    }

    /// Starts the copy of the next tile to `stage`; `k_left` indices remain along k.
    #[inline(always)]
    unsafe fn copy(&mut self, stage: SharedAddr, k_left: u32) {
        unroll!(I in 0..4 => {
            if I < self.chunks {
                let left = k_left.saturating_sub(self.k[I as usize]);
                let bytes = if self.along_k {
                    self.bytes[I as usize].min(left.min(Self::CHUNK) * size_of::<T>() as u32)
                } else if left > 0 {
                    self.bytes[I as usize]
                } else {
                    0
                };
                let source = if bytes > 0 { self.source[I as usize] } else { self.start };
                cp16_zfill(stage.offset(self.target[I as usize]), source, bytes);
                self.source[I as usize] = self.source[I as usize].wrapping_add(self.step as usize);
            }
        });
    }

    /// Moves on by `elements`.
    #[inline(always)]
    fn shift(&mut self, elements: u64) {
        self.start = self.start.wrapping_add(elements as usize);
        unroll!(I in 0..4 => {
            self.source[I as usize] = self.source[I as usize].wrapping_add(elements as usize);
        });
    }
}

/// Both factors and the next tile to copy.
pub struct Feed<'a, T> {
    p: &'a GemmParams,
    tile: Tile,
    a: Factor<T>,
    b: Factor<T>,
    /// Byte offset of B's tile in a stage.
    b_offset: u32,
    k: u32,
    term: u32,
}

impl<'a, T> Feed<'a, T> {
    /// From the first tile of the first term on.
    #[inline(always)]
    pub fn new(p: &'a GemmParams, tile: Tile, a: Factor<T>, b: Factor<T>, b_offset: u32) -> Self {
        Self { p, tile, a, b, b_offset, k: tile.k_first, term: 0 }
    }

    /// Tiles of all terms.
    #[inline(always)]
    pub fn tiles(&self) -> u32 {
        (self.tile.k_end - self.tile.k_first).div_ceil(Factor::<T>::DEPTH) * self.tile.terms
    }

    /// Starts the copy of the next tiles, if there are any, and closes a group of copies.
    #[inline(always)]
    pub unsafe fn next(&mut self, stage: SharedAddr) {
        if self.term < self.tile.terms && self.k < self.tile.k_end {
            let k_left = self.tile.k_end - self.k;
            self.a.copy(stage, k_left);
            self.b.copy(stage.offset(self.b_offset), k_left);
            self.k += Factor::<T>::DEPTH;
            if self.k >= self.tile.k_end {
                self.next_term();
            }
        }
        commit();
    }

    /// Goes back to the first index along k, in the factors of the next term.
    #[inline(always)]
    unsafe fn next_term(&mut self) {
        let tiles = u64::from((self.k - self.tile.k_first) / Factor::<T>::DEPTH);
        self.k = self.tile.k_first;
        self.term += 1;
        if self.term < self.tile.terms {
            let by = |s: &MatrixStrides, term: u32| {
                place(self.p, s, self.tile.matrix, term).wrapping_sub(place(self.p, s, self.tile.matrix, term - 1))
            };
            let (by_a, by_b) = (by(&self.p.a, self.term), by(&self.p.b, self.term));
            self.a.rewind(tiles, by_a);
            self.b.rewind(tiles, by_b);
        }
    }
}

impl<T> Factor<T> {
    /// Takes back `tiles` copies and moves on by `elements`.
    #[inline(always)]
    fn rewind(&mut self, tiles: u64, elements: u64) {
        let start = self.start.wrapping_add(elements as usize);
        self.shift(elements.wrapping_sub(tiles.wrapping_mul(self.step)));
        self.start = start;
    }
}
