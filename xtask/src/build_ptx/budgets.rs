//! `ci/budgets.toml`: the registers that each kernel may take.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result};

use super::ptxas::Usage;

const FILE: &str = "ci/budgets.toml";

/// The committed budgets.
#[derive(Debug)]
pub(super) struct Budgets {
    text: String,
    registers: BTreeMap<String, u32>,
}

impl Budgets {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(text).with_context(|| format!("cannot parse {FILE}"))
    }

    pub(super) fn write(&self, root: &Path) -> Result<()> {
        std::fs::write(root.join(FILE), &self.text).with_context(|| format!("cannot write {FILE}"))
    }

    pub(super) fn parse(text: String) -> Result<Self> {
        let table: toml::Table = text.parse()?;
        let registers = table.get("registers").and_then(toml::Value::as_table).context("no table [registers]")?;
        let entry = |(kernel, value): (&String, &toml::Value)| {
            let registers = value.as_integer().and_then(|value| u32::try_from(value).ok());
            Ok((kernel.clone(), registers.with_context(|| format!("`{kernel}` is not a number of registers"))?))
        };
        let registers = registers.iter().map(entry).collect::<Result<_>>()?;
        Ok(Self { text, registers })
    }

    /// The registers that a kernel may take.
    pub(super) fn registers(&self, kernel: &str) -> Option<u32> {
        self.registers.get(kernel).copied()
    }

    /// Adds a budget for each kernel without one, and returns whether it added any.
    ///
    /// The budget is the registers of the kernel, rounded up to eight, on a line in its place by
    /// name. Existing budgets stay as they are: to raise one is a decision.
    pub(super) fn add_missing<'a>(&mut self, usages: impl Iterator<Item = &'a Usage>) -> bool {
        let mut missing = BTreeMap::<&str, u32>::new();
        for Usage { kernel, registers, .. } in usages.filter(|usage| !self.registers.contains_key(&usage.kernel)) {
            let budget = missing.entry(kernel).or_default();
            *budget = registers.next_multiple_of(8).max(*budget);
        }
        if !missing.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        for (kernel, budget) in &missing {
            let is_later = |line: &str| line.split_once(" = ").is_some_and(|(other, _)| other > *kernel);
            let before: usize = self.text.split_inclusive('\n').take_while(|line| !is_later(line)).map(str::len).sum();
            self.text.insert_str(before, &format!("{kernel} = {budget}\n"));
            self.registers.insert((*kernel).to_owned(), *budget);
        }
        !missing.is_empty()
    }

    /// Violations by `usage` on `architecture`, one line each.
    pub(super) fn violations(&self, architecture: &str, usage: &Usage) -> Vec<String> {
        let Usage { kernel, registers, spill_bytes, stack_bytes } = usage;
        let mut found = Vec::new();
        match self.registers.get(kernel) {
            None => found.push(format!(
                "`{kernel}` takes {registers} registers on {architecture} and has no budget; run `cargo xtask build-ptx`"
            )),
            Some(budget) if registers > budget => {
                found.push(format!("`{kernel}` takes {registers} registers on {architecture}, budget {budget}"));
            }
            Some(_) => {}
        }
        if *spill_bytes > 0 {
            found.push(format!("`{kernel}` spills {spill_bytes} bytes on {architecture}"));
        } else if *stack_bytes > 0 {
            found.push(format!("`{kernel}` keeps {stack_bytes} bytes on the stack on {architecture}"));
        }
        found
    }

    /// Budgets that no kernel has any more.
    pub(super) fn stale<'a>(&self, kernels: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let kernels: BTreeSet<&str> = kernels.collect();
        self.registers.keys().map(String::as_str).filter(|kernel| !kernels.contains(kernel)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budgets(text: &str) -> Budgets {
        Budgets::parse(text.to_owned()).unwrap()
    }

    fn usage(kernel: &str, registers: u32, spill_bytes: u32, stack_bytes: u32) -> Usage {
        Usage { kernel: kernel.into(), registers, spill_bytes, stack_bytes }
    }

    #[test]
    fn registers_spills_and_stacks_are_held_to_the_budget() {
        let budgets = budgets("[registers]\na = 64\nb = 8");
        let count = |usage| budgets.violations("sm_80", &usage).len();
        assert_eq!(count(usage("a", 64, 0, 0)), 0);
        assert_eq!(count(usage("a", 65, 0, 0)), 1);
        assert_eq!(count(usage("a", 64, 4, 8)), 1);
        assert_eq!(count(usage("a", 64, 0, 8)), 1);
        assert_eq!(count(usage("unknown", 1, 0, 0)), 1);
        assert_eq!(budgets.stale(["a"].into_iter()), ["b"]);
        assert!(Budgets::parse("[registers]\na = -1".to_owned()).is_err());
    }

    #[test]
    fn a_missing_budget_is_added_in_its_place_and_none_is_raised() {
        let mut budgets = budgets("# b = 3\n[registers]\na = 64\nc = 8\n");
        let usages = [usage("d", 24, 0, 0), usage("b", 17, 0, 0), usage("a", 72, 0, 0), usage("b", 25, 0, 0)];
        assert!(budgets.add_missing(usages.iter()));
        assert_eq!(budgets.text, "# b = 3\n[registers]\na = 64\nb = 32\nc = 8\nd = 24\n");
        let held: Vec<usize> = usages.iter().map(|usage| budgets.violations("sm_80", usage).len()).collect();
        assert_eq!(held, [0, 0, 1, 0]);
        assert!(!budgets.add_missing(usages.iter()));
    }
}
