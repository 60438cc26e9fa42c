//! Marks of time.
//!
//! Ops on the host finish before they return, so a mark is the moment at which it is made.

use std::time::Instant;

use backend_api::{BackendError, Timed};

use crate::CpuQueue;

/// A reading of the host's monotonic clock, which all queues on the host share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuMark(Instant);

impl Timed for CpuQueue {
    type Mark = CpuMark;

    fn mark(&self) -> Result<CpuMark, BackendError> {
        Ok(CpuMark(Instant::now()))
    }

    fn elapsed_ns(&self, from: &CpuMark, to: &CpuMark) -> Result<i64, BackendError> {
        let ns = |from: Instant, to: Instant| i64::try_from(to.duration_since(from).as_nanos()).unwrap_or(i64::MAX);
        Ok(if from <= to { ns(from.0, to.0) } else { -ns(to.0, from.0) })
    }
}
