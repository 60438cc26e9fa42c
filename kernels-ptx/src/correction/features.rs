//! Features of trainings, one warp each.
//!
//! A warp makes two passes over its rings; the second reads the cache. One lane computes the
//! features from the statistics of the rings.
//!
//! # Safety
//! The records hold `batch` trainings, `features` holds `batch` rows of 64.

use core_types::{
    features::{Statistics, Trend, USED, features},
    params::correction::{FEATURES, LOSSES, NORMS, SCALARS},
};

use crate::{
    dev::{
        idx,
        numeric::math::sqrt_f64,
        warp::{FULL, reduce, shfl_idx, shfl_xor},
    },
    linalg::group::{Group, Warp},
};

/// Warps of a block, and so trainings that it takes at a time.
pub const WARPS: u32 = 4;

/// The records of all trainings.
#[derive(Clone, Copy)]
pub struct Records {
    pub losses: *const f32,
    pub norms: *const f32,
    pub scalars: *const f32,
    pub recorded: *const u64,
}

/// The statistics of a ring of `places` values, after `recorded` values were recorded.
#[inline(always)]
unsafe fn statistics(ring: *const f32, places: u64, recorded: u64) -> Statistics {
    let count = recorded.min(places) as u32;
    if count == 0 {
        return Statistics::default();
    }
    let (mut sum, mut least, mut greatest) = (0.0, f32::INFINITY, f32::NEG_INFINITY);
    let mut i = idx::lane();
    while i < count {
        let x = *ring.add(i as usize);
        sum += f64::from(x);
        least = if x < least { x } else { least };
        greatest = if x > greatest { x } else { greatest };
        i += 32;
    }
    let mean = Warp::sum_f64::<0>(sum) / f64::from(count);
    let (mut squares, mut i) = (0.0, idx::lane());
    while i < count {
        let away = f64::from(*ring.add(i as usize)) - mean;
        squares += away * away;
        i += 32;
    }
    Statistics {
        mean,
        deviation: sqrt_f64(Warp::sum_f64::<0>(squares) / f64::from(count)),
        least: reduce(least, |a, b| if b < a { b } else { a }),
        greatest: reduce(greatest, |a, b| if b > a { b } else { a }),
    }
}

/// The sums of the last sixteen losses and of those before.
#[inline(always)]
unsafe fn trend(losses: *const f32, recorded: u64) -> Trend {
    if recorded < 32 {
        return None;
    }
    let ago = u64::from(idx::lane()) + 1;
    let mut sum = f64::from(*losses.add(((recorded - ago) % LOSSES) as usize)).to_bits();
    let mut distance = 8;
    while distance > 0 {
        sum = (f64::from_bits(sum) + f64::from_bits(shfl_xor(FULL, sum, distance))).to_bits();
        distance >>= 1;
    }
    Some([f64::from_bits(sum), f64::from_bits(shfl_xor(FULL, sum, 16))])
}

impl Records {
    /// Calls `set` with the place and the value of each feature of a training.
    ///
    /// The call runs on one lane or another.
    #[inline(always)]
    pub unsafe fn features(&self, training: u64, set: impl Fn(u32, f32)) {
        let of = |all: *const f32, len: u64| all.add((training * len) as usize);
        let (losses, scalars) = (of(self.losses, LOSSES), of(self.scalars, SCALARS));
        // Of one lane, so that what they decide is decided for the warp.
        let recorded = [0, 1].map(|i| shfl_idx(FULL, *self.recorded.add(2 * training as usize + i), 0));
        let trend = trend(losses, recorded[0]);
        let norms = statistics(of(self.norms, NORMS), NORMS, recorded[1]);
        let losses = statistics(losses, LOSSES, recorded[0]);
        set(32 + idx::lane(), 0.0);
        if idx::lane() >= USED as u32 {
            set(idx::lane(), 0.0);
        }
        if idx::lane() == 0 {
            features(|scalar| *scalars.add(scalar as usize), &losses, &norms, trend, set);
        }
    }
}

/// The features of each training. Grid: any; block: 128.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_features(
    batch: u64,
    losses: *const f32,
    norms: *const f32,
    scalars: *const f32,
    recorded: *const u64,
    features: *mut f32,
) {
    let records = Records { losses, norms, scalars, recorded };
    let mut training = u64::from(idx::bid_x() * WARPS + idx::warp());
    while training < batch {
        let row = features.add((training * FEATURES) as usize);
        records.features(training, |i, value| *row.add(i as usize) = value);
        training += u64::from(idx::gdim_x() * WARPS);
    }
}

kernel_table! {
    correction_features: block [32 * WARPS, 1, 1], min_blocks 4, shared None, barriers 0;
}
