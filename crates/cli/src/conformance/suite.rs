//! The suite in this process, one condition after the other.

use anyhow::Result;
use backend_api::Queue as _;
use conformance::{Condition, OpSpec, Outcome, Progress, Selection};
use runtime::Choice;

use super::event::{CaseRun, CaseVerdict, ConformanceEvent};
use crate::args::ConformanceArgs;

/// Cases on more elements than this take minutes on the simulated device.
const SIMULATED_ELEMENTS: u64 = 1 << 16;

/// Runs the suite in this process and reports what happens.
pub(super) fn run(args: &ConformanceArgs, tell: &mut dyn FnMut(&ConformanceEvent) -> Result<()>) -> Result<()> {
    let (queue, status) =
        runtime::open_with(&runtime::Settings::from_env().map_err(runtime::OpenError::from)?, None, args.backend)?;
    let limit = if status.active == Choice::Sim { SIMULATED_ELEMENTS } else { u64::MAX };
    let all = Selection { filter: &args.filter, exact: args.exact, part: args.part, ..Selection::default() };
    let selection = Selection { max_elements: args.max_elements.unwrap_or(limit), ..all };
    let count = |specs: Vec<OpSpec>| specs.iter().map(|spec| spec.cases.len()).sum::<usize>();
    let cases = count(selection.of(conformance::specs()));
    let conditions = conditions(args, Some(status.active));
    tell(&ConformanceEvent::Opened {
        status: status.to_string(),
        device: queue.caps().device.clone(),
        path: queue.caps().path.clone(),
        cases,
        conditions: conditions.len(),
        left_out: count(all.of(conformance::specs())) - cases,
    })?;
    let mut told = Ok(());
    let mut lost = None;
    for (turn, condition) in conditions.iter().enumerate() {
        let mut number = turn * cases;
        let skip = args.from.saturating_sub(number).min(cases);
        number += skip;
        let report = condition.run(&queue, Selection { skip, ..selection }, |progress| {
            let run = |op: &str, case: &str| CaseRun {
                run: number,
                condition: condition.name().to_owned(),
                op: op.to_owned(),
                case: case.to_owned(),
            };
            let event = match progress {
                Progress::Begins { op, case } => ConformanceEvent::Begins(run(op, case)),
                Progress::Ends(outcome) => {
                    let run = run(outcome.op, &outcome.case);
                    number += 1;
                    ends(run, outcome)
                }
            };
            if told.is_ok() {
                told = tell(&event);
            }
        })?;
        if report.is_cut_short() {
            lost = report.outcomes.last().map(|outcome| (outcome.op, conditions.len() * cases - number));
            break;
        }
    }
    told?;
    if let Some((op, runs @ 1..)) = lost {
        let (op, reason) = (op.to_owned(), "the device is lost".to_owned());
        tell(&ConformanceEvent::NotRun { op, runs, reason })?;
    }
    drop(queue);
    #[cfg(feature = "cuda")]
    for text in runtime::simulator_reports() {
        tell(&ConformanceEvent::Driver { text })?;
    }
    tell(&ConformanceEvent::Closed)
}

/// The selected conditions; by default all that apply to the backend, as far as it is known.
pub(super) fn conditions(args: &ConformanceArgs, active: Option<Choice>) -> Vec<Condition> {
    let mut conditions: Vec<_> = Condition::ALL.into();
    if args.condition.is_empty() {
        conditions.retain(|&condition| active != Some(Choice::Cpu) || condition != Condition::Recorded);
    } else {
        conditions.retain(|condition| args.condition.iter().any(|name| name == condition.name()));
    }
    conditions
}

fn ends(run: CaseRun, outcome: &Outcome) -> ConformanceEvent {
    let verdict = match &outcome.failure {
        None => CaseVerdict::Passed,
        Some(failure) if failure.is_lost_device() => CaseVerdict::Lost,
        Some(_) => CaseVerdict::Failed,
    };
    let reason = outcome.failure.as_ref().map(ToString::to_string);
    ConformanceEvent::Ends { run, seconds: outcome.seconds, verdict, reason }
}
