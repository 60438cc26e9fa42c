//! The device's time of each call, from marks around the calls of one thread.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use backend_api::BackendError;
use runtime::MarkedCall;
use serde_json::{Value, json};

use super::calls::{DeviceCall, EndedSpan};

/// The first thread number of queues in the file; threads of the host are below it.
const FIRST_TRACK: u64 = 1 << 20;

/// The calls on devices with their times. Waits for the work.
///
/// Both lists are in the order in which spans end. A call that was recorded has no time. After the
/// first time that cannot be read, for example of a lost device, no call has one.
pub(super) fn device_calls(spans: Vec<EndedSpan>, marked: &[MarkedCall]) -> Vec<DeviceCall> {
    let mut calls = Vec::new();
    for (span, marked) in spans.into_iter().zip(marked) {
        // Every span has its marks.
        debug_assert_eq!(span.kind.name, marked.name());
        if span.kind.is_on_the_host() {
            continue;
        }
        match marked.elapsed_ns() {
            Ok(ns) => calls.push(DeviceCall { span, time: Duration::from_nanos(ns.try_into().unwrap_or(0)) }),
            Err(BackendError::Unsupported { .. }) => {}
            Err(_) => break,
        }
    }
    calls
}

/// The calls as lines of a profile, a track for each queue.
///
/// `start` is the time 0 of the file. Marks measure lengths and not points in time: a call begins
/// when the host begins it, or when the call before it on its queue ends, whichever is later.
pub(super) fn events(calls: &[DeviceCall], start: Instant) -> Vec<u8> {
    let mut lines = Vec::new();
    // When each queue has done the calls so far.
    let mut ends: BTreeMap<u64, Duration> = BTreeMap::new();
    for DeviceCall { span: EndedSpan { kind, queue, begun }, time } in calls {
        let end = ends.entry(*queue).or_insert_with(|| {
            let args = json!({ "name": format!("queue {queue} ({})", kind.backend) });
            let name = json!({ "ph": "M", "pid": 1, "tid": track(*queue), "name": "thread_name", "args": args });
            append(&mut lines, &name);
            Duration::ZERO
        });
        let begin = begun.saturating_duration_since(start).max(*end);
        *end = begin + *time;
        let event = json!({
            "ph": "X", "pid": 1, "tid": track(*queue), "cat": "device", "name": kind.name,
            "ts": microseconds(begin), "dur": microseconds(*time), "args": { "element": kind.element },
        });
        append(&mut lines, &event);
    }
    lines
}

const fn track(queue: u64) -> u64 {
    FIRST_TRACK + queue
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Appends an event to a list that has one already.
fn append(lines: &mut Vec<u8>, event: &Value) {
    lines.extend(format!(",{event}\n").into_bytes());
}
