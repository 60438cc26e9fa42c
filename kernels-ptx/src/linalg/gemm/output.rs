//! Output of a sum: factor, bias, activation, accumulation and the one rounding.
//!
//! A sum may also go to a place among partial sums, as it is.
//!
//! # Safety
//! As in [`gemm`](super); a tile belongs to the product, and one thread takes an element.

use core_types::params::{elementwise::Activation, gemm::GemmParams};

use super::{
    super::{activation::value, real::Real},
    Tile, counts, place,
};
use crate::dev::{idx, numeric::math::fma};

/// One result of the batch.
pub struct Output<T> {
    c: *mut T,
    row: u64,
    col: u64,
    m: u32,
    n: u32,
    bias: *const T,
    activation: Activation,
    accumulate: bool,
    alpha: f32,
    work: *mut f32,
}

impl<T: Real> Output<T> {
    /// The result that `tile` belongs to, or, with partial sums, the block's part of it.
    #[inline(always)]
    pub unsafe fn new(p: &GemmParams, tile: &Tile, bias: *const T, c: *mut T, work: *mut f32) -> Self {
        let (m, n) = (p.m as u32, p.n as u32);
        let (results, _) = counts(p);
        let part = u64::from(idx::bid_y()) * u64::from(results) + u64::from(tile.matrix);
        Self {
            c: c.add(place(p, &p.c, tile.matrix, 0) as usize),
            row: p.c.row,
            col: p.c.col,
            m,
            n,
            bias,
            activation: p.activation,
            accumulate: p.accumulate != 0,
            alpha: p.alpha,
            work: if work.is_null() { work } else { work.add((part * u64::from(m) * u64::from(n)) as usize) },
        }
    }

    #[inline(always)]
    unsafe fn at(&self, row: u32, col: u32) -> *mut T {
        self.c.add((u64::from(row) * self.row + u64::from(col) * self.col) as usize)
    }

    #[inline(always)]
    unsafe fn finish(&self, row: u32, col: u32, sum: f32) -> f32 {
        if self.accumulate {
            return fma(self.alpha, sum, (*self.at(row, col)).widen());
        }
        let bias = if self.bias.is_null() { 0.0 } else { (*self.bias.add(col as usize)).widen() };
        value(self.activation, fma(self.alpha, sum, bias))
    }

    /// Takes the sum of one element, which need not exist.
    #[inline(always)]
    pub unsafe fn put(&self, row: u32, col: u32, sum: f32) {
        if row < self.m && col < self.n {
            self.put_existing(row, col, sum);
        }
    }

    /// Takes the sum of one element.
    #[inline(always)]
    pub unsafe fn put_existing(&self, row: u32, col: u32, sum: f32) {
        if self.work.is_null() {
            *self.at(row, col) = T::narrow(self.finish(row, col, sum));
        } else {
            *self.work.add((u64::from(row) * u64::from(self.n) + u64::from(col)) as usize) = sum;
        }
    }

    /// Takes the sums of two neighbours in a row.
    ///
    /// They need not exist, but if rows are `EVEN`, either both or neither do.
    #[inline(always)]
    pub unsafe fn put2<const EVEN: bool>(&self, row: u32, col: u32, [a, b]: [f32; 2]) {
        if row >= self.m || col >= self.n {
            return;
        }
        let both = EVEN || col + 1 < self.n;
        if !self.work.is_null() {
            let work = self.work.add((u64::from(row) * u64::from(self.n) + u64::from(col)) as usize);
            *work = a;
            if both {
                *work.add(1) = b;
            }
            return;
        }
        let first = self.finish(row, col, a);
        let second = if both { self.finish(row, col + 1, b) } else { 0.0 };
        if both && self.col == 1 {
            T::store2(self.at(row, col), [first, second]);
        } else {
            *self.at(row, col) = T::narrow(first);
            if both {
                *self.at(row, col + 1) = T::narrow(second);
            }
        }
    }
}
