//! Parameters of corrections of predictions.
//!
//! They cover features of trainings, a ring of remembered states, and estimates from residuals.

use core::fmt::Debug;

use bytemuck::NoUninit;

use crate::params::sizes::{Sizes, sizes};

/// Losses that the record of a training keeps.
pub const LOSSES: u64 = 256;

/// Norms of gradients that it keeps.
pub const NORMS: u64 = 64;

/// Scalars of a record, see [`Scalar`].
pub const SCALARS: u64 = 12;

/// Features of a training.
pub const FEATURES: u64 = 64;

/// The scalars of a training's record, stored next to its rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Scalar {
    /// The loss of the last step.
    Loss,
    /// Steps so far.
    Step,
    /// The norm of the last gradient.
    Norm,
    /// The mean of the optimiser's momenta.
    MomentumMean,
    /// Their standard deviation.
    MomentumDeviation,
    /// The mean of the optimiser's second moments.
    VarianceMean,
    /// Their standard deviation.
    VarianceDeviation,
    /// The rate of learning.
    Rate,
    /// The factor of the first moment to the power of the steps.
    Beta1Power,
    /// The factor of the second moment to the power of the steps.
    Beta2Power,
    /// 0 for a warm-up, 1 for full training, 2 for prediction, 3 for correction.
    Phase,
    /// Steps of the phase.
    PhaseStep,
}

/// Greatest number of similar states found for one query.
///
/// The lanes of a warp hold one state each, or one number of a state.
pub const MOST_SIMILAR: u64 = 32;

/// What stands for the place of a state where there is none.
pub const NO_STATE: u32 = u32::MAX;

/// States with a norm below this one are similar to no other state.
pub const LEAST_NORM: f32 = 1e-8;

/// Steps over which the weight of a residual falls by the factor of decay.
pub const DECAY_STEPS: f32 = 100.0;

/// Trainings that are encoded: `relu(features W + b)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct EncodeParams {
    /// Trainings.
    pub batch: u64,
    /// Elements of a code.
    pub outputs: u64,
}

sizes!(EncodeParams { batch, outputs });

/// States that go into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct StoreParams {
    /// States that the ring holds.
    pub capacity: u64,
    /// Features of a state.
    pub width: u64,
    /// States that go in, at most `capacity`.
    pub count: u64,
}

sizes!(StoreParams { capacity, width, count });

/// A search for the states of a ring that are most like others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct SimilarParams {
    /// States that the ring holds.
    pub capacity: u64,
    /// Features of a state.
    pub width: u64,
    /// States whose like are looked for.
    pub queries: u64,
    /// How many are looked for, for each: at most [`MOST_SIMILAR`].
    pub count: u64,
}

sizes!(SimilarParams { capacity, width, queries, count });

/// Sizes and decay of the estimates of residuals, from similar states and a linear model.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct EstimateParams {
    /// States that the ring holds.
    pub capacity: u64,
    /// Features of a query.
    pub width: u64,
    /// Queries.
    pub queries: u64,
    /// Similar states of each.
    pub count: u64,
    /// Features that the linear model sees, the first ones: at most `width`.
    pub coefficients: u64,
    /// Factor that the weight of a residual falls by in [`DECAY_STEPS`] steps.
    pub decay: f32,
    /// Zero.
    pub reserved: u32,
}

impl Sizes for EstimateParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        let Self { capacity, width, queries, count, coefficients, .. } = self;
        for (name, size) in [("capacity", capacity), ("width", width), ("queries", queries), ("count", count)] {
            see(name, size);
        }
        see("coefficients", coefficients);
    }
}

/// Factors of a correction of a prediction p by a and b.
///
/// The corrected prediction is `p + c`, with `c = history a + model b` clamped to a magnitude of
/// `limit |p|`.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct CorrectionParams {
    /// Factor of a.
    pub history: f32,
    /// Factor of b.
    pub model: f32,
    /// Greatest part of a prediction that a correction may be; 0 or more.
    pub limit: f32,
}

impl Default for CorrectionParams {
    /// 0.7 of a, 0.3 of b, at most a fifth.
    fn default() -> Self {
        Self { history: 0.7, model: 0.3, limit: 0.2 }
    }
}

impl CorrectionParams {
    /// The reason why the factors are invalid, or `None`.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if self.history.is_nan() || self.model.is_nan() {
            return Some("a factor is not a number");
        }
        (self.limit.is_nan() || self.limit < 0.0).then_some("the limit is not 0 or more")
    }

    /// The corrected prediction. NaN in any of the three makes it NaN.
    #[inline(always)]
    #[must_use]
    pub fn corrected(&self, prediction: f32, a: f32, b: f32) -> f32 {
        let limit = self.limit * crate::float::abs(prediction);
        prediction + crate::float::clamp(self.history * a + self.model * b, -limit, limit)
    }
}

impl Sizes for CorrectionParams {
    fn each_size(&self, _: &'static str, _: &mut impl FnMut(&'static str, &dyn Debug)) {}
}

/// The states held by a ring after `stored` insertions, from the oldest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// How many there are.
    pub held: u64,
    first: u64,
    capacity: u64,
}

impl Ring {
    /// A ring of `capacity` places; at least one.
    #[inline(always)]
    #[must_use]
    pub fn new(capacity: u64, stored: u64) -> Self {
        if stored <= capacity {
            return Self { held: stored, first: 0, capacity };
        }
        Self { held: capacity, first: place(capacity, stored), capacity }
    }

    /// The place of the state of age `order`, counted from the oldest and below `held`.
    #[inline(always)]
    #[must_use]
    pub const fn place(&self, order: u64) -> u64 {
        let place = self.first.wrapping_add(order);
        if place >= self.capacity { place.wrapping_sub(self.capacity) } else { place }
    }
}

/// The place of a ring of `capacity` places where state `number` goes, counted from 0.
#[inline(always)]
#[must_use]
pub const fn place(capacity: u64, number: u64) -> u64 {
    match number.checked_rem(capacity) {
        Some(place) => place,
        None => 0,
    }
}

/// A word that is greater for a greater similarity and, among equal ones, for a lower order.
///
/// NaN is below all numbers, and above zero, which stands for no state. Orders are below 2^32 - 1.
#[inline(always)]
#[must_use]
pub const fn rank(similarity: f32, order: u32) -> u64 {
    let bits = (similarity + 0.0).to_bits(); // both zeros are equal
    let ordered = if similarity.is_nan() {
        0
    } else if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    };
    (ordered as u64) << 32 | !order as u64
}

/// The similarity and the order that a word stands for, if it stands for a state.
#[inline(always)]
#[must_use]
pub const fn ranked(word: u64) -> Option<(f32, u32)> {
    if word == 0 {
        return None;
    }
    let ordered = (word >> 32) as u32;
    let similarity = if ordered == 0 {
        f32::NAN
    } else if ordered >> 31 == 1 {
        f32::from_bits(ordered & 0x7fff_ffff)
    } else {
        f32::from_bits(!ordered)
    };
    Some((similarity, !(word as u32)))
}

/// The similarity of two states of these norms, whose scalar product is `product`.
#[inline(always)]
#[must_use]
pub fn similarity(product: f32, norm: f32, other: f32) -> f32 {
    if norm < LEAST_NORM || other < LEAST_NORM { 0.0 } else { product / (norm * other) }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn corrections_are_held_to_a_part_of_the_prediction() {
        let p = CorrectionParams::default();
        assert_eq!(p.corrected(10.0, 1.0, 1.0), 10.0 + (0.7f32 + 0.3));
        assert_eq!(p.corrected(10.0, 100.0, 0.0), 12.0);
        assert_eq!(p.corrected(-10.0, -100.0, 0.0), -12.0);
        assert_eq!(p.corrected(0.0, 1.0, 1.0), 0.0);
        assert_eq!(p.corrected(5.0, f32::INFINITY, 0.0), 6.0);
        for (prediction, a, b) in [(f32::NAN, 1.0, 1.0), (1.0, f32::NAN, 0.0), (1.0, 0.0, f32::NAN)] {
            assert!(p.corrected(prediction, a, b).is_nan());
        }
    }

    #[test]
    fn factors_are_numbers_and_limits_are_not_negative() {
        let p = CorrectionParams::default();
        let endless = CorrectionParams { limit: f32::INFINITY, ..p };
        assert!([p, CorrectionParams { limit: 0.0, ..p }, endless].iter().all(|p| p.fault().is_none()));
        for limit in [f32::NAN, -f32::MIN_POSITIVE, f32::NEG_INFINITY] {
            assert_eq!(CorrectionParams { limit, ..p }.fault(), Some("the limit is not 0 or more"));
        }
        let none = [CorrectionParams { history: f32::NAN, ..p }, CorrectionParams { model: f32::NAN, ..p }];
        assert_eq!(none.map(|p| p.fault()), [Some("a factor is not a number"); 2]);
    }

    #[test]
    fn a_ring_is_read_from_its_oldest_state_on() {
        let places = |capacity, stored| {
            let ring = Ring::new(capacity, stored);
            (0..ring.held).map(|order| ring.place(order)).collect::<Vec<_>>()
        };
        assert_eq!(places(3, 0), []);
        assert_eq!(places(3, 2), [0, 1]);
        assert_eq!(places(3, 3), [0, 1, 2]);
        assert_eq!(places(3, 4), [1, 2, 0]);
        assert_eq!(places(3, 11), [2, 0, 1]);
    }

    #[test]
    fn words_have_the_order_of_similarities_and_give_them_back() {
        let falling = [f32::INFINITY, 1.0, 1e-30, 0.0, -1e-30, -1.0, f32::NEG_INFINITY];
        let words: Vec<u64> = falling.iter().map(|&x| rank(x, 7)).collect();
        assert!(words.windows(2).all(|pair| pair[0] > pair[1]));
        assert!(rank(f32::NEG_INFINITY, 7) > rank(f32::NAN, 0) && rank(f32::NAN, u32::MAX - 1) > 0);
        assert_eq!(rank(0.0, 3), rank(-0.0, 3));
        assert!(rank(0.5, 3) > rank(0.5, 4));
        for (&x, &word) in falling.iter().zip(&words) {
            assert_eq!(ranked(word), Some((x, 7)));
        }
        assert!(ranked(rank(f32::NAN, 9)).is_some_and(|(x, order)| x.is_nan() && order == 9));
        assert_eq!(ranked(0), None);
    }

    #[test]
    fn states_without_a_norm_are_like_no_other() {
        assert_eq!(similarity(1.0, 0.5, 2.0), 1.0);
        assert_eq!(similarity(1.0, 1e-9, 2.0), 0.0);
        assert_eq!(similarity(1.0, 2.0, 0.0), 0.0);
        let least = similarity(1.0, LEAST_NORM, 2.0);
        assert_eq!([least, similarity(1.0, 2.0, LEAST_NORM)], [1.0 / (LEAST_NORM * 2.0); 2]);
        assert!(similarity(f32::NAN, 1.0, 1.0).is_nan());
    }
}
