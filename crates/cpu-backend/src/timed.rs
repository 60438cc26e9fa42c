//! Marks: ops on the host finish before they return, so a mark is the moment at which it is made.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuConfig;

    #[test]
    fn marks_are_in_the_order_of_their_making() {
        let [q, other] = [0; 2].map(|_| CpuQueue::open(CpuConfig::default()).unwrap());
        let marks = [&q, &other, &q].map(|q| q.mark().unwrap());
        assert!(marks.is_sorted());
        let [first, second] = [0, 1].map(|i| q.elapsed_ns(&marks[i], &marks[i + 1]).unwrap());
        assert!(first >= 0 && second >= 0);
        assert_eq!(other.elapsed_ns(&marks[0], &marks[2]).unwrap(), first + second);
        assert_eq!(other.elapsed_ns(&marks[2], &marks[0]).unwrap(), -first - second);
    }
}
