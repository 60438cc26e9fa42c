//! Counters of a super-batch.

use super::{device_times::DeviceTimes, times::StageTimes};

/// Counters of a super-batch.
///
/// Sizes and AES blocks follow from the public shapes; times are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Jobs walked.
    pub jobs: u64,
    /// Groups of jobs with the same program.
    pub groups: u64,
    /// Flushes.
    pub flushes: u64,
    /// Elements walked.
    pub elements: u64,
    /// Parts that jobs were cut into; a job that was not cut is one.
    pub parts: u64,
    /// AES blocks of the walks, by the formulas of [`Gate::cost`](crate::Gate::cost).
    pub aes: u64,
    /// Bytes of key trees in device memory, without the words that results are formed from.
    ///
    /// They are copied there, or expanded from a seed.
    pub key_bytes: u64,
    /// Bytes of masked inputs, as words.
    pub input_bytes: u64,
    /// Bytes of masked inputs as they were opened, without the bits above their rings.
    pub packed_input_bytes: u64,
    /// Bytes of the points at which trees are walked.
    ///
    /// They are the masked inputs, for each tree an offset for each point of an input, and the
    /// table of a look-up.
    pub point_bytes: u64,
    /// Bytes of shares at all points, from which the device computes its results.
    pub result_bytes: u64,
    /// Bytes that openings sent.
    pub opened_bytes: u64,
    /// Rounds of openings.
    pub rounds: u64,
    /// Where the host's time went; all zero without a clock.
    pub times: StageTimes,
    /// Where the device's time went; all zero without marks.
    pub device: DeviceTimes,
}
