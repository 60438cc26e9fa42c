//! Lines, each measured in its own process.

use std::ffi::OsString;

use anyhow::Result;
use runtime::Choice;

use super::event::BenchEvent;
use crate::{
    args::BenchArgs,
    exit::Relayed,
    isolate::{Child, TimeLimits},
};

/// Measures every line in a separate process and reports its events.
pub(super) fn run(
    args: &BenchArgs,
    choice: Choice,
    ids: impl Iterator<Item = String>,
    tell: &mut dyn FnMut(&BenchEvent) -> Result<()>,
) -> Result<()> {
    let limits = TimeLimits::new(args.line_limit, args.deadline);
    let mut opened = false;
    for id in ids {
        if let Some(reason) = one(args, choice, &id, &mut opened, &limits, tell)? {
            tell(&BenchEvent::Failed { id, reason })?;
        }
    }
    tell(&BenchEvent::Closed)
}

/// Measures a line. Returns the reason if it was not measured and its process reported none.
///
/// `opened` is whether an earlier process opened the backend: if the first one cannot, this program
/// reports it.
fn one(
    args: &BenchArgs,
    choice: Choice,
    id: &str,
    opened: &mut bool,
    limits: &TimeLimits,
    tell: &mut dyn FnMut(&BenchEvent) -> Result<()>,
) -> Result<Option<String>> {
    if limits.are_over() {
        return Ok(Some("out of time".to_owned()));
    }
    let mut line: Vec<OsString> =
        ["bench", id, "--exact", "--events", "-", "--backend", choice.name()].map(Into::into).into();
    if args.quick {
        line.push("--quick".into());
    }
    let mut child = Child::start(&line, &limits.variables())?;
    let mut settled = false;
    let stop = loop {
        let event = match child.hear(limits) {
            Ok(BenchEvent::Closed) => return Ok(None),
            Ok(event) => event,
            Err(stop) => break stop,
        };
        let opens = matches!(event, BenchEvent::Opened(_));
        // The opening is reported once for all processes.
        if !(opens && *opened) {
            tell(&event)?;
        }
        *opened |= opens;
        settled |= matches!(event, BenchEvent::Measured(_) | BenchEvent::Failed { .. });
    };
    match Relayed::of(&stop) {
        Some(relayed) if !*opened => Err(relayed.into()),
        _ => Ok((!settled).then(|| stop.to_string())),
    }
}
