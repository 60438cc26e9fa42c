//! Marks around the calls of a thread, for the device's time of each call.

use std::cell::RefCell;

use backend_api::{BackendError, Timed};

use super::{AnyMark, AnyQueue};

thread_local! {
    /// The marked calls of this thread, while [`mark_calls`] runs.
    static CALLS: RefCell<Option<Vec<MarkedCall>>> = const { RefCell::new(None) };
}

/// A call on a queue, with a mark before and a mark after its work.
#[derive(Debug)]
pub struct MarkedCall {
    name: &'static str,
    queue: AnyQueue,
    marks: Result<[AnyMark; 2], BackendError>,
}

impl MarkedCall {
    /// The name of the call's span.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Nanoseconds of the device between the marks. Waits for the work.
    ///
    /// If the device was idle, they include the time until the work reached it.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] for a call that was recorded, and as [`Timed::elapsed_ns`].
    pub fn elapsed_ns(&self) -> Result<i64, BackendError> {
        match &self.marks {
            Ok([from, to]) => self.queue.elapsed_ns(from, to),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Runs `body`, and marks every call on an [`AnyQueue`] that this thread makes within a span.
///
/// Without a subscriber for the spans of [`TRACE_TARGET`](crate::TRACE_TARGET) no call is marked.
/// Calls are in the order in which their spans end. Calls of a `mark_calls` within `body` are
/// returned by that one alone.
///
/// On a GPU no recording within `body` succeeds: a mark refuses it, and
/// [`Record::record`](backend_api::Record::record) returns `None`.
pub fn mark_calls<R>(body: impl FnOnce() -> R) -> (R, Vec<MarkedCall>) {
    // After a panic of `body`, too, the calls that follow are not kept.
    let outer = OuterCalls(CALLS.replace(Some(Vec::new())));
    let result = body();
    let calls = CALLS.take().unwrap_or_default();
    drop(outer);
    (result, calls)
}

/// The calls of the [`mark_calls`] around another; dropping them restores them.
struct OuterCalls(Option<Vec<MarkedCall>>);

impl Drop for OuterCalls {
    fn drop(&mut self) {
        CALLS.set(self.0.take());
    }
}

/// The first mark of a call; dropping it makes the second one.
pub(super) struct OpenMark {
    name: &'static str,
    queue: AnyQueue,
    /// There until it is dropped.
    from: Option<Result<AnyMark, BackendError>>,
}

impl OpenMark {
    /// The first mark of a call, if this thread marks its calls.
    pub(super) fn begin(queue: &AnyQueue, name: &'static str) -> Option<Self> {
        let marks = CALLS.with_borrow(Option::is_some);
        marks.then(|| Self { name, queue: queue.clone(), from: Some(queue.mark()) })
    }
}

impl Drop for OpenMark {
    fn drop(&mut self) {
        let Some(from) = self.from.take() else { return };
        let marks = from.and_then(|from| Ok([from, self.queue.mark()?]));
        let call = MarkedCall { name: self.name, queue: self.queue.clone(), marks };
        CALLS.with_borrow_mut(|calls| {
            if let Some(calls) = calls {
                calls.push(call);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use backend_api::Queue;

    use super::*;

    #[test]
    fn calls_are_not_marked_without_a_subscriber() {
        let q = AnyQueue::Cpu(crate::cpu().unwrap());
        let (result, calls) = mark_calls(|| q.finish());
        assert!(result.is_ok() && calls.is_empty(), "{calls:?}");
    }

    #[test]
    fn an_open_mark_becomes_a_call_when_it_is_dropped() {
        let q = AnyQueue::Cpu(crate::cpu().unwrap());
        assert!(OpenMark::begin(&q, "outside").is_none());
        let ((), calls) = mark_calls(|| {
            let _outer = OpenMark::begin(&q, "outer");
            drop(OpenMark::begin(&q, "inner"));
        });
        assert_eq!(calls.iter().map(MarkedCall::name).collect::<Vec<_>>(), ["inner", "outer"]);
        let times: Vec<_> = calls.iter().map(|call| call.elapsed_ns().unwrap()).collect();
        assert!(0 <= times[0] && times[0] <= times[1], "{times:?}");
        assert!(OpenMark::begin(&q, "outside").is_none());
    }

    #[test]
    fn marks_end_with_their_body_and_those_around_it_go_on() {
        let q = AnyQueue::Cpu(crate::cpu().unwrap());
        let ((), calls) = mark_calls(|| {
            let ((), inner) = mark_calls(|| drop(OpenMark::begin(&q, "inner")));
            assert_eq!(inner.iter().map(MarkedCall::name).collect::<Vec<_>>(), ["inner"]);
            drop(OpenMark::begin(&q, "outer"));
        });
        assert_eq!(calls.iter().map(MarkedCall::name).collect::<Vec<_>>(), ["outer"]);
        let kept = calls.len();
        let panicked = std::panic::catch_unwind(|| mark_calls(|| assert_eq!(kept, 0, "a panic of the body")));
        assert!(panicked.is_err() && OpenMark::begin(&q, "outside").is_none());
    }
}
