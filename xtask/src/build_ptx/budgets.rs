//! `ci/budgets.toml`: the registers that each kernel may take.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};

use super::ptxas::Usage;

/// The committed budgets.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    registers: BTreeMap<String, u32>,
}

impl Budgets {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join("ci/budgets.toml");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot parse {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse()?;
        let registers = table.get("registers").and_then(toml::Value::as_table).context("no table [registers]")?;
        let entry = |(kernel, value): (&String, &toml::Value)| {
            let registers = value.as_integer().and_then(|value| u32::try_from(value).ok());
            Ok((kernel.clone(), registers.with_context(|| format!("`{kernel}` is not a number of registers"))?))
        };
        Ok(Self { registers: registers.iter().map(entry).collect::<Result<_>>()? })
    }

    /// What is wrong with `usage` on `architecture`, one line each.
    pub(super) fn violations(&self, architecture: &str, usage: &Usage) -> Vec<String> {
        let Usage { kernel, registers, spill_bytes, stack_bytes } = usage;
        let mut found = Vec::new();
        match self.registers.get(kernel) {
            None => found.push(format!(
                "`{kernel}` takes {registers} registers on {architecture} and has no budget: add `{kernel} = {}`",
                registers.next_multiple_of(8)
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
    pub(super) fn stale(&self, kernels: &[String]) -> Vec<&str> {
        self.registers.keys().filter(|kernel| !kernels.contains(kernel)).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_spills_and_stacks_are_held_to_the_budget() {
        let budgets = Budgets::parse("[registers]\na = 64\nb = 8").unwrap();
        let usage = |kernel: &str, registers, spill_bytes, stack_bytes| Usage {
            kernel: kernel.into(),
            registers,
            spill_bytes,
            stack_bytes,
        };
        let count = |usage| budgets.violations("sm_80", &usage).len();
        assert_eq!(count(usage("a", 64, 0, 0)), 0);
        assert_eq!(count(usage("a", 65, 0, 0)), 1);
        assert_eq!(count(usage("a", 64, 4, 8)), 1);
        assert_eq!(count(usage("a", 64, 0, 8)), 1);
        assert_eq!(count(usage("unknown", 1, 0, 0)), 1);
        assert_eq!(budgets.stale(&["a".into()]), ["b"]);
        assert!(Budgets::parse("[registers]\na = -1").is_err());
    }
}
