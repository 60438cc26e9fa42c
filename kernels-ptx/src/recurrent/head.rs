//! The combined state of a row and the values read from it, by a warp.
//!
//! # Safety
//! All lanes of the warp call each function, in uniform control flow. States are not zero in
//! number, and there are fewer than 2^31 products of a state's index with one of the second part.

use core::hint::assert_unchecked;

use core_types::params::recurrent::{LOG_LOSS_LIMIT, LossHead, NEGLIGIBLE_PROBABILITY, Stochastic};

use crate::dev::{
    idx,
    numeric::{
        functions::{exp, log},
        math::fma,
    },
    warp::reduce,
};

/// The composition of a combined state.
#[derive(Clone, Copy)]
pub struct Form {
    pub hidden: u32,
    pub stochastic: u32,
    pub part: Stochastic,
}

/// A warp's reductions of a combined state.
#[derive(Clone, Copy)]
pub struct Combined {
    /// The product with the head's weights.
    pub dot: f32,
    pub entropy: f32,
    /// The greatest state that the softmax takes, and the sum of the exponentials relative to it.
    greatest: f32,
    sum: f32,
}

#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    a + b
}

/// Multiples of 32 after the lane's index, below `len`.
#[inline(always)]
pub fn of_lane(len: u32) -> impl Iterator<Item = u32> {
    let mut next = idx::lane();
    core::iter::from_fn(move || {
        let index = next;
        next += 32;
        (index < len).then_some(index)
    })
}

impl Combined {
    /// The loss that is read from it.
    #[inline(always)]
    pub fn loss(&self, head: LossHead) -> f32 {
        match head {
            LossHead::Linear => self.dot,
            LossHead::ExpClamped => {
                let log = if self.dot < -LOG_LOSS_LIMIT { -LOG_LOSS_LIMIT } else { self.dot }; // NaN stays
                exp(if log > LOG_LOSS_LIMIT { LOG_LOSS_LIMIT } else { log })
            }
        }
    }

    /// An element of the softmax, of this state.
    #[inline(always)]
    pub fn share(&self, state: f32) -> f32 {
        exp(state - self.greatest) / self.sum
    }
}

impl Form {
    #[inline(always)]
    pub fn new(hidden: u64, stochastic: u64, part: Stochastic) -> Self {
        Self { hidden: hidden as u32, stochastic: stochastic as u32, part }
    }

    /// The state that element `i` of the softmax is taken of.
    #[inline(always)]
    unsafe fn state_of(&self, i: u32) -> u32 {
        assert_unchecked(self.stochastic != 0);
        i * self.hidden / self.stochastic
    }

    /// The combined state of the states `at`.
    #[inline(always)]
    pub unsafe fn combine(&self, at: impl Fn(u32) -> f32, head: *const f32) -> Combined {
        let (mut dot, mut entropy) = (0.0, 0.0);
        for column in of_lane(self.hidden) {
            dot = fma(at(column), *head.add(column as usize), dot);
        }
        let head = head.add(self.hidden as usize);
        let (mut greatest, mut sum) = (f32::NEG_INFINITY, 0.0);
        match self.part {
            Stochastic::StridedSoftmax => {
                let logit = |i: u32| at(self.state_of(i));
                for i in of_lane(self.stochastic) {
                    greatest = greatest.max(logit(i));
                }
                greatest = reduce(greatest, f32::max);
                for i in of_lane(self.stochastic) {
                    sum += exp(logit(i) - greatest);
                }
                sum = reduce(sum, add);
                let log_sum = log(sum);
                for i in of_lane(self.stochastic) {
                    let below = logit(i) - greatest;
                    let s = exp(below) / sum;
                    dot = fma(s, *head.add(i as usize), dot);
                    if s > NEGLIGIBLE_PROBABILITY {
                        entropy = fma(s, log_sum - below, entropy);
                    }
                }
            }
            Stochastic::CopyHidden => {
                for column in of_lane(self.hidden) {
                    dot = fma(at(column), *head.add(column as usize), dot);
                }
            }
            Stochastic::Zeros => {}
        }
        let (dot, entropy) = (reduce(dot, add), reduce(entropy, add));
        Combined { dot, entropy, greatest, sum }
    }

    /// Writes both parts of the combined state.
    #[inline(always)]
    pub unsafe fn write(&self, at: impl Fn(u32) -> f32, of_row: &Combined, into: *mut f32) {
        for column in of_lane(self.hidden) {
            *into.add(column as usize) = at(column);
        }
        let into = into.add(self.hidden as usize);
        for i in of_lane(self.stochastic) {
            *into.add(i as usize) = match self.part {
                Stochastic::StridedSoftmax => of_row.share(at(self.state_of(i))),
                Stochastic::CopyHidden => at(i),
                Stochastic::Zeros => 0.0,
            };
        }
    }

    /// The mean weight of the second part, under the softmax.
    #[inline(always)]
    pub unsafe fn mean_weight(&self, at: impl Fn(u32) -> f32, of_row: &Combined, head: *const f32) -> f32 {
        let (head, mut sum) = (head.add(self.hidden as usize), 0.0);
        if matches!(self.part, Stochastic::StridedSoftmax) {
            for i in of_lane(self.stochastic) {
                sum = fma(of_row.share(at(self.state_of(i))), *head.add(i as usize), sum);
            }
        }
        reduce(sum, add)
    }

    /// The derivative of the product with the head's weights with respect to state `column`.
    ///
    /// `state` is the value of that state.
    #[inline(always)]
    pub unsafe fn slope(&self, column: u32, state: f32, of_row: &Combined, mean: f32, head: *const f32) -> f32 {
        let weight = *head.add(column as usize);
        let head = head.add(self.hidden as usize);
        match self.part {
            Stochastic::StridedSoftmax => {
                // The elements that are taken of this state stand side by side.
                assert_unchecked(self.hidden != 0);
                let first = |column: u32| (column * self.stochastic).div_ceil(self.hidden);
                let (mut i, end) = (first(column), first(column + 1));
                let mut sum = 0.0;
                while i < end {
                    sum += *head.add(i as usize) - mean;
                    i += 1;
                }
                if sum == 0.0 { weight } else { fma(of_row.share(state), sum, weight) }
            }
            Stochastic::CopyHidden => weight + *head.add(column as usize),
            Stochastic::Zeros => weight,
        }
    }
}
