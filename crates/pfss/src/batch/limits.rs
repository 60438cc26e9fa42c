//! The limits of batches and layers, and counting that respects them.

use crate::error::{BatchError, Limit};

/// The most that a super-batch takes in.
///
/// Whatever would exceed a limit is refused, naming the limit; nothing is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Jobs.
    pub jobs: u64,
    /// Masked inputs.
    pub words: u64,
    /// Bytes of masked inputs.
    pub bytes: u64,
    /// Flushes over the life of the batch.
    pub flushes: u64,
    /// Bytes of device memory; `None` for the budget of the queue.
    pub device_bytes: Option<u64>,
}

/// The limits of SUF.
impl Default for BatchLimits {
    fn default() -> Self {
        Self { jobs: 1 << 18, words: 1 << 24, bytes: 8 << 24, flushes: 1 << 16, device_bytes: None }
    }
}

/// The most that a layer takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerLimits {
    /// Jobs.
    pub jobs: u64,
    /// Masked inputs.
    pub words: u64,
    /// Flushes of each class.
    pub flushes: u64,
    /// Phases.
    pub phases: u64,
    /// Elements of gates; those that ragged rows leave out do not count.
    pub elements: u64,
    /// Elements times the widths of their rings.
    pub element_bits: u64,
}

/// The limits of SUF.
impl Default for LayerLimits {
    fn default() -> Self {
        Self {
            jobs: 1 << 16,
            words: 1 << 22,
            flushes: 1 << 10,
            phases: 1 << 12,
            elements: 1 << 28,
            element_bits: 1 << 32,
        }
    }
}

/// `used + more`, if that is at most `max`.
pub(super) fn grow(limit: Limit, max: u64, used: u64, more: u64) -> Result<u64, BatchError> {
    let got = used.saturating_add(more);
    if got > max { Err(BatchError::Limit { limit, max, got }) } else { Ok(got) }
}
