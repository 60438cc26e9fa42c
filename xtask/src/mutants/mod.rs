//! `cargo xtask mutants`: small faults put into the libraries, which tests have to notice.
//!
//! All mutants of a run are compiled into one copy of the workspace, each behind a choice at run
//! time, so that no crate is compiled for each mutant. A run without mutants records which test
//! programs reach which mutants; only those are tried.

mod build;
mod choice;
mod crates;
mod find;
mod known;
mod plan;
mod report;
mod rewrite;
mod site;
mod tree;
mod trial;

#[cfg(test)]
mod end_to_end;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ops::AddAssign,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::Shell;

use self::{
    build::{Built, TestExecutable, build},
    crates::libraries,
    known::KnownEquivalents,
    plan::MutantPlan,
    report::{Verdict, is_enough, score, table},
    tree::WorkingCopy,
    trial::{DEPENDENT_LIMIT, Ending, OWN_LIMIT, Tester},
};
use crate::{pool::on_every_core, progress, tally::Tally};

/// Mutants of a run when no number is given.
const COUNT: usize = 200;

/// Builds before giving up: each drops the mutants that the compiler rejects.
const ROUNDS: usize = 60;

/// Which mutants are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MutantOptions {
    seed: u64,
    count: usize,
    /// The only library with mutants.
    package: Option<String>,
    /// Whether only the tests of a mutant's own crate run.
    own: bool,
}

impl MutantOptions {
    /// Reads `--seed N [--count N] [--package P] [--own]`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut seed, mut count, mut package, mut own) = (None, COUNT, None, false);
        let mut arguments = arguments.iter();
        while let Some(&flag) = arguments.next() {
            let mut value = || arguments.next().copied().with_context(|| format!("expected a value after `{flag}`"));
            let number = |value: &str| {
                value.parse::<u64>().with_context(|| format!("{flag} takes a whole number, got `{value}`"))
            };
            match flag {
                "--seed" => seed = Some(number(value()?)?),
                "--count" => count = usize::try_from(number(value()?)?)?,
                "--package" => package = Some(value()?.to_owned()),
                "--own" => own = true,
                _ => bail!("unknown flag `{flag}`"),
            }
        }
        Ok(Self { seed: seed.context("expected --seed N")?, count, package, own })
    }

    /// A seed for each day, so that nights try different mutants.
    pub(crate) fn of_today() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { seed: since.as_secs() / 86_400, count: COUNT, package: None, own: false }
    }
}

/// The results of the threads of a pool.
struct All<T>(Vec<T>);

impl<T> Default for All<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> AddAssign for All<T> {
    fn add_assign(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Tries the mutants.
///
/// There is one check for the share that is killed, and one for the list of equivalent mutants.
pub(crate) fn run(sh: &Shell, options: &MutantOptions) -> Result<Tally> {
    let root = sh.current_dir();
    let MutantOptions { seed, count, package, own } = options;
    println!("mutants: seed {seed}, {count} mutants");
    let known = KnownEquivalents::read(&root)?;
    let stale = known.stale(&root);
    stale.iter().for_each(|line| println!("{line}"));
    let mut tally = Tally::of("the mutants of ci/mutants.toml are in the sources", stale.is_empty());

    let mut plan = MutantPlan::new(libraries(&root, package.as_deref())?, *seed, *count);
    for library in plan.libraries() {
        let sites: usize = library.sources.iter().map(|source| source.sites.len()).sum();
        println!("{:<16}{sites:>7} sites, {} more left out", library.name, library.left_out);
    }
    let target = root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let tree = WorkingCopy::copy(sh, &target, &plan.files())?;
    let results = try_all(&mut plan, &tree, &known, *own)?;
    let (killed, of) = score(&results);
    println!("\n{}\n{killed} of {of} killed", table(&results));
    tally += Tally::of("tests notice 90 % of the mutants", is_enough((killed, of)));
    Ok(tally)
}

/// Tries all mutants on the tests of their own crates.
///
/// Then, unless `own`, it tries the survivors on the tests of direct dependents.
fn try_all(
    plan: &mut MutantPlan,
    tree: &WorkingCopy,
    known: &KnownEquivalents,
    own: bool,
) -> Result<Vec<report::MutantResult>> {
    let programs = compile(plan, tree)?;
    println!("{} mutants did not compile and were replaced", plan.dropped);
    let testers = baseline(programs, OWN_LIMIT)?;
    let trial = |testers: &[Tester], ids: Vec<u32>| -> Result<Vec<(u32, Verdict)>> {
        let run = |id| Ok(All(vec![(id, try_one(plan, testers, id)?)]));
        Ok(progress::during("mutants", || on_every_core(ids, run))?.0)
    };
    let mut trials: BTreeMap<u32, Verdict> = trial(&testers, plan.ids())?.into_iter().collect();
    let survivors: Vec<u32> = trials.iter().filter(|(_, verdict)| verdict.survived()).map(|(&id, _)| id).collect();
    let dependents = if own { BTreeSet::new() } else { plan.dependents(&survivors) };
    if !dependents.is_empty() {
        println!("{} mutants survive the tests of their own crates", survivors.len());
        let title = "test programs of dependents, build";
        let programs = match progress::during(title, || build(tree, &dependents))? {
            Built::Programs(programs) => programs,
            Built::Faults(_, error) => bail!("the test programs of dependents do not compile\n{error}"),
        };
        for (id, later) in trial(&baseline(programs, DEPENDENT_LIMIT)?, survivors)? {
            // A place that a dependent does not reach may be one that own tests reach.
            if later != Verdict::NotReached {
                trials.insert(id, later);
            }
        }
    }
    Ok(trials.into_iter().map(|(id, verdict)| conclude(plan, known, id, verdict)).collect())
}

/// Compiles the test programs of all libraries with mutants.
///
/// Mutants that do not compile are replaced by other mutants.
fn compile(plan: &mut MutantPlan, tree: &WorkingCopy) -> Result<Vec<TestExecutable>> {
    for round in 1..=ROUNDS {
        let files = plan.write(tree)?;
        let title = format!("mutants, build {round}");
        match progress::during(&title, || build(tree, &plan.mutated()))? {
            Built::Programs(programs) => return Ok(programs),
            Built::Faults(faults, error) => plan.drop_faults(&faults, &error, &files)?,
        }
    }
    bail!("the mutants do not compile after {ROUNDS} builds")
}

/// Runs every program without mutants.
///
/// One that does not pass is left out: it would kill every mutant. So is one that takes longer
/// than `limit`, unless it is the suite, which comes first.
fn baseline(programs: Vec<TestExecutable>, limit: Duration) -> Result<Vec<Tester>> {
    let scratch = tempfile::tempdir()?;
    let testers = on_every_core(programs, |program| {
        let title = program.title.clone();
        let limit = if program.is_suite { OWN_LIMIT } else { limit };
        let tester = Tester::new(program, scratch.path(), limit)?;
        if tester.is_none() {
            let seconds = limit.as_secs();
            progress::paused(|| println!("left out: {title} fails without mutants, or takes over {seconds} s"));
        }
        Ok(All(tester.into_iter().collect()))
    })?;
    let mut testers = testers.0;
    ensure!(!testers.is_empty(), "no test program passes without mutants");
    testers.sort_by_key(|tester| (!tester.program.is_suite, tester.time));
    let time: Duration = testers.iter().map(|tester| tester.time).sum();
    println!("{} test programs pass without mutants, in {:.1} s together", testers.len(), time.as_secs_f64());
    Ok(testers)
}

/// Runs the programs that reach a mutant, in their order, until one fails.
fn try_one(plan: &MutantPlan, testers: &[Tester], id: u32) -> Result<Verdict> {
    let mut verdict = Verdict::NotReached;
    for tester in testers.iter().filter(|tester| tester.reached.contains(&id)) {
        verdict = match tester.try_mutant(id)? {
            Ending::Passed => Verdict::Survived,
            Ending::Failed => Verdict::Killed,
            Ending::TimedOut => Verdict::TimedOut,
        };
        if verdict != Verdict::Survived {
            progress::paused(|| println!("{verdict:?} by {}: {}", tester.program.title, plan.describe(id)));
            return Ok(verdict);
        }
    }
    progress::paused(|| println!("{verdict:?}: {}", plan.describe(id)));
    Ok(verdict)
}

/// The end of a mutant; prints it if it survived.
fn conclude(plan: &MutantPlan, known: &KnownEquivalents, id: u32, mut verdict: Verdict) -> report::MutantResult {
    let (library, source, candidate) = plan.mutant(id);
    let lines = candidate.site.lines(&source.text);
    if verdict.survived() {
        match known.reason(&source.path, &candidate.site.function, &lines) {
            Some(reason) => {
                verdict = Verdict::Equivalent;
                println!("equivalent: {}: {reason}", plan.describe(id));
            }
            None => println!("survivor ({verdict:?}): {}", plan.describe(id)),
        }
    }
    report::MutantResult { library: library.name.clone(), verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_a_seed_is_required() {
        let options = MutantOptions::parse(&["--count", "3", "--seed", "9", "--package", "pfss"]).unwrap();
        assert_eq!(options, MutantOptions { seed: 9, count: 3, package: Some("pfss".into()), own: false });
        assert!(MutantOptions::parse(&["--own", "--seed", "9"]).unwrap().own);
        for bad in [&["--count", "3"][..], &["--seed"], &["--seed", "x"], &["--seed", "1", "--fast"]] {
            assert!(MutantOptions::parse(bad).is_err(), "{bad:?}");
        }
    }
}
