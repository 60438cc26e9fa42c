//! Tiles of vectors in shared memory, and the threads that multiply them.
//!
//! A block has a tile of rows, and reads tiles of [`LINES`] lines. Vectors are padded with zeros.
//! An [`Engine`] multiplies rows with lines, and weights with lines.
//!
//! # Safety
//! Tiles lie in the block's shared memory, with a barrier between writes and reads. All threads of
//! the block call the methods of an engine together.

use core_types::params::attention::HeadStrides;

use super::super::{
    gemm::shared::load,
    real::{Real, aligned4},
};
use crate::dev::{idx, memory::smem::SharedAddr, unroll::unroll};

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Lines of a tile.
pub const LINES: u32 = 32;
/// Elements of a thread's part of a product of rows and lines.
pub const OWN: usize = 16;
/// Bytes from row to row of a tile of weights.
///
/// With this distance, neither writes of single weights nor reads of four meet bank conflicts.
pub const WEIGHT_PITCH: u32 = (LINES + 8) * 4;
/// The weight of a line that the row does not read.
///
/// No other weight is the negative zero, unless it is a gradient that underflows.
pub const LEFT_OUT: f32 = -0.0;

/// Whether a number is neither infinite nor NaN.
#[inline(always)]
pub fn is_finite(x: f32) -> bool {
    x.to_bits() & 0x7f80_0000 != 0x7f80_0000
}

/// Whether a line with this weight is read.
#[inline(always)]
pub fn is_read(weight: f32) -> bool {
    weight.to_bits() != LEFT_OUT.to_bits()
}

/// How the threads of a block divide and multiply tiles.
///
/// Thread element `i OWN_LINES + j` of a product of rows and lines is of row `row(i)` and line
/// `line(j)`.
pub trait Engine<T: Real> {
    /// Rows of a block.
    const ROWS: u32;
    /// Rows of a thread, at most 4.
    const OWN_ROWS: u32;
    /// Lines of a thread, at most 8.
    const OWN_LINES: u32;
    /// Elements of a vector of a tile, a multiple of four.
    const WIDTH: u32;
    /// Bytes from vector to vector of a tile.
    const PITCH: u32;
    /// A thread's part of a product of weights and lines.
    type Sums: Copy;
    /// No product yet.
    const ZERO: Self::Sums;
    /// Four elements.
    type Four: Copy;
    /// Four zeros.
    const NOTHING: Self::Four;
    /// A tile of rows, or a thread's part of it, in registers.
    type Held;
    /// Whether tiles that every row reads whole take a separate path.
    const WHOLE_TILES: bool;

    /// Row `i` of this thread.
    fn row(i: u32) -> u32;

    /// Line `j` of this thread.
    fn line(j: u32) -> u32;

    /// `combine` over the threads that share a row; each of them gets the result.
    fn across_row(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32;

    /// Reads four elements from a multiple of four on.
    unsafe fn load(x: *const T) -> Self::Four;

    /// Whether all of four elements are finite.
    fn are_finite(four: Self::Four) -> bool;

    /// Writes four elements of the vector at `at`, from a multiple of four on.
    unsafe fn store(at: SharedAddr, column: u32, four: Self::Four);

    /// Writes an element of the vector at `at`.
    unsafe fn set(at: SharedAddr, column: u32, x: f32);

    /// The products of the thread's rows and lines, over `dim` elements.
    unsafe fn dots(rows: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN];

    /// Copies a tile of rows to registers, after a barrier; nothing if the engine holds no rows.
    unsafe fn hold(rows: SharedAddr) -> Self::Held;

    /// As [`dots`](Self::dots), for rows that are held.
    unsafe fn held_dots(held: &Self::Held, rows: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN];

    /// exp(x) for x <= 0 or NaN. A result below 2^-125 may be 0.
    fn exp_nonpositive(x: f32) -> f32;

    /// Adds the product of weights and lines, at least of the first `dim` columns.
    ///
    /// Lines with the weight [`LEFT_OUT`] have no effect. `special` states that the lines may have
    /// elements that are not finite: only then they are left out one by one. `room` is a tile of
    /// weights that the warp may overwrite.
    unsafe fn add_lines(
        sums: &mut Self::Sums,
        weights: &[f32; OWN],
        room: SharedAddr,
        lines: SharedAddr,
        dim: u32,
        special: bool,
    );

    /// Multiplies the sums of row `i` by a factor.
    fn scale(sums: &mut Self::Sums, i: u32, factor: f32);

    /// Writes the sums of row `i`, times a factor, to the vector `y` of `dim` elements.
    ///
    /// `wide` states that it begins and ends at a multiple of four elements.
    unsafe fn put<Y: Real>(sums: &Self::Sums, i: u32, factor: f32, y: *mut Y, wide: bool, dim: u32);

    /// Copies the first `live` of `count` vectors to a tile, and zeros for the others.
    ///
    /// `start` is the place of a vector in the tensor. The result is whether the thread has copied
    /// an element that is not finite.
    #[inline(always)]
    unsafe fn fill(of: &Vectors<T>, count: u32, live: u32, tile: SharedAddr, start: impl Fn(u32) -> u64) -> bool {
        let mut special = false;
        if of.wide {
            // The block copies `step` vectors at a time, each thread at the same column.
            let step = 4 * THREADS / Self::WIDTH;
            let (own, column) = (4 * idx::tid_x() / Self::WIDTH, 4 * idx::tid_x() % Self::WIDTH);
            let mut first = 0;
            while first < count {
                // Four loads at a time, so that they overlap.
                let mut values = [Self::NOTHING; 4];
                unroll!(I in 0..4 => {
                    let vector = first + I * step + own;
                    if first + I * step < count && vector < live && column < of.dim {
                        values[I as usize] = Self::load(of.x.add((start(vector) + u64::from(column)) as usize));
                    }
                });
                unroll!(I in 0..4 => {
                    if first + I * step < count {
                        special |= !Self::are_finite(values[I as usize]);
                        let vector = first + I * step + own;
                        Self::store(tile.offset(vector * Self::PITCH), column, values[I as usize]);
                    }
                });
                first += 4 * step;
            }
        } else {
            let mut element = idx::tid_x();
            while element < count * Self::WIDTH {
                let (vector, column) = (element / Self::WIDTH, element % Self::WIDTH);
                let mut x = 0.0;
                if vector < live && column < of.dim {
                    x = (*of.x.add((start(vector) + u64::from(column)) as usize)).widen();
                }
                special |= !is_finite(x);
                Self::set(tile.offset(vector * Self::PITCH), column, x);
                element += THREADS;
            }
        }
        special
    }

    /// Bytes of a tile of `count` vectors.
    #[inline(always)]
    fn bytes(count: u32) -> u32 {
        count * Self::PITCH
    }

    /// Address in a tile of weights of element `i`, `j` of this thread.
    #[inline(always)]
    fn weight(weights: SharedAddr, i: u32, j: u32) -> SharedAddr {
        weights.offset(Self::row(i) * WEIGHT_PITCH + Self::line(j) * 4)
    }

    /// Writes the thread's elements to a tile of weights.
    #[inline(always)]
    unsafe fn write(weights: SharedAddr, values: &[f32; OWN]) {
        unroll!(I in 0..4 => {
            unroll!(J in 0..8 => {
                if I < Self::OWN_ROWS && J < Self::OWN_LINES {
                    Self::weight(weights, I, J).store(values[(I * Self::OWN_LINES + J) as usize].to_bits());
                }
            });
        });
    }

    /// An element that the thread has written to a tile of weights.
    #[inline(always)]
    unsafe fn read(weights: SharedAddr, i: u32, j: u32) -> f32 {
        load(Self::weight(weights, i, j))
    }
}

/// Vectors of a tensor.
#[derive(Clone, Copy)]
pub struct Vectors<T> {
    /// The tensor.
    pub x: *const T,
    /// Elements of a vector.
    pub dim: u32,
    /// Whether each vector begins and ends at a multiple of four elements.
    pub wide: bool,
}

/// Whether each vector of a tensor begins and ends at a multiple of four elements.
#[inline(always)]
pub fn is_wide<T>(x: *const T, strides: &HeadStrides, dim: u32) -> bool {
    aligned4(x) && (strides.batch | strides.head | strides.row | u64::from(dim)) % 4 == 0
}

impl<T> Vectors<T> {
    /// The vectors of `dim` elements of a tensor.
    #[inline(always)]
    pub fn new(x: *const T, strides: &HeadStrides, dim: u32) -> Self {
        Self { x, dim, wide: is_wide(x, strides, dim) }
    }
}
