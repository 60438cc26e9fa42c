//! `trefoil conformance`: the suite on one backend.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use runtime::Choice;

use crate::args::ConformanceArgs;

/// Cases on more elements take the simulated device minutes.
const SIMULATED_ELEMENTS: u64 = 1 << 16;

/// Runs the command.
pub(crate) fn run(args: &ConformanceArgs) -> Result<()> {
    let (queue, status) =
        runtime::open_with(&runtime::Settings::from_env().map_err(runtime::OpenError::from)?, None, args.backend)?;
    let mut specs = conformance::specs();
    specs.retain(|spec| spec.op.contains(&args.filter));
    let limit = if status.active == Choice::Sim { SIMULATED_ELEMENTS } else { u64::MAX };
    let limit = args.max_elements.unwrap_or(limit);
    let left_out: usize = specs.iter_mut().map(|spec| spec.limit_elements(limit)).sum();
    let total: usize = specs.iter().map(|spec| spec.cases.len()).sum();
    if total == 0 {
        bail!("no op of the suite contains `{}`", args.filter);
    }
    let bar = ProgressBar::new(total as u64);
    bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
    let mut out = io::stdout().lock();
    let mut print_error = Ok(());
    let report = conformance::run(&queue, &specs, |outcome| {
        bar.inc(1);
        bar.set_message(outcome.op);
        let verdict = match &outcome.failure {
            None if !args.verbose => return,
            None => "ok".to_owned(),
            Some(failure) => format!("FAILED: {failure}"),
        };
        let line = bar
            .suspend(|| writeln!(out, "{:<28} {:<40} {:>8.3} s  {verdict}", outcome.op, outcome.case, outcome.seconds));
        if print_error.is_ok() {
            print_error = line;
        }
    });
    bar.finish_and_clear();
    print_error?;
    let failed = report.failures().count();
    writeln!(out, "{} ops on {status}: {} passed, {failed} failed", specs.len(), total - failed)?;
    if left_out > 0 {
        writeln!(out, "{left_out} cases on more than {limit} elements were left out")?;
    }
    if failed > 0 {
        bail!("{failed} of {total} cases do not conform");
    }
    Ok(())
}
