//! Measurements of a batch: host time by a clock, device time by marks in its queues.

use core::{fmt, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backend_api::{BackendError, Timed};

use super::{device_times::DeviceTimes, times::Stopwatch};
use crate::gates::walk::evaluator::Activity;

/// Measures stages of flushes on queues `Q`.
pub(in crate::batch) struct Meter<'a, Q> {
    pub(in crate::batch) watch: Stopwatch<'a>,
    marks: Option<Box<Marks<'a, Q>>>,
}

type Marks<'a, Q> = dyn Marking<Q> + Send + Sync + 'a;

impl<'a, Q> Meter<'a, Q> {
    /// Measures nothing.
    pub(in crate::batch) fn off() -> Self {
        Self { watch: Stopwatch::new(None), marks: None }
    }

    /// Measures the host's time too.
    pub(in crate::batch) fn with_watch(self, watch: Stopwatch<'a>) -> Self {
        Self { watch, ..self }
    }

    /// Measures the device's time too.
    pub(in crate::batch) fn with_marks(self) -> Self
    where
        Q: Timed + 'a,
    {
        Self { marks: Some(Box::new(Mutex::new(Spans::<Q::Mark>::default()))), ..self }
    }

    pub(in crate::batch) fn device_times(&self) -> DeviceTimes {
        self.marks.as_ref().map_or_else(DeviceTimes::default, |marks| marks.times())
    }

    /// Begins a flush; `q` is a queue of the device.
    pub(in crate::batch) fn begin(&self, q: &Q) -> Result<(), BackendError> {
        self.marks.as_ref().map_or(Ok(()), |marks| marks.begin(q))
    }

    /// `work` of part `part` on `q`, in the time of `stage`.
    ///
    /// A mark that fails is reported when the part is [`settle`](Self::settle)d.
    pub(in crate::batch) fn during<T>(&self, stage: Activity, part: u64, q: &Q, work: impl FnOnce() -> T) -> T {
        let span = self.marks.as_ref().and_then(|marks| marks.open(q, stage, part));
        let done = self.watch.during(stage, work);
        if let (Some(marks), Some(span)) = (&self.marks, span) {
            marks.close(q, span);
        }
        done
    }

    /// Counts the stages of part `part`, which is done.
    pub(in crate::batch) fn settle(&self, q: &Q, part: u64) -> Result<(), BackendError> {
        self.marks.as_ref().map_or(Ok(()), |marks| marks.settle(q, part))
    }

    /// Ends the flush.
    pub(in crate::batch) fn end(&self) {
        if let Some(marks) = &self.marks {
            marks.end();
        }
    }
}

impl<Q> fmt::Debug for Meter<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("watch", &self.watch).field("device", &self.device_times()).finish()
    }
}

/// [`Timed`], of whatever kind its marks are.
trait Marking<Q> {
    fn times(&self) -> DeviceTimes;
    fn begin(&self, q: &Q) -> Result<(), BackendError>;
    /// Begins a span and returns its number.
    fn open(&self, q: &Q, stage: Activity, part: u64) -> Option<u64>;
    fn close(&self, q: &Q, span: u64);
    fn settle(&self, q: &Q, part: u64) -> Result<(), BackendError>;
    fn end(&self);
}

/// The spans of a flush that are not counted yet, and what was counted.
struct Spans<M> {
    /// Where the flush began; times are counted from there.
    origin: Option<M>,
    pending: Vec<StageSpan<M>>,
    next: u64,
    failed: Option<BackendError>,
    flush: FlushSums,
    /// Of the flushes before.
    done: DeviceTimes,
}

/// A stage of a part, between two marks of its queue.
struct StageSpan<M> {
    number: u64,
    part: u64,
    stage: Activity,
    from: M,
    to: Option<M>,
}

impl<M> Default for Spans<M> {
    fn default() -> Self {
        let (flush, done) = (FlushSums::default(), DeviceTimes::default());
        Self { origin: None, pending: Vec::new(), next: 0, failed: None, flush, done }
    }
}

impl<Q: Timed> Marking<Q> for Mutex<Spans<Q::Mark>> {
    fn times(&self) -> DeviceTimes {
        locked(self).done
    }

    fn begin(&self, q: &Q) -> Result<(), BackendError> {
        let origin = Some(q.mark()?);
        let mut spans = locked(self);
        *spans = Spans { origin, done: spans.done, ..Spans::default() };
        Ok(())
    }

    fn open(&self, q: &Q, stage: Activity, part: u64) -> Option<u64> {
        let from = q.mark();
        let mut spans = locked(self);
        match from {
            Ok(from) => {
                let number = spans.next;
                spans.next += 1;
                spans.pending.push(StageSpan { number, part, stage, from, to: None });
                Some(number)
            }
            Err(error) => {
                spans.failed.get_or_insert(error);
                None
            }
        }
    }

    fn close(&self, q: &Q, number: u64) {
        let to = q.mark();
        let mut spans = locked(self);
        match (to, spans.pending.iter_mut().find(|span| span.number == number)) {
            (Ok(to), Some(span)) => span.to = Some(to),
            (Ok(_), None) => {}
            (Err(error), _) => {
                spans.failed.get_or_insert(error);
            }
        }
    }

    fn settle(&self, q: &Q, part: u64) -> Result<(), BackendError> {
        let mut spans = locked(self);
        if let Some(error) = spans.failed.clone() {
            return Err(error);
        }
        let of_part: Vec<_> = spans.pending.extract_if(.., |span| span.part == part).collect();
        let Some(origin) = &spans.origin else { return Ok(()) };
        let mut stages = Vec::with_capacity(of_part.len());
        for StageSpan { stage, from, to, .. } in &of_part {
            if let Some(to) = to {
                stages.push((*stage, [q.elapsed_ns(origin, from)?, q.elapsed_ns(origin, to)?]));
            }
        }
        spans.flush.add(&stages);
        Ok(())
    }

    fn end(&self) {
        let mut spans = locked(self);
        spans.done = spans.flush.of_device(spans.done);
        (spans.origin, spans.flush) = (None, FlushSums::default());
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sums over the parts of one flush, in nanoseconds since it began.
#[derive(Clone, Copy, Default)]
struct FlushSums {
    copy_in: u64,
    walk: u64,
    copy_out: u64,
    /// The start of the first stage and the end of the last one.
    wall: Option<[i64; 2]>,
}

impl FlushSums {
    /// Adds the stages of one part, in the order in which the host began them.
    ///
    /// The mark before a stage may be reached while its queue still waits for the preceding stage
    /// on another queue. So a walk counts as starting no earlier than the copies before it end, and
    /// a copy of results no earlier than the walk before it ends.
    fn add(&mut self, stages: &[(Activity, [i64; 2])]) {
        let (mut copied, mut walked) = (i64::MIN, i64::MIN);
        for &(stage, [from, to]) in stages {
            let (sum, from) = match stage {
                Activity::CopyIn => {
                    copied = copied.max(to);
                    (&mut self.copy_in, from)
                }
                Activity::Walk => {
                    walked = walked.max(to);
                    (&mut self.walk, from.max(copied))
                }
                Activity::CopyOut => (&mut self.copy_out, from.max(walked)),
                Activity::Outside | Activity::Exchange | Activity::Idle => continue,
            };
            let from = from.min(to);
            *sum += to.abs_diff(from);
            let [first, last] = self.wall.unwrap_or([from, to]);
            self.wall = Some([first.min(from), last.max(to)]);
        }
    }

    /// These times on top of `before`.
    fn of_device(&self, before: DeviceTimes) -> DeviceTimes {
        let wall = self.wall.map_or(0, |[first, last]| last.abs_diff(first));
        DeviceTimes {
            copy_in: before.copy_in + Duration::from_nanos(self.copy_in),
            walk: before.walk + Duration::from_nanos(self.walk),
            copy_out: before.copy_out + Duration::from_nanos(self.copy_out),
            wall: before.wall + Duration::from_nanos(wall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_wait_for_others_start_when_these_are_done() {
        let mut sums = FlushSums::default();
        // Keys arrive by 50 while the points are there at 12; the walk waits, and the copy of its results for it.
        sums.add(&[
            (Activity::CopyIn, [0, 50]),
            (Activity::CopyIn, [10, 12]),
            (Activity::Walk, [12, 90]),
            (Activity::CopyOut, [1, 100]),
        ]);
        // The keys of the next part came meanwhile.
        sums.add(&[(Activity::CopyIn, [50, 95]), (Activity::Walk, [90, 140]), (Activity::CopyOut, [100, 141])]);
        let nanos = Duration::from_nanos;
        let before = DeviceTimes { walk: nanos(1000), wall: nanos(2000), ..DeviceTimes::default() };
        let expected = DeviceTimes { copy_in: nanos(97), walk: nanos(1085), copy_out: nanos(11), wall: nanos(2141) };
        assert_eq!(sums.of_device(before), expected);
        assert_eq!(FlushSums::default().of_device(before), before);
    }
}
