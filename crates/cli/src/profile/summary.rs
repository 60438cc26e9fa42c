//! The table of a profile: sums over the calls of each kind, and the memory of each queue.

use core::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::calls::{CallKind, CallLog, CallTotals, Calls};

/// The calls that take device memory.
const ALLOCATIONS: [&str; 2] = ["alloc", "zeros"];

/// The calls that copy, by the direction: to the device, from it, and on it.
const COPIES: [(&str, &[&str]); 3] = [
    ("to the device", &["write", "write_secret", "write_registered"]),
    ("from the device", &["read", "read_secret", "read_registered"]),
    ("on the device", &["copy"]),
];

const HEAD: [&str; 11] = ["call", "type", "on", "calls", "ms", "share", "elements", "MB", "GB/s", "MFLOP", "GFLOP/s"];

/// The last column, if calls on a device were marked.
const DEVICE: &str = "device ms";

/// Sums over the calls of a process on its queues.
#[derive(Debug, Serialize)]
pub(crate) struct ProfileSummary {
    /// Host time of all calls.
    seconds: f64,
    /// The device's time of the marked calls; `None` without marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_seconds: Option<f64>,
    /// The greatest time first.
    calls: Vec<CallLine>,
    allocations: CountedBytes,
    copies: Vec<CopyLine>,
    memory: Vec<MemoryLine>,
    fallbacks: Vec<String>,
}

/// The calls of one name, element type and backend.
#[derive(Debug, Serialize)]
struct CallLine {
    call: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    element: String,
    backend: String,
    calls: u64,
    /// Host time, without the calls within these.
    seconds: f64,
    /// In per cent of the host time of all calls.
    share: f64,
    /// The device's time, if the calls were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_seconds: Option<f64>,
    /// Elements of all views.
    elements: u64,
    bytes: u64,
    /// Of the device's time, or on the CPU of the host's; absent without either.
    bytes_per_s: Option<f64>,
    flop: Option<u64>,
    flop_per_s: Option<f64>,
}

/// A number of calls and their bytes.
#[derive(Debug, Default, Serialize)]
struct CountedBytes {
    calls: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct CopyLine {
    direction: &'static str,
    #[serde(flatten)]
    counted: CountedBytes,
}

/// The memory that one queue, its clones and its forks allocate from.
#[derive(Debug, Serialize)]
struct MemoryLine {
    queue: u64,
    backend: String,
    /// The most bytes in use when a call began.
    peak_bytes: u64,
}

impl ProfileSummary {
    /// The sums so far.
    pub(crate) fn of(log: &CallLog) -> Self {
        let Calls { totals, peaks, fallbacks, .. } = log.snapshot();
        let seconds: f64 = totals.values().map(|totals| totals.time.as_secs_f64()).sum();
        let counted = |names: &[&str]| {
            let of_names = totals.iter().filter(|(kind, _)| names.contains(&kind.name));
            of_names.fold(CountedBytes::default(), |sum, (_, totals)| CountedBytes {
                calls: sum.calls + totals.calls,
                bytes: sum.bytes.saturating_add(totals.bytes),
            })
        };
        let (allocations, copies) =
            (counted(&ALLOCATIONS), COPIES.map(|(direction, names)| (direction, counted(names))));
        let mut calls: Vec<_> = totals.into_iter().map(|(kind, totals)| CallLine::new(kind, totals, seconds)).collect();
        calls.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let device_seconds = calls.iter().filter_map(|line| line.device_seconds).reduce(|sum, next| sum + next);
        let memory = peaks.into_iter().map(|(queue, (backend, peak_bytes))| MemoryLine { queue, backend, peak_bytes });
        Self {
            seconds,
            device_seconds,
            calls,
            allocations,
            copies: copies.into_iter().map(|(direction, counted)| CopyLine { direction, counted }).collect(),
            memory: memory.collect(),
            fallbacks,
        }
    }

    /// Whether no queue was called, and none took the place of another.
    pub(crate) const fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.fallbacks.is_empty()
    }

    /// The lines below the table: allocations, copies, memory, fallbacks.
    pub(crate) fn notes(&self) -> String {
        let CountedBytes { calls, bytes } = self.allocations;
        let mut lines = vec![format!("allocations  {calls} of {} MB", millions(bytes))];
        let copies = self.copies.iter().map(|CopyLine { direction, counted: CountedBytes { calls, bytes } }| {
            format!("{calls} of {} MB {direction}", millions(*bytes))
        });
        lines.push(format!("copies       {}", copies.collect::<Vec<_>>().join(", ")));
        lines.extend(self.memory.iter().map(|MemoryLine { queue, backend, peak_bytes }| {
            format!("memory       queue {queue} ({backend}): at most {} MB", millions(*peak_bytes))
        }));
        match &self.fallbacks[..] {
            [] => lines.push("fallbacks    none".to_owned()),
            fallbacks => lines.extend(fallbacks.iter().map(|reason| format!("fallback     {reason}"))),
        }
        lines.join("\n") + "\n"
    }
}

impl CallLine {
    fn new(kind: CallKind, totals: CallTotals, all_seconds: f64) -> Self {
        let CallTotals { calls, time, device_time, elements, bytes, flop } = totals;
        let (seconds, device_seconds) = (time.as_secs_f64(), device_time.map(|time| time.as_secs_f64()));
        let of_work = if kind.is_on_the_host() { Some(seconds) } else { device_seconds };
        let of_work = of_work.filter(|&seconds| seconds > 0.0);
        let rate = |amount: u64| of_work.map(|seconds| amount as f64 / seconds);
        let CallKind { name, element, backend } = kind;
        Self {
            call: name,
            element,
            backend,
            calls,
            seconds,
            share: if all_seconds > 0.0 { 1e2 * seconds / all_seconds } else { 0.0 },
            device_seconds,
            elements,
            bytes,
            bytes_per_s: rate(bytes).filter(|_| bytes > 0),
            flop,
            flop_per_s: flop.and_then(rate),
        }
    }

    fn row(&self) -> Vec<String> {
        let shown = |amount: u64, text: String| if amount > 0 { text } else { String::new() };
        vec![
            self.call.to_owned(),
            self.element.clone(),
            self.backend.clone(),
            self.calls.to_string(),
            format!("{:.3}", self.seconds * 1e3),
            format!("{:.1} %", self.share),
            shown(self.elements, self.elements.to_string()),
            shown(self.bytes, millions(self.bytes)),
            giga(self.bytes_per_s),
            self.flop.map_or_else(String::new, millions),
            giga(self.flop_per_s),
            milliseconds(self.device_seconds),
        ]
    }
}

/// Milliseconds, with three decimals, or nothing.
fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!("{:.3}", seconds * 1e3))
}

impl fmt::Display for ProfileSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = HEAD.to_vec();
        let mut all = vec![String::new(); HEAD.len()];
        all[0] = "all".to_owned();
        (all[4], all[5]) = (milliseconds(Some(self.seconds)), "100.0 %".to_owned());
        if self.device_seconds.is_some() {
            head.push(DEVICE);
            all.push(milliseconds(self.device_seconds));
        }
        let rows = self.calls.iter().map(CallLine::row).chain([all]);
        writeln!(f, "{}", aligned(&head, 3, rows))?;
        f.write_str(&self.notes())
    }
}

/// Rows under a head, with `texts` columns of text and then columns of numbers.
pub(crate) fn aligned(head: &[&str], texts: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.to_vec());
    for mut row in rows {
        row.resize(head.len(), String::new());
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// Millions, with three decimals.
pub(crate) fn millions(amount: u64) -> String {
    format!("{:.3}", amount as f64 / 1e6)
}

/// Thousands of millions, with two decimals, or nothing.
pub(crate) fn giga(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| format!("{:.2}", rate / 1e9))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backend_api::{
        Buffer as _, Queue as _,
        ops::linalg::{Axpby, ElementwiseOps as _},
    };
    use runtime::AnyQueue;
    use tracing::subscriber::with_default;

    use super::*;
    use crate::profile::{calls::DeviceCall, subscriber};

    #[test]
    fn shares_add_up_and_bytes_are_in_their_places() {
        let log = CallLog::default();
        assert!(ProfileSummary::of(&log).is_empty());
        with_default(subscriber(log.clone()), || {
            let q = AnyQueue::Cpu(runtime::cpu().unwrap());
            let x = q.upload(&[1.0f32; 500]).unwrap();
            let mut y = q.zeros::<f32>(500).unwrap();
            q.copy(x.view(), y.view_mut()).unwrap();
            q.axpby(Axpby { alpha: 2.0, x: x.view(), beta: 1.0, y: y.view_mut() }).unwrap();
            q.download(&y).unwrap();
        });
        let summary = ProfileSummary::of(&log);
        let shares: f64 = summary.calls.iter().map(|line| line.share).sum();
        assert!((shares - 100.0).abs() < 1e-9, "{shares}");
        let seconds: f64 = summary.calls.iter().map(|line| line.seconds).sum();
        assert!((seconds - summary.seconds).abs() < 1e-9);
        assert!(summary.calls.is_sorted_by(|a, b| a.seconds >= b.seconds));
        assert_eq!((summary.allocations.calls, summary.allocations.bytes), (2, 4000));
        let copies: Vec<_> = summary.copies.iter().map(|copy| (copy.counted.calls, copy.counted.bytes)).collect();
        assert_eq!(copies, [(1, 2000); 3]);
        let axpby = summary.calls.iter().find(|line| line.call == "axpby").unwrap();
        assert_eq!((axpby.elements, axpby.bytes, axpby.flop), (1000, 4000, Some(1500)));
        let text = summary.to_string();
        for line in [
            "allocations  2 of 0.004 MB",
            "copies       1 of 0.002 MB to the device, 1 of 0.002 MB from the device, 1 of 0.002 MB on the device",
            "fallbacks    none",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
        }
        assert!(text.lines().any(|line| line.trim_start().starts_with("all") && line.ends_with("100.0 %")), "{text}");
    }

    #[test]
    fn times_of_a_device_are_in_the_json_of_marked_calls_alone() {
        let log = CallLog::default();
        with_default(subscriber(log.clone()), || {
            let q = AnyQueue::Cpu(runtime::cpu().unwrap());
            let (_, spans) = log.spans_during(|| q.upload(&[1.0f32; 5]).unwrap());
            q.zeros::<f32>(5).unwrap();
            let times = [3, 4].map(Duration::from_millis);
            let calls: Vec<_> = spans.into_iter().zip(times).map(|(span, time)| DeviceCall { span, time }).collect();
            assert_eq!(calls.len(), 2);
            log.add_device_times(&calls);
        });
        let summary = serde_json::to_value(ProfileSummary::of(&log)).unwrap();
        assert_eq!(summary["device_seconds"], 0.007);
        let line = |name: &str| summary["calls"].as_array().unwrap().iter().find(|line| line["call"] == name).unwrap();
        assert_eq!(["alloc", "write"].map(|name| line(name)["device_seconds"].as_f64().unwrap()), [0.003, 0.004]);
        assert!(line("zeros").get("device_seconds").is_none());
    }

    #[test]
    fn rates_are_of_the_time_of_the_work_or_left_out() {
        let kind = |backend: &str| CallKind { name: "gemm", element: "f32".to_owned(), backend: backend.to_owned() };
        let time = Duration::from_millis(2);
        let device_time = None;
        let totals = CallTotals { calls: 1, time, device_time, elements: 1, bytes: 4_000_000, flop: Some(6_000_000) };
        let [cpu, cuda] = ["cpu", "cuda"].map(|backend| CallLine::new(kind(backend), totals, 0.004));
        assert_eq!(cpu.row()[4..], ["2.000", "50.0 %", "1", "4.000", "2.00", "6.000", "3.00", ""]);
        assert_eq!(cuda.row()[4..], ["2.000", "50.0 %", "1", "4.000", "", "6.000", "", ""]);
        let marked = CallTotals { device_time: Some(time / 2), ..totals };
        let cuda = CallLine::new(kind("cuda"), marked, 0.004);
        assert_eq!(cuda.row()[4..], ["2.000", "50.0 %", "1", "4.000", "4.00", "6.000", "6.00", "1.000"]);
    }
}
