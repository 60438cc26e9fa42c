//! `ci/clocks.toml`: the budget of each kernel in modelled clocks.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Kernel, NO_DISASSEMBLER};
use crate::{build_ptx::report, step::skip, tally::Tally};

const FILE: &str = "ci/clocks.toml";

const HEAD: &str = "\
# Clock budgets of one warp on sm_90, by the model of docs/kernels.md: the whole body, then one iteration of the longest innermost
# loop. `cargo xtask build-ptx` adds kernels and lowers budgets; to raise one is a decision.
";

/// The share by which clocks may exceed their budget.
const TOLERANCE: f64 = 0.03;

/// The committed budgets.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Budgets {
    /// The version of ptxas; other versions generate other code.
    assembler: String,
    /// The body and the loop of each kernel.
    clocks: BTreeMap<String, [u32; 2]>,
}

impl Budgets {
    fn render(&self) -> String {
        let mut text = format!("{HEAD}\nassembler = \"{}\"\n\n[clocks]\n", self.assembler);
        for (kernel, [body, turn]) in &self.clocks {
            writeln!(text, "{kernel} = [{body}, {turn}]").unwrap_or_default();
        }
        text
    }

    /// The budgets after the kernels were built by `assembler`.
    ///
    /// New kernels are added and kernels that are gone are removed. No budget is raised unless the
    /// assembler is another one.
    fn updated(&self, assembler: &str, kernels: &[Kernel]) -> Self {
        let clocks = kernels.iter().map(|kernel| {
            let mut clocks = [kernel.body, kernel.turn];
            if let Some(budget) = self.clocks.get(&kernel.name).filter(|_| self.assembler == assembler) {
                clocks = [clocks[0].min(budget[0]), clocks[1].min(budget[1])];
            }
            (kernel.name.clone(), clocks)
        });
        Self { assembler: assembler.to_owned(), clocks: clocks.collect() }
    }

    /// Violations of the budgets, one line each.
    ///
    /// A kernel without a budget or beyond it is a violation, and so is a budget without a kernel.
    fn violations(&self, kernels: &[Kernel]) -> Vec<String> {
        let mut found = Vec::new();
        for Kernel { name, body, turn } in kernels {
            let Some(budget) = self.clocks.get(name) else {
                found.push(format!("`{name}` has no budget; run `cargo xtask build-ptx`"));
                continue;
            };
            for (part, clocks, budget) in [("body", *body, budget[0]), ("loop", *turn, budget[1])] {
                if f64::from(clocks) > f64::from(budget) * (1.0 + TOLERANCE) {
                    found.push(format!("the {part} of `{name}` takes {clocks} clocks, budget {budget}"));
                }
            }
        }
        let is_gone = |name: &&String| !kernels.iter().any(|kernel| kernel.name == **name);
        found.extend(self.clocks.keys().filter(is_gone).map(|name| format!("`{name}` is no kernel; delete it")));
        found
    }
}

/// Holds `kernels` to their budgets, or without `check` updates those first.
///
/// `kernels` are none if there is no disassembler.
pub(in crate::build_ptx) fn check(
    root: &Path,
    assembler: &str,
    kernels: Option<&[Kernel]>,
    check: bool,
) -> Result<Tally> {
    let Some(kernels) = kernels else {
        return Ok(skip(FILE, NO_DISASSEMBLER));
    };
    let path = root.join(FILE);
    let mut budgets = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("cannot parse {FILE}"))?,
        Err(error) => {
            ensure!(!check && error.kind() == std::io::ErrorKind::NotFound, "cannot read {FILE}: {error}");
            Budgets::default()
        }
    };
    if !check {
        budgets = budgets.updated(assembler, kernels);
        std::fs::write(&path, budgets.render()).with_context(|| format!("cannot write {FILE}"))?;
    } else if budgets.assembler != assembler {
        return Ok(skip(FILE, &format!("its clocks are of ptxas {}, found {assembler}", budgets.assembler)));
    }
    Ok(report(FILE, &budgets.violations(kernels)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, body: u32, turn: u32) -> Kernel {
        Kernel { name: name.to_owned(), body, turn }
    }

    #[test]
    fn budgets_only_fall_and_are_held_to_three_percent() {
        let budgets = Budgets::default().updated("1", &[kernel("a", 100, 50), kernel("gone", 1, 0)]);
        assert_eq!(toml::from_str::<Budgets>(&budgets.render()).unwrap(), budgets);
        let count = |kernels: &[Kernel]| budgets.violations(kernels).len();
        assert_eq!(count(&[kernel("a", 103, 51), kernel("gone", 0, 0)]), 0);
        assert_eq!(count(&[kernel("a", 104, 52), kernel("gone", 0, 0)]), 2);
        assert_eq!(count(&[kernel("a", 1, 1), kernel("new", 1, 1)]), 2);
        let later = budgets.updated("1", &[kernel("a", 110, 40), kernel("new", 7, 0)]);
        assert_eq!(
            later.clocks.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), [100, 40]), ("new".to_owned(), [7, 0])]
        );
        assert_eq!(budgets.updated("2", &[kernel("a", 110, 40)]).clocks["a"], [110, 40]);
    }
}
