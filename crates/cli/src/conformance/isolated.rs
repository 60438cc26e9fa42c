//! The suite in isolated processes: one for each op, and a new one after each crash.

use std::{ffi::OsString, time::Instant};

use anyhow::Result;

use super::{
    event::{CaseRun, CaseVerdict, ConformanceEvent},
    show::Show,
};
use crate::{
    args::ConformanceArgs,
    exit::Relayed,
    isolate::{Child, Stop, TimeLimits},
};

/// Faults of an op before the rest of the op is skipped.
///
/// Faults are cases that bring down the process or the device.
const MAX_FAULTS: usize = 8;

/// How many of them may hang, which takes long.
const MAX_HANGS: usize = 2;

/// Ops in a row that fail to open the backend before the rest of the suite is skipped.
const MAX_CLOSED: usize = 3;

/// How the process of an op ended.
enum Course {
    /// With all of its cases.
    Done,
    /// With this case; `left` runs remain after it.
    Case { run: usize, verdict: CaseVerdict, left: usize },
    /// Before the backend was open.
    Closed(String),
    /// Between two cases or after the last one, after `done` runs.
    Late { done: usize, reason: String },
    /// As there was no time left.
    OutOfTime { left: usize },
}

/// Runs every op, given with its number of runs, and shows the events.
pub(super) fn run(
    args: &ConformanceArgs,
    ops: impl Iterator<Item = (&'static str, usize)>,
    show: &mut Show,
) -> Result<()> {
    let limits = TimeLimits::new(args.case_limit, args.deadline);
    let (mut closed, mut stopped, mut opened) = (0, None, false);
    for (op, runs) in ops {
        if limits.are_over() {
            stopped.get_or_insert_with(|| "out of time".to_owned());
        }
        if let Some(reason) = &stopped {
            show.tell(&ConformanceEvent::NotRun { op: op.to_owned(), runs, reason: reason.clone() })?;
            continue;
        }
        match one(args, op, runs, &limits, &mut opened, show)? {
            None => closed = 0,
            Some(reason) => {
                closed += 1;
                show.tell(&ConformanceEvent::NotRun { op: op.to_owned(), runs, reason })?;
                if closed == MAX_CLOSED {
                    stopped = Some(format!("the backend did not open {MAX_CLOSED} times in a row"));
                }
            }
        }
    }
    Ok(())
}

/// Runs one op in one or more processes. Returns the reason if the backend did not open.
///
/// `opened` is whether any process of the suite opened the backend: if the first one cannot, this
/// program reports it.
fn one(
    args: &ConformanceArgs,
    op: &str,
    runs: usize,
    limits: &TimeLimits,
    opened: &mut bool,
    show: &mut Show,
) -> Result<Option<String>> {
    let (mut from, mut faults, mut hangs) = (0, 0, 0);
    let (left, reason) = loop {
        match follow(args, op, from, limits, opened, show)? {
            Course::Done | Course::Case { left: 0, .. } => return Ok(None),
            Course::Closed(reason) if from == 0 => return Ok(Some(reason)),
            Course::Closed(reason) => break (runs.saturating_sub(from), reason),
            Course::OutOfTime { left } => break (left, "out of time".to_owned()),
            Course::Late { done, reason } => {
                faults += 1;
                if done <= from || done >= runs || faults == MAX_FAULTS {
                    break (runs.saturating_sub(done), reason);
                }
                from = done;
            }
            Course::Case { run, verdict, left } => {
                faults += 1;
                hangs += usize::from(verdict == CaseVerdict::Hung);
                if faults == MAX_FAULTS || hangs == MAX_HANGS {
                    let why = "cases ended their process or lost the device";
                    break (left, format!("{faults} {why}, {hangs} of them by a hang"));
                }
                from = run + 1;
            }
        }
    };
    show.tell(&ConformanceEvent::NotRun { op: op.to_owned(), runs: left.max(1), reason })?;
    Ok(None)
}

/// Starts a process for an op at run `from`, and shows its events.
fn follow(
    args: &ConformanceArgs,
    op: &str,
    from: usize,
    limits: &TimeLimits,
    opened: &mut bool,
    show: &mut Show,
) -> Result<Course> {
    let mut child = Child::start(&arguments(args, op, from), &limits.variables())?;
    let (mut total, mut done) = (None, from);
    let mut running: Option<(CaseRun, Instant)> = None;
    let stop = loop {
        let event: ConformanceEvent = match child.hear(limits) {
            Ok(event) => event,
            Err(stop) => break stop,
        };
        match &event {
            ConformanceEvent::Opened { cases, conditions, .. } => {
                *opened = true;
                total = Some(cases * conditions);
            }
            ConformanceEvent::Begins(run) => running = Some((run.clone(), Instant::now())),
            ConformanceEvent::Ends { run, .. } => (running, done) = (None, run.run + 1),
            ConformanceEvent::NotRun { .. } | ConformanceEvent::Driver { .. } => {}
            ConformanceEvent::Closed => return Ok(Course::Done),
        }
        // The opening is shown once for all processes of an op.
        if from == 0 || !matches!(event, ConformanceEvent::Opened { .. }) {
            show.tell(&event)?;
        }
        if let ConformanceEvent::Ends { run, verdict: verdict @ CaseVerdict::Lost, .. } = event {
            return Ok(after(&run, verdict, total.unwrap_or(0)));
        }
    };
    match (total, running, &stop) {
        (None, ..) => match Relayed::of(&stop) {
            Some(relayed) if !*opened => Err(relayed.into()),
            _ => Ok(Course::Closed(stop.to_string())),
        },
        (Some(total), running, Stop::OutOfTime) => {
            let next = running.map_or(done, |(run, _)| run.run);
            Ok(Course::OutOfTime { left: total.saturating_sub(next) })
        }
        (Some(total), Some(running), Stop::Hung(reason)) => {
            end(running, CaseVerdict::Hung, reason.clone(), total, show)
        }
        (Some(total), Some(running), Stop::Ended(ending)) => {
            end(running, CaseVerdict::Died, ending.to_string(), total, show)
        }
        (Some(_), None, _) => Ok(Course::Late { done, reason: stop.to_string() }),
    }
}

/// Reports the end of a case that its process did not live to report.
fn end(
    (run, since): (CaseRun, Instant),
    verdict: CaseVerdict,
    reason: String,
    total: usize,
    show: &mut Show,
) -> Result<Course> {
    let course = after(&run, verdict, total);
    show.tell(&ConformanceEvent::Ends { run, seconds: since.elapsed().as_secs_f64(), verdict, reason: Some(reason) })?;
    Ok(course)
}

/// How a process ended that a case brought down.
fn after(run: &CaseRun, verdict: CaseVerdict, total: usize) -> Course {
    Course::Case { run: run.run, verdict, left: total.saturating_sub(run.run + 1) }
}

/// The command line of the process.
fn arguments(args: &ConformanceArgs, op: &str, from: usize) -> Vec<OsString> {
    let mut line: Vec<OsString> =
        ["conformance", op, "--exact", "--events", "-", "--from", &from.to_string()].map(Into::into).into();
    let mut add = |flag: &str, value: String| line.extend([flag.into(), value.into()]);
    if let Some(backend) = args.backend {
        add("--backend", backend.name().to_owned());
    }
    if let Some(elements) = args.max_elements {
        add("--max-elements", elements.to_string());
    }
    for condition in &args.condition {
        add("--condition", condition.clone());
    }
    line
}
