//! Subjects of commits: `area: Verb object`, at most 72 characters.

use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

use super::Finding;

/// Older commits are as they are.
const LATEST: &str = "25";

/// The most characters of a subject.
const MOST: usize = 72;

/// Verbs of people: code does none of these.
const VAGUE: [&str; 6] = ["Give", "Hold", "Keep", "Let", "Say", "Tell"];

/// Checks the latest commits of the repository at `root`, without merges.
///
/// An archive of the sources has no commits.
pub(super) fn check(root: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    if !root.join(".git").exists() {
        return Ok(());
    }
    let sh = Shell::new()?;
    sh.change_dir(root);
    let log = cmd!(sh, "git -c safe.directory=* log --no-merges --max-count {LATEST} --format=%h:%s").quiet().read()?;
    for line in log.lines() {
        let (commit, subject) = line.split_once(':').unwrap_or((line, ""));
        // A shallow clone has a merge without its parents.
        if subject.starts_with("Merge ") {
            continue;
        }
        if let Some(problem) = problem(subject) {
            findings.push(Finding::new(format!("commit {commit}"), 1, format!("`{subject}`: {problem}")));
        }
    }
    Ok(())
}

fn problem(subject: &str) -> Option<String> {
    let is_area = |area: &str| !area.is_empty() && area.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '.'));
    let got = subject.chars().count();
    let Some((_, object)) = subject.split_once(": ").filter(|(areas, _)| areas.split(", ").all(is_area)) else {
        return Some("expected `area: Verb object`, such as `stark-fft: Speed up extension`".to_owned());
    };
    let verb = object.split(' ').next().unwrap_or_default();
    if got > MOST {
        Some(format!("expected at most {MOST} characters, got {got}"))
    } else if !verb.starts_with(|c: char| c.is_ascii_uppercase()) || VAGUE.contains(&verb) {
        Some(format!("expected a verb such as Add, Fix, Remove, Rename, Speed up, Document or Measure, got `{verb}`"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn subjects_name_an_area_and_begin_with_a_verb() {
        assert_eq!(problem("stark-fft, nn: Add ops"), None);
        for (subject, expected) in [
            ("Add ops", "expected `area: Verb object`"),
            ("Stark: Add ops", "expected `area: Verb object`"),
            ("stark:Add ops", "expected `area: Verb object`"),
            ("stark: add ops", "got `add`"),
            ("stark: Hold ops to their plan", "got `Hold`"),
            ("stark: ", "got ``"),
        ] {
            assert!(problem(subject).unwrap().contains(expected), "{subject}");
        }
        let long = format!("stark: Add {}", "o".repeat(62));
        assert_eq!(problem(&long[..72]), None);
        assert_eq!(problem(&long).unwrap(), "expected at most 72 characters, got 73");
    }
}
