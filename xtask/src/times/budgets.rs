//! Time budgets of builds and tiers, from `ci/time-budgets.toml`.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use crate::{step, tally::Tally};

/// The committed file.
pub(super) const FILE: &str = "ci/time-budgets.toml";

/// How far above its budget a time may lie: machines differ, and so do runs.
const TOLERANCE: f64 = 1.2;

/// Seconds by section (a task) and name (a tier, a check, `sum`).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeBudgets(BTreeMap<String, BTreeMap<String, f64>>);

impl TimeBudgets {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(&text).with_context(|| format!("cannot parse {FILE}"))
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(Self(toml::from_str(text)?))
    }

    /// Lines for the measured times above their budget by more than [`TOLERANCE`].
    ///
    /// Names without a budget pass.
    pub(super) fn exceeded(&self, section: &str, measured: &[(String, f64)]) -> Vec<String> {
        let Some(budgets) = self.0.get(section) else { return Vec::new() };
        let mut lines = Vec::new();
        for (name, seconds) in measured {
            if let Some(budget) = budgets.get(name).filter(|&budget| *seconds > budget * TOLERANCE) {
                lines.push(format!("{section}, {name}: {seconds:.1} s, budget {budget:.0} s and 20 %"));
            }
        }
        lines
    }

    /// Compares `measured` with a section, as one check.
    ///
    /// Only machines of continuous integration have a known speed, so elsewhere a line is printed
    /// and nothing fails.
    pub(super) fn check(&self, section: &str, measured: &[(String, f64)]) -> Tally {
        if !self.0.contains_key(section) {
            return Tally::default();
        }
        let exceeded = self.exceeded(section, measured);
        let (fails, mark) = if step::is_ci() { (true, "FAILED") } else { (false, "over budget (fails with CI=true)") };
        for line in &exceeded {
            println!("{mark}: {line}");
        }
        Tally::of(&format!("times of `{section}` within {FILE}"), exceeded.is_empty() || !fails)
    }

    #[cfg(test)]
    pub(super) fn names(&self, section: &str) -> Vec<&str> {
        self.0.get(section).map(|names| names.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_fails_from_a_fifth_above_its_budget() {
        let budgets = TimeBudgets::parse("[test]\nhost = 100\nsum = 200\n").unwrap();
        let measured = |host: f64, sum: f64| [("host".to_owned(), host), ("sum".to_owned(), sum), ("gpu".into(), 1e6)];
        assert!(budgets.exceeded("test", &measured(120.0, 240.0)).is_empty());
        assert_eq!(budgets.exceeded("test", &measured(121.0, 240.0)).len(), 1);
        assert_eq!(budgets.exceeded("test", &measured(121.0, 241.0)).len(), 2);
        assert!(budgets.exceeded("ci", &measured(1e6, 1e6)).is_empty());
        assert!(TimeBudgets::parse("[test]\nhost = \"long\"").is_err());
    }

    #[test]
    fn the_committed_file_names_every_tier_and_no_other() {
        let root = &crate::workspace_root().unwrap();
        let budgets = TimeBudgets::read(root).unwrap();
        for section in ["test", "test --all"] {
            let mut expected: Vec<&str> = crate::test::tier_names().chain(["sum"]).collect();
            expected.sort_unstable();
            assert_eq!(budgets.names(section), expected, "{section}");
        }
    }
}
