//! A stopwatch over the stages of a batch, by the caller's clock.

use core::{fmt, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::gates::walk::evaluator::Activity;

/// Host times of a super-batch, by stage.
///
/// They are measured with the clock given to
/// [`SuperBatch::timed`](crate::batch::SuperBatch::timed).
///
/// They are the host's times: each instant counts for the one stage that the host was in. A call on
/// a processor's queue returns when its work is done, so there these are the times of the work
/// itself. A device lags behind the host: work that is unfinished when results are fetched counts
/// as copying out, and copies that overlap with walks are not distinguished from other copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Copying keys and points to the device.
    pub copy_in: Duration,
    /// Walking key trees.
    pub walk: Duration,
    /// Copying results from the device, and waiting for them.
    pub copy_out: Duration,
    /// From the message of a round to the peer's answer.
    pub exchange: Duration,
    /// The rest of flushes: cutting keys into parts and joining their results.
    pub idle: Duration,
}

impl StageTimes {
    /// Time of all flushes.
    #[must_use]
    pub fn flushes(&self) -> Duration {
        self.copy_in + self.walk + self.copy_out + self.idle
    }

    fn of(&mut self, stage: Activity) -> Option<&mut Duration> {
        match stage {
            Activity::CopyIn => Some(&mut self.copy_in),
            Activity::Walk => Some(&mut self.walk),
            Activity::CopyOut => Some(&mut self.copy_out),
            Activity::Exchange => Some(&mut self.exchange),
            Activity::Idle => Some(&mut self.idle),
            Activity::Outside => None,
        }
    }
}

/// A clock, if there is one, and the activity that its time counts for.
pub(in crate::batch) struct Stopwatch<'a> {
    now: Option<Box<Clock<'a>>>,
    state: Mutex<StopwatchState>,
}

type Clock<'a> = dyn Fn() -> Duration + Send + Sync + 'a;

#[derive(Clone, Copy)]
struct StopwatchState {
    current: Activity,
    since: Duration,
    times: StageTimes,
}

impl<'a> Stopwatch<'a> {
    pub(in crate::batch) fn new(now: Option<Box<Clock<'a>>>) -> Self {
        let outside =
            StopwatchState { current: Activity::Outside, since: Duration::ZERO, times: StageTimes::default() };
        Self { now, state: Mutex::new(outside) }
    }

    pub(in crate::batch) fn times(&self) -> StageTimes {
        self.state().times
    }

    /// Counts the time from here on for `next`; returns the previous activity.
    pub(in crate::batch) fn enter(&self, next: Activity) -> Activity {
        let Some(now) = self.now.as_ref().map(|now| now()) else { return next };
        let mut state = self.state();
        let StopwatchState { current, since, .. } = *state;
        if let Some(time) = state.times.of(current) {
            *time += now.saturating_sub(since);
        }
        (state.current, state.since) = (next, now);
        current
    }

    /// Counts the time of `work` for `activity`.
    ///
    /// Time that `work` itself counts for something else is not included.
    pub(super) fn during<T>(&self, activity: Activity, work: impl FnOnce() -> T) -> T {
        let before = self.enter(activity);
        let done = work();
        self.enter(before);
        done
    }

    fn state(&self) -> MutexGuard<'_, StopwatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stopwatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopwatch").field("times", &self.times()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn each_instant_counts_once_for_the_innermost_stage() {
        let clock = AtomicU64::new(0);
        let now = || Duration::from_secs(clock.fetch_add(1, Ordering::Relaxed));
        let watch = Stopwatch::new(Some(Box::new(now)));
        watch.during(Activity::Idle, || {
            watch.during(Activity::CopyIn, || ());
            watch.during(Activity::Walk, || watch.during(Activity::CopyIn, || ()));
            watch.during(Activity::CopyOut, || ());
        });
        watch.enter(Activity::Exchange);
        watch.enter(Activity::Outside);
        let seconds = Duration::from_secs;
        let expected = StageTimes {
            copy_in: seconds(2),
            walk: seconds(2),
            copy_out: seconds(1),
            exchange: seconds(1),
            idle: seconds(4),
        };
        assert_eq!(watch.times(), expected);
        assert_eq!(watch.times().flushes(), seconds(9));
    }
}
