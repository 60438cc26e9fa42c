//! Counts of checks, and the lines of the test runner that they are read from.

use std::{fmt, ops::AddAssign};

/// How many checks passed, which ones failed, and which ones could not run and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

impl Tally {
    pub(crate) fn skipped(why: String) -> Self {
        Self { skipped: vec![why], ..Self::default() }
    }

    /// One check that passed or failed.
    pub(crate) fn of(title: &str, passed: bool) -> Self {
        if passed {
            Self { passed: 1, ..Self::default() }
        } else {
            Self { failed: vec![title.to_owned()], ..Self::default() }
        }
    }

    /// Reads a line of the test runner.
    ///
    /// It is a failed test by its name, or the counts of passed and ignored tests that close a test
    /// program. Ignored tests count as skipped.
    ///
    /// `test field::inverse ... FAILED`
    ///
    /// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s`
    pub(crate) fn from_test_line(line: &str) -> Option<Self> {
        let line = line.trim().strip_prefix("test ")?;
        if let Some(name) = line.strip_suffix(" ... FAILED") {
            return Some(Self::of(name, false));
        }
        let (_, counts) = line.strip_prefix("result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for part in counts.split("; ") {
            let Some((count, what)) = part.split_once(' ') else { continue };
            match what {
                "passed" => tally.passed = count.parse().ok()?,
                "ignored" => tally.skipped = vec!["a test marked as ignored".to_owned(); count.parse().ok()?],
                _ => {}
            }
        }
        Some(tally)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, rhs: Self) {
        self.passed += rhs.passed;
        self.failed.extend(rhs.failed);
        self.skipped.extend(rhs.skipped);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_test_runner_are_summed() {
        let output = "running 3 tests\n\
            test a ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            test b::c ... FAILED\n\
            test src/lib.rs - d (line 3) ... FAILED\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.00s\n";
        let mut sum = Tally::default();
        output.lines().filter_map(Tally::from_test_line).for_each(|tally| sum += tally);
        let failed = vec!["b::c".to_owned(), "src/lib.rs - d (line 3)".to_owned()];
        let skipped = vec!["a test marked as ignored".to_owned()];
        assert_eq!(sum, Tally { passed: 15, failed, skipped });
        assert_eq!(sum.to_string(), "15 passed, 2 failed, 1 skipped");
    }
}
