//! Events of a run on the terminal, in a file and as counts.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use conformance::Condition;
use indicatif::{ProgressBar, ProgressStyle};

use super::event::{CaseRun, CaseVerdict, ConformanceEvent};
use crate::isolate::Events;

/// What was counted under a condition.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    seconds: f64,
}

/// Shows events to the user, writes them down, and counts.
pub(crate) struct Show {
    events: Events,
    verbose: bool,
    bar: ProgressBar,
    counts: BTreeMap<String, Count>,
    status: String,
    cases: usize,
    left_out: usize,
    not_run: usize,
    reports: usize,
}

impl Show {
    pub(crate) fn new(events: Option<&Path>, verbose: bool) -> Result<Self> {
        let bar = if verbose { ProgressBar::hidden() } else { ProgressBar::new(0) };
        bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
        Ok(Self {
            events: Events::begin(events)?,
            verbose,
            bar,
            counts: BTreeMap::new(),
            status: String::new(),
            cases: 0,
            left_out: 0,
            not_run: 0,
            reports: 0,
        })
    }

    /// Takes an event.
    pub(crate) fn tell(&mut self, event: &ConformanceEvent) -> Result<()> {
        self.events.tell(event)?;
        match event {
            ConformanceEvent::Opened { status, cases, conditions, left_out, .. } => {
                self.status.clone_from(status);
                self.cases += cases;
                self.left_out += left_out;
                self.bar.inc_length((cases * conditions) as u64);
            }
            ConformanceEvent::Begins(CaseRun { op, case, condition, .. }) => {
                self.bar.set_message(op.clone());
                if self.verbose {
                    self.print(|| format!("{condition:<8} {op:<28} {case:<40} "))?;
                }
            }
            ConformanceEvent::Ends { run, seconds, verdict, reason } => {
                self.bar.inc(1);
                let count = self.counts.entry(run.condition.clone()).or_default();
                count.seconds += seconds;
                match verdict {
                    CaseVerdict::Passed => count.passed += 1,
                    _ => count.failed += 1,
                }
                self.show_end(run, *seconds, *verdict, reason.as_deref())?;
            }
            ConformanceEvent::NotRun { op, runs, reason } => {
                self.not_run += runs;
                self.print(|| format!("{op:<28} {runs} cases not run: {reason}\n"))?;
            }
            ConformanceEvent::Driver { text } => {
                self.reports += 1;
                self.print(|| format!("FAILED: {text}\n"))?;
            }
            ConformanceEvent::Closed => {}
        }
        Ok(())
    }

    fn show_end(&self, run: &CaseRun, seconds: f64, verdict: CaseVerdict, reason: Option<&str>) -> Result<()> {
        let CaseRun { condition, op, case, .. } = run;
        let told = reason.map_or_else(|| verdict.name().to_owned(), |reason| format!("{}: {reason}", verdict.name()));
        match (self.verbose, verdict) {
            (true, _) => self.print(|| format!("{seconds:>8.3} s  {told}\n")),
            (false, CaseVerdict::Passed) => Ok(()),
            _ => self.print(|| format!("{condition:<8} {op:<28} {case:<40} {seconds:>8.3} s  {told}\n")),
        }
    }

    /// Prints a text and flushes it.
    fn print(&self, text: impl FnOnce() -> String) -> Result<()> {
        if self.events.are_on_stdout() {
            return Ok(());
        }
        self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text().as_bytes()).and_then(|()| out.flush())
        })?;
        Ok(())
    }

    /// Shows the counts, and returns a summary of what failed, if anything did.
    pub(crate) fn finish(self) -> Result<Option<String>> {
        self.bar.finish_and_clear();
        for condition in Condition::ALL {
            if let Some(Count { passed, failed, seconds }) = self.counts.get(condition.name()) {
                let name = condition.name();
                self.print(|| format!("{name:<8} {passed:>5} passed, {failed} failed in {seconds:.1} s\n"))?;
            }
        }
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!(", {left_out} on more elements than asked for left out"),
        };
        self.print(|| format!("{} cases on {}{left_out}\n", self.cases, self.status))?;
        let runs: usize = self.counts.values().map(|count| count.passed + count.failed).sum();
        let failed: usize = self.counts.values().map(|count| count.failed).sum();
        let Self { not_run, reports, .. } = self;
        Ok((failed + not_run + reports > 0).then(|| {
            format!("{failed} of {runs} runs do not conform, {not_run} were not run, {reports} reports of the driver")
        }))
    }
}
