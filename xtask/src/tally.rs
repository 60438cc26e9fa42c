use std::{fmt, ops::AddAssign};

/// How many checks passed, failed, and could not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// One check that passed or failed.
    pub(crate) const fn of(passed: bool) -> Self {
        if passed { Self::PASSED } else { Self::FAILED }
    }

    /// Reads a closing line of the test runner; ignored tests count as skipped.
    ///
    /// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s`
    pub(crate) fn from_test_result(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for part in counts.split("; ") {
            let Some((count, what)) = part.split_once(' ') else { continue };
            let slot = match what {
                "passed" => &mut tally.passed,
                "failed" => &mut tally.failed,
                "ignored" => &mut tally.skipped,
                _ => continue,
            };
            *slot = count.parse().ok()?;
        }
        Some(tally)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, rhs: Self) {
        self.passed += rhs.passed;
        self.failed += rhs.failed;
        self.skipped += rhs.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_the_test_runner_are_summed() {
        let output = "running 3 tests\n\
            test a ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.00s\n";
        let mut sum = Tally::default();
        output.lines().filter_map(Tally::from_test_result).for_each(|tally| sum += tally);
        assert_eq!(sum, Tally { passed: 15, failed: 2, skipped: 1 });
        assert_eq!(sum.to_string(), "15 passed, 2 failed, 1 skipped");
    }
}
