//! Programs run on tiles of positions, one step after another on whole planes.
//!
//! Constraints add `sum over k of power_k C_k(p) / V(p)` to the output at position `p`. `1 / V` is
//! given for each `2^log_rows` positions, where `V` is constant.

use core::sync::atomic::{AtomicU32, Ordering};

use core_types::{
    air::neighbour,
    field::{M31, P},
    params::air::MaskAt,
};

use super::program::{PlaneAt, PlaneStep, TILE, Term, TileProgram};
use crate::simd::{
    LaneKernel,
    words::{Wide, WordVectors, secure_product},
};

/// A program over positions that follow each other.
pub(super) struct ProgramRun<'a> {
    pub(super) program: &'a TileProgram,
    pub(super) masks: &'a [MaskAt],
    /// The buffer that the columns are in.
    pub(super) values: &'a [M31],
    pub(super) log_rows: u32,
    pub(super) log_size: u32,
    /// The first position, a multiple of [`TILE`].
    pub(super) first: usize,
    /// Positions from there on.
    pub(super) positions: usize,
    /// Planes that the outputs go to, or the four planes of sums.
    pub(super) outputs: Vec<&'a mut [M31]>,
    /// What outputs count. Tasks add to the same counters, in any order.
    pub(super) counters: &'a [AtomicU32],
    /// What sums are multiplied by: a factor for each `2^log_rows` positions.
    pub(super) factors: Option<&'a [M31]>,
}

impl ProgramRun<'_> {
    /// Words of memory that a run takes: planes, indices, factors and sums.
    pub(super) fn scratch(program: &TileProgram) -> usize {
        (program.planes + program.offsets.len() + 1 + 2 * 4) * TILE
    }
}

/// Runs `$body` with `$at` at every vector of the first `$len` words.
macro_rules! for_vectors {
    ($lanes:ident, $len:expr, $at:ident, $body:expr) => {
        let mut $at = 0;
        while $at < $len {
            $body;
            $at += $lanes::WIDTH;
        }
    };
}

/// The memory of a tile.
struct TileMemory<'a> {
    masks: &'a [MaskAt],
    values: *const u32,
    planes: *mut u32,
    /// Positions, rounded up to a vector.
    len: usize,
    position: usize,
}

impl TileMemory<'_> {
    #[inline(always)]
    fn target(&self, plane: usize) -> *mut u32 {
        // SAFETY: programs name planes that the tile has.
        unsafe { self.planes.add(plane * TILE) }
    }

    #[inline(always)]
    fn source(&self, plane: PlaneAt) -> *const u32 {
        match plane {
            PlaneAt::Tile(plane) => self.target(plane),
            // SAFETY: columns lie in the buffer, and are read in place where they hold whole tiles.
            PlaneAt::Column(mask) => unsafe { self.values.add(self.masks[mask].first as usize + self.position) },
        }
    }
}

impl<L: Wide> LaneKernel<L> for ProgramRun<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        // Memory of all tiles; planes of constants are filled once.
        let mut planes = vec![0u32; (self.program.planes + 1) * TILE];
        let mut sums = vec![0u64; 4 * TILE];
        let offsets = &self.program.offsets;
        let mut indices = vec![0u32; offsets.len() * TILE];
        for &(plane, word) in &self.program.fixed {
            planes[plane * TILE..(plane + 1) * TILE].fill(word.word());
        }
        for start in (0..self.positions).step_by(TILE) {
            let count = TILE.min(self.positions - start);
            let position = self.first + start;
            // Positions of neighbouring rows, by offset.
            for (&offset, indices) in offsets.iter().zip(indices.chunks_mut(TILE)) {
                for (index, at) in indices[..count].iter_mut().zip(position as u32..) {
                    *index = neighbour(at, self.log_size, self.log_rows, offset);
                }
            }
            sums.fill(0);
            let tile = TileMemory {
                masks: self.masks,
                values: self.values.as_ptr().cast(),
                planes: planes.as_mut_ptr(),
                len: count.next_multiple_of(L::WIDTH),
                position,
            };
            // Each step runs on all positions of the tile.
            for step in &self.program.steps {
                match *step {
                    PlaneStep::Gather { target, mask, offset } => {
                        let target = tile.target(target);
                        for (k, &index) in indices[offset * TILE..][..count].iter().enumerate() {
                            // SAFETY: neighbours are positions, columns hold all of them, and `count` is at most a
                            // plane.
                            unsafe {
                                *target.add(k) = *tile.values.add(self.masks[mask].first as usize + index as usize)
                            };
                        }
                    }
                    PlaneStep::Accumulate(terms) => accumulate(l, &tile, terms, sums.as_mut_ptr()),
                    PlaneStep::Write { source, output } => {
                        let source = tile.source(source);
                        for (k, word) in self.outputs[output][start..start + count].iter_mut().enumerate() {
                            // SAFETY: planes have `count` words; what steps compute is canonical.
                            *word = unsafe { *source.add(k).cast::<M31>() };
                        }
                    }
                    PlaneStep::Bits { target, source, shift, mask } => {
                        let (target, source) = (tile.target(target), tile.source(source));
                        for at in 0..tile.len {
                            // SAFETY: planes have whole vectors up to `len`.
                            unsafe { *target.add(at) = *source.add(at) >> shift & mask };
                        }
                    }
                    PlaneStep::Xor { target, left, right } => {
                        let (target, left, right) = (tile.target(target), tile.source(left), tile.source(right));
                        for at in 0..tile.len {
                            // SAFETY: planes have whole vectors up to `len`.
                            unsafe {
                                // At most P, which is zero.
                                let word = *left.add(at) ^ *right.add(at);
                                *target.add(at) = word.min(word.wrapping_sub(P));
                            }
                        }
                    }
                    PlaneStep::Count(source) => {
                        let source = tile.source(source);
                        for k in 0..count {
                            // SAFETY: planes have `count` words.
                            if let Some(counter) = self.counters.get(unsafe { *source.add(k) } as usize) {
                                counter.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                    PlaneStep::Add { target, left, right } => {
                        let (target, left, right) = (tile.target(target), tile.source(left), tile.source(right));
                        for_vectors!(L, tile.len, at, {
                            // SAFETY: planes have whole vectors up to `len`.
                            unsafe { l.store(target.add(at), l.add(l.load(left.add(at)), l.load(right.add(at)))) }
                        });
                    }
                    PlaneStep::Sub { target, left, right } => {
                        let (target, left, right) = (tile.target(target), tile.source(left), tile.source(right));
                        for_vectors!(L, tile.len, at, {
                            // SAFETY: planes have whole vectors up to `len`.
                            unsafe { l.store(target.add(at), l.sub(l.load(left.add(at)), l.load(right.add(at)))) }
                        });
                    }
                    PlaneStep::Mul { target, left, right } => {
                        let (target, left, right) = (tile.target(target), tile.source(left), tile.source(right));
                        for_vectors!(L, tile.len, at, {
                            // SAFETY: planes have whole vectors up to `len`.
                            unsafe {
                                let factor = l.doubled(l.load(right.add(at)));
                                l.store(target.add(at), l.mul(l.load(left.add(at)), factor));
                            }
                        });
                    }
                    PlaneStep::MulSecure { target, left, right } => mul_secure(l, &tile, target, left, right),
                }
            }
            // Sums times the inverse of the vanishing polynomial are added to the output.
            if let Some(factors) = self.factors {
                let plane = self.program.planes;
                let run = 1usize << self.log_rows;
                for (k, word) in planes[plane * TILE..][..count].iter_mut().enumerate() {
                    *word = factors[(position + k) / run].word();
                }
                let factors = planes[plane * TILE..].as_ptr();
                for (sums, output) in sums.chunks(TILE).zip(&mut self.outputs) {
                    add_sums(l, sums.as_ptr(), factors, &mut output[start..start + count]);
                }
            }
        }
    }
}

/// Adds the products of four planes with their factors to the sums of the four coordinates.
#[inline(always)]
fn accumulate<L: Wide>(l: L, tile: &TileMemory<'_>, terms: [Term; 4], sums: *mut u64) {
    let planes = [
        tile.source(terms[0].plane),
        tile.source(terms[1].plane),
        tile.source(terms[2].plane),
        tile.source(terms[3].plane),
    ];
    // Factors by coordinate; a sum is folded before it takes four more products.
    let mut factors = [[0u32; 4]; 4]; // by coordinate
    for (k, term) in terms.iter().enumerate() {
        for (factors, word) in factors.iter_mut().zip(term.factor.coordinates()) {
            factors[k] = word.word();
        }
    }
    for_vectors!(L, tile.len, at, {
        // SAFETY: planes have whole vectors up to `len`, and so do the sums of each coordinate.
        unsafe {
            let mut words = [l.splat(0); 4];
            for k in 0..4 {
                words[k] = l.load(planes[k].add(at));
            }
            for (coordinate, factors) in factors.iter().enumerate() {
                let place = sums.add(coordinate * TILE + at);
                let mut sum = l.folded(l.load_sums(place));
                for k in 0..4 {
                    sum = l.add_products(sum, words[k], l.splat(factors[k]));
                }
                l.store_sums(place, sum);
            }
        }
    });
}

#[inline(always)]
fn mul_secure<L: WordVectors>(
    l: L,
    tile: &TileMemory<'_>,
    target: [usize; 4],
    left: [PlaneAt; 4],
    right: [PlaneAt; 4],
) {
    let (mut a, mut b) = ([core::ptr::null(); 4], [core::ptr::null(); 4]);
    for k in 0..4 {
        (a[k], b[k]) = (tile.source(left[k]), tile.source(right[k]));
    }
    for_vectors!(L, tile.len, at, {
        // SAFETY: planes have whole vectors up to `len`.
        unsafe {
            let (mut x, mut y) = ([l.splat(0); 4], [l.splat(0); 4]);
            for k in 0..4 {
                (x[k], y[k]) = (l.load(a[k].add(at)), l.load(b[k].add(at)));
            }
            let product = secure_product(l, x, y);
            for k in 0..4 {
                l.store(tile.target(target[k]).add(at), product[k]);
            }
        }
    });
}

/// Adds reduced sums times factors to the output.
#[inline(always)]
fn add_sums<L: Wide>(l: L, sums: *const u64, factors: *const u32, output: &mut [M31]) {
    let whole = output.len() / L::WIDTH * L::WIDTH;
    let target = output.as_mut_ptr().cast::<u32>();
    for_vectors!(L, whole, at, {
        // SAFETY: sums and factors cover the tile, and the output has whole vectors up to `whole`.
        unsafe {
            let sum = l.canonical(l.load_sums(sums.add(at)));
            let term = l.mul(sum, l.doubled(l.load(factors.add(at))));
            l.store(target.add(at), l.add(l.load(target.add(at)), term));
        }
    });
    if whole < output.len() {
        let mut words = [0u32; 16];
        // SAFETY: a vector has at most sixteen words, and tiles have a whole vector from here on.
        unsafe { l.store(words.as_mut_ptr(), l.canonical(l.load_sums(sums.add(whole)))) };
        for (k, value) in output[whole..].iter_mut().enumerate() {
            // SAFETY: the factors cover the tile.
            let factor = unsafe { *factors.add(whole + k) };
            *value += M31::from_u32(words[k]) * M31::from_u32(factor);
        }
    }
}
