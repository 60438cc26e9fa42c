//! A fresh build with a time for each call of rustc.

use std::{collections::BTreeMap, env, fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::{
    budgets::TimeBudgets,
    cpu,
    unit::{CompiledUnit, UnitGroup},
    wrapper,
};
use crate::{mpi, progress, step::failed, tally::Tally};

/// Rows of the table of units.
const LARGEST: usize = 20;

/// Where fresh builds go, so that the usual folder stays warm.
const TARGET: &str = "target/times";

/// A build to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Build {
    /// Its section in the budgets.
    section: &'static str,
    arguments: &'static [&'static str],
    /// Whether it has the features of the workspace's tests.
    with_tests: bool,
}

/// The program as it ships.
pub(super) const RELEASE: Build =
    Build { section: "release build", arguments: &["build", "--release", "-p", "trefoil-cli"], with_tests: false };

/// All test programs, as the tier `host` builds them.
pub(super) const TESTS: Build =
    Build { section: "build of test programs", arguments: &["test", "--workspace", "--no-run"], with_tests: true };

/// Builds from nothing, prints the table, and compares it with the budgets.
pub(super) fn measure(sh: &Shell, build: Build) -> Result<Tally> {
    let root = sh.current_dir();
    let target = root.join(TARGET);
    sh.remove_path(&target)?;
    sh.create_dir(&target)?;
    let log = target.join("units.jsonl");
    let wrapper = env::current_exe().context("cannot find the path of this program")?;
    let (arguments, features) = (build.arguments, if build.with_tests { mpi::features(sh) } else { &[] });
    eprintln!("== {}: cargo {} in {TARGET}", build.section, arguments.join(" "));
    let cargo = cmd!(sh, "cargo {arguments...} {features...} --quiet")
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_WRAPPER", wrapper)
        .env(wrapper::LOG, &log);
    let (start, before) = (Instant::now(), cpu::of_children());
    if let Err(error) = progress::during(build.section, || cargo.quiet().run()) {
        return Ok(failed(build.section, &error.to_string()));
    }
    let wall = start.elapsed().as_secs_f64();
    let cpu = cpu::of_children().zip(before).map(|(after, before)| after - before);
    let units = read(&log)?;
    println!("{}", show(build.section, wall, cpu, &units, &root));
    Ok(TimeBudgets::read(&root)?.check(build.section, &measured(wall, cpu, &units, &root)))
}

fn read(log: &Path) -> Result<Vec<CompiledUnit>> {
    let text = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let unit = |line| serde_json::from_str(line).with_context(|| format!("cannot parse `{line}`"));
    text.lines().map(unit).collect()
}

/// The numbers that have budgets.
fn measured(wall: f64, cpu: Option<f64>, units: &[CompiledUnit], root: &Path) -> Vec<(String, f64)> {
    let ours = units.iter().filter(|unit| unit.group(root) != UnitGroup::Others);
    let largest = ours.filter_map(|unit| unit.cpu).fold(0.0, f64::max);
    let mut measured = vec![("wall".to_owned(), wall), ("cpu of the largest crate".to_owned(), largest)];
    measured.extend(cpu.map(|cpu| ("cpu".to_owned(), cpu)));
    measured
}

fn show(section: &str, wall: f64, cpu: Option<f64>, units: &[CompiledUnit], root: &Path) -> String {
    let mut sorted: Vec<&CompiledUnit> = units.iter().collect();
    sorted.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    let seconds = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.1}"));
    let mut lines = vec![
        format!("{section}: {wall:.1} s wall, {} s CPU, {} crates", seconds(cpu), units.len()),
        format!("{:>10}{:>10}  {:<13}crate", "CPU s", "wall s", "kind"),
    ];
    for unit in sorted.iter().take(LARGEST) {
        lines.push(format!("{:>10}{:>10.1}  {:<13}{}", seconds(unit.cpu), unit.wall, unit.kind.name(), unit.title()));
    }
    let mut sums = BTreeMap::<UnitGroup, (usize, f64, f64)>::new();
    for unit in units {
        let (count, cpu, wall) = sums.entry(unit.group(root)).or_default();
        (*count, *cpu, *wall) = (*count + 1, *cpu + unit.cpu.unwrap_or_default(), *wall + unit.wall);
    }
    lines.push(format!("{:>10}{:>10}  {:<13}group", "CPU s", "wall s", "crates"));
    for group in UnitGroup::ALL {
        let (count, cpu, wall) = sums.get(&group).copied().unwrap_or_default();
        lines.push(format!("{cpu:>10.1}{wall:>10.1}  {count:<13}{}", group.name()));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{super::unit::CrateKind, *};

    fn unit(folder: &str, kind: CrateKind, wall: f64, cpu: f64) -> CompiledUnit {
        let name = folder.rsplit('/').next().unwrap().to_owned();
        CompiledUnit { package: name.clone(), folder: folder.into(), name, kind, wall, cpu: Some(cpu) }
    }

    #[test]
    fn units_are_sorted_by_cpu_time_and_summed_by_group() {
        let root = Path::new("/w");
        let units = [
            unit("/w/crates/a", CrateKind::Library, 2.0, 3.0),
            unit("/w/crates/a", CrateKind::Test, 9.0, 5.0),
            unit("/registry/z", CrateKind::Library, 1.0, 90.0),
        ];
        let text = show("release build", 10.0, Some(100.0), &units, root);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], "release build: 10.0 s wall, 100.0 s CPU, 3 crates");
        let names: Vec<&str> = rows[2..5].iter().filter_map(|row| row.split_whitespace().last()).collect();
        assert_eq!(names, ["z", "a", "a"]);
        assert!(rows[6].starts_with("       3.0       2.0  1            our libraries"), "{}", rows[6]);
        let largest = measured(10.0, Some(100.0), &units, root).into_iter().find(|(name, _)| name.contains("largest"));
        assert_eq!(largest.map(|(_, seconds)| seconds), Some(5.0));
    }
}
