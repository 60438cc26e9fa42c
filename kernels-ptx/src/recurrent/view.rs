//! The view of states when they are read: a layer norm and a dropout.
//!
//! # Safety
//! All threads of the block call each function, in uniform control flow. `gamma` and `beta` hold a
//! state's elements, or are both null.

use core_types::params::recurrent::StateMask;

use super::head::{add, of_lane};
use crate::dev::{
    memory::smem::SharedSlice,
    numeric::math::{fma, sqrt},
    sync::block_sync,
    warp::reduce,
};

/// A transformation of states.
#[derive(Clone, Copy)]
pub struct View {
    pub gamma: *const f32,
    pub beta: *const f32,
    pub eps: f32,
    pub mask: StateMask,
}

impl View {
    /// Whether it is anything.
    #[inline(always)]
    pub fn changes(&self) -> bool {
        !self.gamma.is_null() || self.mask.threshold > 0
    }

    /// The state `h` of a row as it is read.
    ///
    /// The first element of the state has the index `first`. The warp of the row `writes` it into
    /// `into`.
    #[inline(always)]
    pub unsafe fn apply(
        &self,
        [h, into]: [SharedSlice<f32>; 2],
        hidden: u32,
        writes: bool,
        first: u64,
    ) -> SharedSlice<f32> {
        let (mut mean, mut rest, mut unit_of) = (0.0, 0.0, 1.0);
        if !self.gamma.is_null() {
            let n = hidden as f32;
            let (mut sum, mut residual, mut squares) = (0.0, 0.0, 0.0);
            for column in of_lane(hidden) {
                sum += h.get(column);
            }
            mean = reduce(sum, add) / n;
            for column in of_lane(hidden) {
                let d = h.get(column) - mean;
                residual += d;
                squares = fma(d, d, squares);
            }
            // The rounding of the mean shows as the mean of the residuals.
            rest = reduce(residual, add) / n;
            let variance = fma(-rest, rest, reduce(squares, add) / n);
            unit_of = 1.0 / sqrt(if variance < 0.0 { self.eps } else { variance + self.eps }); // NaN stays
        }
        if writes {
            for column in of_lane(hidden) {
                let mut x = h.get(column);
                if !self.gamma.is_null() {
                    let (gamma, beta) = (*self.gamma.add(column as usize), *self.beta.add(column as usize));
                    x = fma((x - mean - rest) * unit_of, gamma, beta);
                }
                into.set(column, self.mask.apply(first + u64::from(column), x));
            }
        }
        block_sync();
        into
    }
}
