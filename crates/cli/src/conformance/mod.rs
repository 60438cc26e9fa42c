//! `trefoil conformance`: the suite on one backend.

mod event;
mod isolated;
mod show;
mod suite;

use anyhow::{Result, bail};
use conformance::Selection;

#[cfg(feature = "cuda")]
pub(crate) use self::event::{CaseRun, CaseVerdict, ConformanceEvent};
pub(crate) use self::show::Show;
use crate::{args::ConformanceArgs, exit::UsageError};

/// Runs the command.
pub(crate) fn run(args: &ConformanceArgs) -> Result<()> {
    let max_elements = args.max_elements.unwrap_or(u64::MAX);
    let chosen = Selection { filter: &args.filter, exact: args.exact, max_elements, ..Selection::default() };
    let ops = chosen.of(conformance::specs());
    if ops.is_empty() {
        let relation = if args.exact { "is" } else { "contains" };
        return Err(UsageError(format!("no op of the suite {relation} `{}`", args.filter)).into());
    }
    let mut show = Show::new(args.events.as_deref(), args.verbose)?;
    if args.isolate {
        let conditions = suite::conditions(args, None).len();
        isolated::run(args, ops.iter().map(|spec| (spec.op, spec.cases.len() * conditions)), &mut show)?;
    } else {
        suite::run(args, &mut |event| show.tell(event))?;
    }
    match show.finish()? {
        Some(wrong) => bail!(wrong),
        None => Ok(()),
    }
}
