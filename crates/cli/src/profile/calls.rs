//! The calls on queues, from their spans.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

/// A call on a queue that has returned.
#[derive(Clone, Debug)]
pub(crate) struct ProfiledCall {
    pub(crate) name: &'static str,
    pub(crate) fields: CallFields,
    /// The host's time, without the calls within this one.
    pub(crate) time: Duration,
}

/// The fields of a call's span.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallFields {
    pub(crate) backend: String,
    queue: u64,
    peak: u64,
    /// The element type of an op on floats, or nothing.
    pub(crate) element: String,
    /// The sizes among the parameters of an op.
    pub(crate) params: String,
    /// The lengths of the views; `None` unless the call is an op.
    views: Option<String>,
    /// Bytes of all views, or of an allocation or a copy.
    pub(crate) bytes: u64,
    /// Floating-point operations of an op, if they are counted.
    pub(crate) flop: Option<u64>,
}

impl Visit for CallFields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "queue" => self.queue = value,
            "peak" => self.peak = value,
            "bytes" => self.bytes = value,
            "flop" => self.flop = Some(value),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "backend" => self.backend = text,
            "element" => self.element = text,
            "params" => self.params = text,
            "views" => self.views = Some(text),
            _ => {}
        }
    }
}

impl ProfiledCall {
    /// Whether it is an op, and not an allocation, a copy, or another call on the queue itself.
    pub(crate) fn is_op(&self) -> bool {
        self.fields.views.is_some()
    }

    /// Elements of all views of an op, from a list such as `a=6 b=12`.
    fn elements(&self) -> u64 {
        let lengths = self.fields.views.as_deref().unwrap_or_default().split(' ');
        let lengths = lengths.filter_map(|view| view.split_once('=')?.1.parse::<u64>().ok());
        lengths.fold(0, u64::saturating_add)
    }
}

/// The calls of one name, element type and backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallKind {
    pub(super) name: &'static str,
    pub(super) element: String,
    pub(super) backend: String,
}

impl CallKind {
    /// Whether the host's time of a call is the time of its work.
    pub(super) fn is_on_the_host(&self) -> bool {
        self.backend == "cpu"
    }
}

/// The span of a call of the thread whose calls are marked.
#[derive(Clone, Debug)]
pub(super) struct EndedSpan {
    pub(super) kind: CallKind,
    pub(super) queue: u64,
    pub(super) begun: Instant,
}

/// A call with the device's time between its marks.
#[derive(Clone, Debug)]
pub(super) struct DeviceCall {
    pub(super) span: EndedSpan,
    pub(super) time: Duration,
}

/// Sums over the calls of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallTotals {
    pub(super) calls: u64,
    pub(super) time: Duration,
    /// The device's time of the marked calls; `None` without marks.
    pub(super) device_time: Option<Duration>,
    pub(super) elements: u64,
    pub(super) bytes: u64,
    pub(super) flop: Option<u64>,
}

impl CallTotals {
    fn add(&mut self, call: &ProfiledCall) {
        self.calls += 1;
        self.time += call.time;
        self.elements = self.elements.saturating_add(call.elements());
        self.bytes = self.bytes.saturating_add(call.fields.bytes);
        if let Some(flop) = call.fields.flop {
            self.flop = Some(self.flop.unwrap_or(0).saturating_add(flop));
        }
    }
}

/// All calls so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) totals: BTreeMap<CallKind, CallTotals>,
    /// The backend and the most bytes in use of each queue, by its number.
    pub(super) peaks: BTreeMap<u64, (String, u64)>,
    /// Backends that opened in place of others, with the reasons.
    pub(super) fallbacks: Vec<String>,
    /// Single calls, if they are kept.
    kept: Option<Vec<ProfiledCall>>,
    /// Spans of the calls of one thread, if they are kept.
    of_thread: Option<(ThreadId, Vec<EndedSpan>)>,
}

impl Calls {
    fn add(&mut self, call: ProfiledCall, begun: Instant) {
        let CallFields { backend, element, queue, peak, .. } = &call.fields;
        let kind = CallKind { name: call.name, element: element.clone(), backend: backend.clone() };
        let (_, most) = self.peaks.entry(*queue).or_insert_with(|| (backend.clone(), 0));
        *most = (*most).max(*peak);
        if let Some((thread, spans)) = &mut self.of_thread
            && *thread == thread::current().id()
        {
            spans.push(EndedSpan { kind: kind.clone(), queue: *queue, begun });
        }
        self.totals.entry(kind).or_default().add(&call);
        if let Some(kept) = &mut self.kept {
            kept.push(call);
        }
    }
}

/// A log of the calls on all queues of a process, which a subscriber adds to.
#[derive(Clone, Default)]
pub(crate) struct CallLog(Arc<Mutex<Calls>>);

impl CallLog {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the log.
    pub(super) fn snapshot(&self) -> Calls {
        self.lock().clone()
    }

    /// Runs `body`, and returns its result with the calls that ended meanwhile, in order.
    pub(crate) fn during<R>(&self, body: impl FnOnce() -> R) -> (R, Vec<ProfiledCall>) {
        self.lock().kept = Some(Vec::new());
        let result = body();
        (result, mem::take(&mut self.lock().kept).unwrap_or_default())
    }

    /// Runs `body`, and returns its result with the spans of this thread's calls, in order.
    pub(super) fn spans_during<R>(&self, body: impl FnOnce() -> R) -> (R, Vec<EndedSpan>) {
        self.lock().of_thread = Some((thread::current().id(), Vec::new()));
        let result = body();
        let kept = mem::take(&mut self.lock().of_thread);
        (result, kept.map_or_else(Vec::new, |(_, spans)| spans))
    }

    /// Adds the device's time of calls that the log has.
    pub(super) fn add_device_times(&self, calls: &[DeviceCall]) {
        let mut log = self.lock();
        for DeviceCall { span, time } in calls {
            if let Some(totals) = log.totals.get_mut(&span.kind) {
                *totals.device_time.get_or_insert(Duration::ZERO) += *time;
            }
        }
    }
}

/// A call that has not returned.
struct OpenCall {
    fields: CallFields,
    begun: Instant,
    /// Time of the calls within it.
    inner: Duration,
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for CallLog {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let mut fields = CallFields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(OpenCall { fields, begun: Instant::now(), inner: Duration::ZERO });
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let mut extensions = span.extensions_mut();
        if let Some(call) = extensions.get_mut::<OpenCall>() {
            call.begun = Instant::now();
        }
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        let end = Instant::now();
        let Some(span) = ctx.span(id) else { return };
        let Some(OpenCall { fields, begun, inner }) = span.extensions_mut().remove::<OpenCall>() else { return };
        let whole = end.duration_since(begun);
        if let Some(parent) = span.parent() {
            let mut extensions = parent.extensions_mut();
            if let Some(outer) = extensions.get_mut::<OpenCall>() {
                outer.inner += whole;
            }
        }
        self.lock().add(ProfiledCall { name: span.name(), fields, time: whole.saturating_sub(inner) }, begun);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fallback = FallbackFields::default();
        event.record(&mut fallback);
        let FallbackFields { requested, reason } = fallback;
        if !requested.is_empty() {
            self.lock().fallbacks.push(format!("`{requested}` was requested: {reason}"));
        }
    }
}

/// The fields of the event of a fallback.
#[derive(Default)]
struct FallbackFields {
    requested: String,
    reason: String,
}

impl Visit for FallbackFields {
    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        match field.name() {
            "requested" => self.requested = format!("{value:?}"),
            "reason" => self.reason = format!("{value:?}"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{
        Buffer as _, Queue as _,
        ops::linalg::{Axpby, ElementwiseOps as _},
    };
    use runtime::AnyQueue;
    use tracing::subscriber::with_default;

    use super::*;
    use crate::profile::subscriber;

    #[test]
    fn calls_of_one_kind_add_up() {
        let log = CallLog::default();
        let q = AnyQueue::Cpu(runtime::cpu().unwrap());
        let ((), kept) = log.during(|| {
            with_default(subscriber(log.clone()), || {
                let x = q.upload(&[1.0f32; 600]).unwrap();
                let mut y = q.zeros::<f32>(600).unwrap();
                for _ in 0..3 {
                    q.axpby(Axpby { alpha: 2.0, x: x.view(), beta: 1.0, y: y.view_mut() }).unwrap();
                }
                q.finish().unwrap();
            });
        });
        let names: Vec<_> = kept.iter().map(|call| call.name).collect();
        assert_eq!(names, ["alloc", "write", "zeros", "axpby", "axpby", "axpby", "finish"]);
        let Calls { totals, peaks, .. } = log.snapshot();
        let axpby = CallKind { name: "axpby", element: "f32".to_owned(), backend: "cpu".to_owned() };
        let CallTotals { calls, elements, bytes, flop, time, device_time } = totals[&axpby];
        assert_eq!(device_time, None);
        assert_eq!((calls, elements, bytes, flop), (3, 3600, 14_400, Some(5400)));
        assert_eq!(time, kept[3..6].iter().map(|call| call.time).sum::<Duration>());
        assert_eq!(totals.values().map(|totals| totals.calls).sum::<u64>(), 7);
        let peak: Vec<_> = peaks.into_values().collect();
        assert_eq!(peak, [("cpu".to_owned(), q.budget().peak_bytes())]);
    }

    #[test]
    fn the_time_of_a_call_is_without_the_calls_within() {
        let log = CallLog::default();
        let pause = Duration::from_millis(30);
        let ((), kept) = log.during(|| {
            with_default(subscriber(log.clone()), || {
                let _outer = tracing::debug_span!(target: runtime::TRACE_TARGET, "outer").entered();
                let _inner = tracing::debug_span!(target: runtime::TRACE_TARGET, "inner").entered();
                std::thread::sleep(pause);
            });
        });
        let [inner, outer] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((inner.name, outer.name), ("inner", "outer"));
        assert!(inner.time >= pause && outer.time < pause, "{kept:?}");
    }

    #[test]
    fn fallbacks_are_kept_with_their_reason() {
        let log = CallLog::default();
        with_default(subscriber(log.clone()), || {
            tracing::debug!(target: runtime::TRACE_TARGET, requested = %"gpu", reason = %"no driver", "fallback");
        });
        assert_eq!(log.snapshot().fallbacks, ["`gpu` was requested: no driver"]);
    }
}
