//! Where a device spent its time on a batch, measured with marks in its queues.

use core::time::Duration;

/// Device times of a super-batch, by activity.
///
/// They are measured with marks in its queues:
/// [`SuperBatch::marked`](crate::batch::SuperBatch::marked).
///
/// On a GPU these are times of events in the streams; on a processor, where work is done before a
/// call returns, they are the host's. A queue that waits for another one is not counted as busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Copying keys and points to the device.
    pub copy_in: Duration,
    /// Walking key trees.
    pub walk: Duration,
    /// Copying results from the device.
    pub copy_out: Duration,
    /// From the start of the first of these to the end of the last, over all flushes.
    pub wall: Duration,
}

impl DeviceTimes {
    /// Time of all copies.
    #[must_use]
    pub fn copies(&self) -> Duration {
        self.copy_in + self.copy_out
    }

    /// The overlap of copies and walks: `1 - wall / (copies + walk)`.
    ///
    /// `None` if there was no work. 0 means one thing after the other without a gap; the most that
    /// three queues can reach is 2/3. It is negative if the device waits for the host longer than
    /// its queues overlap.
    #[must_use]
    pub fn overlap(&self) -> Option<f64> {
        let work = self.copies() + self.walk;
        (work > Duration::ZERO).then(|| 1.0 - self.wall.as_secs_f64() / work.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_what_was_done_beside_other_work() {
        let [copy_in, walk, copy_out] = [6, 12, 6].map(Duration::from_micros);
        let of = |wall| DeviceTimes { copy_in, walk, copy_out, wall: Duration::from_micros(wall) }.overlap();
        assert_eq!([12, 24, 48].map(of), [Some(0.5), Some(0.0), Some(-1.0)]);
        assert_eq!(DeviceTimes::default().overlap(), None);
    }
}
