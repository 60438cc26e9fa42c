//! The part of the conformance suite that a change can reach.

use std::collections::BTreeSet;

use anyhow::Result;
use xshell::{Shell, cmd};

use super::packages::Impact;
use crate::{
    pool::on_every_core,
    step::check_quietly,
    tally::Tally,
    test::{PROGRAM, conformance},
};

/// Packages below or around every op: a change in one runs every job.
const EVERY_JOB: [&str; 4] = ["core-types", "backend-api", "trefoil-runtime", "conformance"];

/// Packages of one backend: a change in one runs the jobs of the backend.
const BACKENDS: [(&str, &[&str]); 2] =
    [("cpu", &["cpu-backend"]), ("sim", &["cuda-backend", "cuda-loader", "cuda-sim", "trefoil-ptx"])];

/// The code shipped to devices: a change below it runs the jobs of `sim`.
const SHIPPED: &str = "kernels-ptx/ptx/";

/// Domain crates with the op groups whose specifications call them.
///
/// If a crate is affected, its groups run on both backends. A test compares the table with the
/// sources of `conformance`. A domain that is not listed (`pfss`) calls ops, and no op calls it.
const DOMAINS: [(&str, &[&str]); 5] = [
    ("nn-ops", &["factor", "linalg", "optim", "recurrent"]),
    ("trefoil-stark", &["stark"]),
    ("stark-air", &["air"]),
    ("stark-airs", &["air", "stark"]),
    ("stark-fft", &["circle"]),
];

/// The selected part of the suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SuiteSelection {
    /// Backends whose jobs all run.
    backends: BTreeSet<&'static str>,
    /// Op groups that run on the other backends.
    groups: BTreeSet<&'static str>,
}

impl SuiteSelection {
    pub(super) fn of(reach: &Impact, files: &BTreeSet<String>) -> Self {
        let changed = |names: &[&str]| names.iter().any(|name| reach.changed.contains(*name));
        let shipped = files.iter().any(|file| file.starts_with(SHIPPED));
        let runs = |(backend, names): &(&'static str, &[&str])| {
            let selected = changed(&EVERY_JOB) || changed(names) || (*backend == "sim" && shipped);
            selected.then_some(*backend)
        };
        let affected = DOMAINS.iter().filter(|(name, _)| reach.affected.contains(*name));
        Self {
            backends: BACKENDS.iter().filter_map(runs).collect(),
            groups: affected.flat_map(|(_, groups)| groups.iter().copied()).collect(),
        }
    }

    /// Builds the program, which the test programs need too, and runs the selection.
    pub(super) fn run(&self, sh: &Shell) -> Result<Tally> {
        if self.backends.is_empty() && self.groups.is_empty() {
            return Ok(Tally::default());
        }
        let mut tally = PROGRAM.build(sh);
        if !tally.failed.is_empty() {
            return Ok(tally);
        }
        let program = PROGRAM.path();
        let groups: Vec<_> = self.rest().map(|(backend, group)| (sh.clone(), backend, group)).collect();
        tally += on_every_core(groups, |(sh, backend, group)| {
            let title = format!("conformance on {backend}, op group {group}");
            let filter = format!("{group}.");
            Ok(check_quietly(&title, cmd!(sh, "{program} conformance {filter} --backend {backend}")))
        })?;
        if !self.backends.is_empty() {
            tally += conformance::run_on(sh, &self.backends)?;
        }
        Ok(tally)
    }

    /// Pairs of a backend whose jobs do not all run and an op group.
    fn rest(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let backends = BACKENDS.iter().map(|(backend, _)| *backend).filter(|name| !self.backends.contains(name));
        backends.flat_map(|backend| self.groups.iter().map(move |group| (backend, *group)))
    }

    /// Lines for jobs that are not selected, with the reason.
    pub(super) fn left_out(&self) -> Vec<String> {
        let backends = BACKENDS.iter().filter(|(backend, _)| !self.backends.contains(backend));
        let line = |(backend, names): &(&str, &[&str])| {
            let ran = self.groups.iter().copied().collect::<Vec<_>>().join(", ");
            let except = if ran.is_empty() { String::new() } else { format!(" except op groups {ran}") };
            let names = [&EVERY_JOB, *names].concat().join(", ");
            format!("conformance on {backend}{except}: none of {names} changed")
        };
        backends.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn selection(changed: &[&str], affected: &[&str], files: &[&str]) -> SuiteSelection {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let reach = Impact { changed: set(changed), affected: set(affected), tested: BTreeSet::new() };
        SuiteSelection::of(&reach, &set(files))
    }

    #[test]
    fn a_backend_runs_its_jobs_and_the_boundary_runs_all() {
        // `conformance` depends on every backend: only a change of its files selects all jobs.
        let cpu = selection(&["cpu-backend"], &["cpu-backend", "trefoil-runtime", "conformance"], &[]);
        assert_eq!(cpu.backends, BTreeSet::from(["cpu"]));
        assert_eq!(cpu.left_out().len(), 1);
        assert_eq!(selection(&["cuda-sim"], &[], &[]).backends, BTreeSet::from(["sim"]));
        assert_eq!(selection(&[], &[], &["kernels-ptx/ptx/fss.ptx"]).backends, BTreeSet::from(["sim"]));
        let all = selection(&["core-types"], &["core-types", "nn-ops"], &[]);
        assert_eq!(all.backends, BTreeSet::from(["cpu", "sim"]));
        assert_eq!((all.rest().count(), all.left_out().len()), (0, 0));
    }

    #[test]
    fn a_domain_runs_its_op_groups_on_both_backends() {
        let stark = selection(&["trefoil-stark"], &["trefoil-stark"], &[]);
        assert_eq!(stark.rest().collect::<Vec<_>>(), [("cpu", "stark"), ("sim", "stark")]);
        assert_eq!(selection(&["pfss"], &["pfss", "conformance"], &[]), SuiteSelection::default());
    }

    #[test]
    fn the_table_lists_the_domains_that_specifications_call() {
        let root = &crate::workspace_root().unwrap();
        let domains = ["pfss", "nn-ops", "trefoil-stark", "stark-air", "stark-airs", "stark-fft"];
        let mut found = BTreeSet::new();
        for entry in walkdir::WalkDir::new(root.join("crates/conformance/src")).into_iter().map(Result::unwrap) {
            let path = entry.path().strip_prefix(root.join("crates/conformance/src")).unwrap();
            let group = path.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
            let Some(group) = group.filter(|group| entry.file_type().is_file() && !group.contains('.')) else {
                continue;
            };
            // Speed contests are no part of the suite.
            if group == "bench" {
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            for domain in domains {
                let name = domain.trim_start_matches("trefoil-").replace('-', "_");
                let boundary = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
                if text.match_indices(&format!("{name}::")).any(|(at, _)| boundary(at)) {
                    found.insert((domain, group.clone()));
                }
            }
        }
        let listed =
            DOMAINS.iter().flat_map(|(domain, groups)| groups.iter().map(|group| (*domain, (*group).to_owned())));
        assert_eq!(listed.collect::<BTreeSet<_>>(), found);
    }
}
