//! How a super-batch uses its device: whole jobs or streamed parts, slots and limits.

use super::limits::BatchLimits;

/// What to do with a job that does not fit the device at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fit {
    /// Refuse it.
    #[default]
    Whole,
    /// Cut it at multiples of 32 elements into parts that fit, and stream their keys.
    Split,
}

/// How a super-batch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchConfig {
    /// The most that it takes in.
    pub limits: BatchLimits,
    /// What happens to jobs that are too large.
    pub fit: Fit,
    /// Parts whose keys may be on the device at once, 1 to 3.
    ///
    /// One part is walked while the others are copied.
    pub slots: usize,
    /// The most elements of a part under [`Fit::Split`], a multiple of 32.
    pub part: usize,
}

impl Default for BatchConfig {
    fn default() -> Self {
        Self { limits: BatchLimits::default(), fit: Fit::default(), slots: 2, part: 1 << 16 }
    }
}
