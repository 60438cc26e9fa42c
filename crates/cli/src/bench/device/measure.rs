//! Lines measured in this process, one after the other.

use anyhow::Result;
use backend_api::Queue as _;
use runtime::{AnyQueue, Choice};
use yardstick::{COPY, Extent, Line, RunSize, Timing, lines};

use super::event::{BenchEvent, MeasuredLine, MeasuredMachine};
use crate::{
    args::BenchArgs,
    bench::{FULL, QUICK},
    exit::UsageError,
};

/// The lines of these arguments.
pub(super) fn chosen(args: &BenchArgs) -> Result<Vec<Line>> {
    let mut chosen = lines(if args.quick { Extent::Small } else { Extent::Full });
    let asked = |id: &str| if args.exact { id == args.filter } else { id.contains(&args.filter) };
    if !chosen.iter().any(|line| asked(&line.id)) {
        let relation = if args.exact { "is" } else { "contains" };
        return Err(UsageError(format!("no speed line {relation} `{}`", args.filter)).into());
    }
    // The copy stays: other lines are related to it. A single line is for somebody who has measured it.
    chosen.retain(|line| asked(&line.id) || (!args.exact && line.id == COPY));
    Ok(chosen)
}

/// Measures the lines in this process and reports what happens.
///
/// A line that fails does not keep the others from being measured.
pub(super) fn run(args: &BenchArgs, choice: Choice, tell: &mut dyn FnMut(&BenchEvent) -> Result<()>) -> Result<()> {
    let settings = runtime::Settings::from_env().map_err(runtime::OpenError::from)?;
    let (queue, status) = runtime::open_with(&settings, None, Some(choice))?;
    let effort = if args.quick { QUICK } else { FULL };
    let caps = queue.caps();
    tell(&BenchEvent::Opened(MeasuredMachine {
        status: status.to_string(),
        device: caps.device.clone(),
        path: caps.path.clone(),
        driver: driver(&settings, &queue),
        cache_bytes: match &queue {
            #[cfg(feature = "cuda")]
            AnyQueue::Cuda(queue) => Some(queue.device().info().cache_bytes),
            _ => None,
        },
        rounds: effort.rounds,
    }))?;
    for line in chosen(args)? {
        let (id, RunSize { unit, work, bytes, resident }) = (line.id.clone(), line.size);
        let unit = unit.to_owned();
        tell(&BenchEvent::Begins { id: id.clone() })?;
        tell(&match line.measure(&queue, effort) {
            Ok(Timing { median_s, best_s, rounds_s, .. }) => {
                BenchEvent::Measured(MeasuredLine { id, unit, work, bytes, resident, median_s, best_s, rounds_s })
            }
            Err(error) => BenchEvent::Failed { id, reason: error.to_string() },
        })?;
    }
    drop(queue);
    tell(&BenchEvent::Closed)
}

#[cfg(not(feature = "cuda"))]
const fn driver(_: &runtime::Settings, _: &AnyQueue) -> Option<String> {
    None
}

#[cfg(feature = "cuda")]
fn driver(settings: &runtime::Settings, queue: &AnyQueue) -> Option<String> {
    let AnyQueue::Cuda(_) = queue else { return None };
    let facts = runtime::cuda_facts(settings).ok()?;
    Some(format!("CUDA {}, {}", facts.driver.version, facts.driver.origin))
}
