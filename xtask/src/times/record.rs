//! Times of the last runs of `test` and `ci`, kept in `times.json` of the target folder.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use xshell::Shell;

use super::{
    budgets::TimeBudgets,
    table::{LARGEST, largest},
};
use crate::{
    clock::{self, Times, WorkKind, note},
    tally::Tally,
};

/// A finished task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TaskRun {
    seconds: f64,
    cores: usize,
    times: Times,
}

/// Records the times of cases in a file of events, by op group.
///
/// `trefoil conformance --events` wrote the file.
pub(crate) fn note_events(backend: &str, file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    for (group, seconds) in op_groups(&text)? {
        note(WorkKind::OpGroup, &format!("{group} on {backend}"), seconds);
    }
    Ok(())
}

/// Seconds of finished cases by the first part of the op's name.
fn op_groups(events: &str) -> Result<BTreeMap<String, f64>> {
    /// The fields of `ends`; other events lack some of them.
    #[derive(Deserialize)]
    struct SuiteEvent {
        event: String,
        op: Option<String>,
        seconds: Option<f64>,
    }
    let mut groups = BTreeMap::new();
    for line in events.lines() {
        let event: SuiteEvent =
            serde_json::from_str(line).with_context(|| format!("cannot parse the event `{line}`"))?;
        let (Some(op), Some(seconds), "ends") = (event.op, event.seconds, event.event.as_str()) else { continue };
        let group = op.split('.').next().unwrap_or(&op);
        *groups.entry(group.to_owned()).or_default() += seconds;
    }
    Ok(groups)
}

/// Runs `task`, stores its times under `name`, and compares them with the budgets.
///
/// The largest times are printed if `shown`.
pub(crate) fn recorded(
    sh: &Shell,
    name: &str,
    shown: bool,
    task: impl FnOnce(&Shell) -> Result<Tally>,
) -> Result<Tally> {
    let start = Instant::now();
    let mut tally = task(sh)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let times = clock::take();
    let run = TaskRun { seconds: start.elapsed().as_secs_f64(), cores, times };
    if shown {
        println!("{}\n", text(name, &run));
    }
    let root = sh.current_dir();
    tally += TimeBudgets::read(&root)?.check(name, &measured(&run));
    let mut runs = read(&root)?;
    runs.insert(name.to_owned(), run);
    let file = file(&root);
    fs::write(&file, serde_json::to_string_pretty(&runs)?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(tally)
}

/// Times that may have budgets: tiers, checks and the sum.
fn measured(run: &TaskRun) -> Vec<(String, f64)> {
    let of = |kind| run.times.get(&kind).into_iter().flatten().map(|(name, &seconds)| (name.clone(), seconds));
    let tiers: Vec<_> = of(WorkKind::Tier).collect();
    // A task without tiers has budgets for its checks.
    let parts = if tiers.is_empty() { of(WorkKind::Check).collect() } else { tiers };
    parts.into_iter().chain([("sum".to_owned(), run.seconds)]).collect()
}

/// Prints the largest times of the last run of each task.
pub(super) fn show(sh: &Shell) -> Result<Tally> {
    let runs = read(&sh.current_dir())?;
    if runs.is_empty() {
        println!("no times are recorded; `cargo xtask test` records them");
    }
    for (name, run) in &runs {
        println!("{}\n", text(name, run));
    }
    Ok(Tally::default())
}

fn text(name: &str, run: &TaskRun) -> String {
    let heading = format!("{name}: {:.1} s on {} cores", run.seconds, run.cores);
    let tables = run.times.iter().map(|(kind, times)| {
        largest(kind.plural(), times.iter().map(|(name, &seconds)| (name.clone(), seconds)).collect(), LARGEST)
    });
    [heading].into_iter().chain(tables).collect::<Vec<_>>().join("\n")
}

/// Where the times are kept.
fn file(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("times.json")
}

fn read(root: &Path) -> Result<BTreeMap<String, TaskRun>> {
    let file = file(root);
    match fs::read_to_string(&file) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("cannot parse {}; remove the file", file.display()))
        }
        Err(_) => Ok(BTreeMap::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_cases_are_summed_by_op_group() {
        let events = r#"{"event":"opened","status":"s","device":"d","path":"p","cases":2,"conditions":1,"left_out":0}
{"event":"begins","run":0,"condition":"plain","op":"fss.deal","case":"a"}
{"event":"ends","run":0,"condition":"plain","op":"fss.deal","case":"a","seconds":0.5,"verdict":"passed"}
{"event":"ends","run":1,"condition":"plain","op":"fss.tree","case":"b","seconds":0.25,"verdict":"failed","reason":"r"}
{"event":"ends","run":2,"condition":"plain","op":"air","case":"c","seconds":1.0,"verdict":"passed"}
{"event":"closed"}"#;
        let groups = op_groups(events).unwrap();
        assert_eq!(groups, BTreeMap::from([("air".to_owned(), 1.0), ("fss".to_owned(), 0.75)]));
        assert!(op_groups("not JSON").is_err());
    }

    #[test]
    fn budgets_apply_to_tiers_or_else_to_checks() {
        let times = |kind| BTreeMap::from([(kind, BTreeMap::from([("a".to_owned(), 2.0)]))]);
        let mut run = TaskRun { seconds: 5.0, cores: 2, times: times(WorkKind::Check) };
        let expected = [("a".to_owned(), 2.0), ("sum".to_owned(), 5.0)];
        assert_eq!(measured(&run), expected);
        run.times.insert(WorkKind::Tier, BTreeMap::from([("b".to_owned(), 3.0)]));
        assert_eq!(measured(&run), [("b".to_owned(), 3.0), ("sum".to_owned(), 5.0)]);
    }

    #[test]
    fn runs_read_back_as_written() {
        let times = BTreeMap::from([(WorkKind::OpGroup, BTreeMap::from([("fss on sim".to_owned(), 1.5)]))]);
        let runs = BTreeMap::from([("test".to_owned(), TaskRun { seconds: 9.0, cores: 2, times })]);
        let text = serde_json::to_string(&runs).unwrap();
        assert_eq!(serde_json::from_str::<BTreeMap<String, TaskRun>>(&text).unwrap(), runs);
    }
}
