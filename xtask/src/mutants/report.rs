//! What became of the mutants.

use std::{collections::BTreeMap, fmt::Write as _};

/// The end of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A test failed.
    Killed,
    /// A test program took too long.
    TimedOut,
    /// Every test program passed.
    Survived,
    /// No test program runs its place.
    NotReached,
    /// It survived and is listed with a reason.
    Equivalent,
}

impl Verdict {
    /// Whether no test noticed the mutant.
    pub(super) const fn survived(self) -> bool {
        matches!(self, Self::Survived | Self::NotReached)
    }
}

/// A mutant with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MutantResult {
    pub(super) library: String,
    pub(super) verdict: Verdict,
}

/// Smallest share of killed mutants, in percent. Equivalent ones do not count.
const LEAST: usize = 90;

/// A line for each library and one for all.
pub(super) fn table(results: &[MutantResult]) -> String {
    let mut rows: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    for result in results {
        rows.entry(&result.library).or_default().push(result.verdict);
    }
    let mut text = format!(
        "{:<16}{:>8}{:>8}{:>10}{:>10}{:>13}{:>12}",
        "library", "mutants", "killed", "timed out", "survived", "not reached", "equivalent"
    );
    let all: Vec<Verdict> = results.iter().map(|result| result.verdict).collect();
    for (name, verdicts) in rows.iter().map(|(name, verdicts)| (*name, verdicts)).chain([("sum", &all)]) {
        let count = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
        let [killed, timed_out, survived, not_reached, equivalent] =
            [Verdict::Killed, Verdict::TimedOut, Verdict::Survived, Verdict::NotReached, Verdict::Equivalent]
                .map(count);
        write!(
            text,
            "\n{name:<16}{:>8}{killed:>8}{timed_out:>10}{survived:>10}{not_reached:>13}{equivalent:>12}",
            verdicts.len()
        )
        .unwrap_or_default();
    }
    text
}

/// Killed mutants, a time-out counting as one, and those that tests could notice.
pub(super) fn score(results: &[MutantResult]) -> (usize, usize) {
    let count = |wanted: &[Verdict]| results.iter().filter(|result| wanted.contains(&result.verdict)).count();
    (count(&[Verdict::Killed, Verdict::TimedOut]), results.len() - count(&[Verdict::Equivalent]))
}

/// Whether enough mutants are killed.
pub(super) fn is_enough((killed, of): (usize, usize)) -> bool {
    killed * 100 >= of * LEAST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_that_can_be_noticed_are_enough() {
        let result = |verdict| MutantResult { library: "a".into(), verdict };
        let mut results = vec![result(Verdict::Killed); 8];
        results.extend([Verdict::TimedOut, Verdict::Survived, Verdict::Equivalent].map(result));
        assert_eq!(score(&results), (9, 10));
        assert!(is_enough(score(&results)));
        results.push(result(Verdict::NotReached));
        assert!(!is_enough(score(&results)));
        let last = table(&results).lines().last().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(last, ["sum", "12", "8", "1", "1", "1", "1"]);
    }
}
