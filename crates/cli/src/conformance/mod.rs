//! `trefoil conformance`: the suite on one backend.

use std::{
    io::{self, Write as _},
    time::Instant,
};

use anyhow::{Result, bail};
use conformance::{Condition, OpSpec, Outcome, Selection};
use indicatif::{ProgressBar, ProgressStyle};
use runtime::{AnyQueue, Choice};

use crate::args::ConformanceArgs;

/// Cases on more elements take the simulated device minutes.
const SIMULATED_ELEMENTS: u64 = 1 << 16;

/// Runs the command.
pub(crate) fn run(args: &ConformanceArgs) -> Result<()> {
    let (queue, status) =
        runtime::open_with(&runtime::Settings::from_env().map_err(runtime::OpenError::from)?, None, args.backend)?;
    let limit = if status.active == Choice::Sim { SIMULATED_ELEMENTS } else { u64::MAX };
    let selection = Selection { filter: &args.filter, max_elements: args.max_elements.unwrap_or(limit) };
    let count = |specs: Vec<OpSpec<AnyQueue>>| specs.iter().map(|spec| spec.cases.len()).sum::<usize>();
    let cases = count(selection.of(conformance::specs()));
    let left_out = count(Selection { max_elements: u64::MAX, ..selection }.of(conformance::specs())) - cases;
    if cases == 0 {
        bail!("no op of the suite contains `{}`", args.filter);
    }
    let conditions = if args.plain { &[Condition::Plain][..] } else { &Condition::ALL };
    let bar = ProgressBar::new((cases * conditions.len()) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
    let mut out = io::stdout().lock();
    let mut print_error = Ok(());
    let mut failed = 0;
    for condition in conditions {
        let start = Instant::now();
        let report = condition.run(&queue, selection, |outcome| {
            bar.inc(1);
            bar.set_message(outcome.op);
            let verdict = match &outcome.failure {
                None if !args.verbose => return,
                None => "ok".to_owned(),
                Some(failure) => format!("FAILED: {failure}"),
            };
            let Outcome { op, case, seconds, .. } = outcome;
            let line = bar.suspend(|| writeln!(out, "{op:<28} {case:<40} {seconds:>8.3} s  {verdict}"));
            if print_error.is_ok() {
                print_error = line;
            }
        })?;
        let failures = report.failures().count();
        let (name, seconds) = (condition.name(), start.elapsed().as_secs_f64());
        bar.suspend(|| writeln!(out, "{name:<8} {:>5} passed, {failures} failed in {seconds:.1} s", cases - failures))?;
        failed += failures;
    }
    bar.finish_and_clear();
    print_error?;
    match left_out {
        0 => writeln!(out, "{cases} cases on {status}")?,
        _ => {
            let limit = selection.max_elements;
            writeln!(out, "{cases} cases on {status}, {left_out} on more than {limit} elements left out")?;
        }
    }
    drop(queue);
    let reports = runtime::simulator_reports();
    for report in &reports {
        writeln!(out, "FAILED: {report}")?;
    }
    if failed + reports.len() > 0 {
        bail!("{failed} of {} runs do not conform, {} reports of the driver", cases * conditions.len(), reports.len());
    }
    Ok(())
}
