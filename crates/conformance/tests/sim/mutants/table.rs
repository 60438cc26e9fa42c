//! What noticed each mutant in an earlier run, so that the same trials are set up and run first.
//!
//! A line of `noticed.txt` has four fields between tabs: a kernel, the indices of some of its mutants, an order of blocks
//! and warps, and the trial that noticed these mutants in that order. For mutants that are known to be equivalent the order
//! is `none`, and the trial is one that they survived. The table only saves time: a mutant that its lines do not settle
//! has all trials, and so has one without lines.
//!
//! Each test writes the lines of its module to `target/tmp/noticed`. After a change of kernels or trials,
//! `cat target/tmp/noticed/* > crates/conformance/tests/sim/mutants/noticed.txt` renews the table.

use std::{collections::BTreeMap, fs, ops::RangeInclusive, path::Path};

const TABLE: &str = include_str!("noticed.txt");

/// The order of a trial that noticed nothing.
const NONE: &str = "none";

/// A line of the table.
pub(super) struct MutantLine {
    kernel: &'static str,
    indices: &'static str,
    /// The order in which the trial noticed the mutants, if it did.
    pub(super) order: Option<&'static str>,
    pub(super) trial: &'static str,
}

impl MutantLine {
    fn read(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let [kernel, indices, order, trial] = std::array::from_fn(|_| fields.next());
        Some(Self { kernel: kernel?, indices: indices?, order: order.filter(|&order| order != NONE), trial: trial? })
    }

    /// Whether it is about mutant `index` of `kernel`.
    pub(super) fn is_of(&self, kernel: &str, index: usize) -> bool {
        self.kernel == kernel && self.indices.split(' ').filter_map(range).any(|range| range.contains(&index))
    }
}

/// The lines of the table.
pub(super) fn lines() -> Vec<MutantLine> {
    TABLE.lines().filter_map(MutantLine::read).collect()
}

/// `first-last`, or one index.
fn range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The trials of a mutant that settled it.
pub(super) struct Settled {
    /// The trial that noticed it, or those that it survived.
    pub(super) trials: Vec<String>,
    /// The order in which it was noticed, and how.
    pub(super) noticed: Option<(&'static str, String)>,
}

/// The lines of a module: the indices of mutants by kernel, order and trial.
#[derive(Default)]
pub(super) struct Table(BTreeMap<[String; 3], Vec<RangeInclusive<usize>>>);

impl Table {
    /// Adds mutant `index` of `kernel`, whose mutants come in their order.
    pub(super) fn add(&mut self, kernel: &str, index: usize, settled: &Settled) {
        let order = settled.noticed.as_ref().map_or(NONE, |(order, _)| order);
        for trial in &settled.trials {
            let ranges = self.0.entry([kernel, order, trial].map(str::to_owned)).or_default();
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == index => *last = *last.start()..=index,
                _ => ranges.push(index..=index),
            }
        }
    }

    /// Writes the lines to a file for `module`.
    pub(super) fn write(&self, module: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("noticed");
        let text = |range: &RangeInclusive<usize>| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        let line = |([kernel, order, trial], ranges): (&[String; 3], &Vec<_>)| {
            let indices = ranges.iter().map(text).collect::<Vec<_>>().join(" ");
            format!("{kernel}\t{indices}\t{order}\t{trial}\n")
        };
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{module}.txt")), self.0.iter().map(line).collect::<String>()).unwrap();
    }
}
