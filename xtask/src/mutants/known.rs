//! Mutants that no test can notice, from `ci/mutants.toml`, each with a reason.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The committed file.
pub(super) const FILE: &str = "ci/mutants.toml";

/// A mutant that computes the same as the original.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    file: String,
    function: String,
    /// The source line, with single spaces.
    original: String,
    /// The line with the mutant.
    mutated: String,
    reason: String,
}

/// The entries of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownEquivalents {
    #[serde(default)]
    equivalent: Vec<Equivalent>,
}

impl KnownEquivalents {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        toml::from_str(&text).with_context(|| format!("cannot parse {FILE}"))
    }

    /// Why no test can notice a mutant, if it is listed.
    pub(super) fn reason(&self, file: &str, function: &str, [original, mutated]: &[String; 2]) -> Option<&str> {
        let is_it = |known: &&Equivalent| {
            (known.file.as_str(), known.function.as_str()) == (file, function)
                && (&known.original, &known.mutated) == (original, mutated)
        };
        self.equivalent.iter().find(is_it).map(|known| known.reason.as_str())
    }

    /// Lines for entries without a reason, or whose source line is gone.
    pub(super) fn stale(&self, root: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for known in &self.equivalent {
            let text = fs::read_to_string(root.join(&known.file)).unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !text.contains(&known.original) {
                lines.push(format!("{FILE}: {} has no line `{}`", known.file, known.original));
            }
            if known.reason.trim().is_empty() {
                lines.push(format!("{FILE}: the mutant `{}` of {} has no reason", known.mutated, known.file));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_mutant_has_its_reason() {
        let text = "[[equivalent]]\nfile = \"a.rs\"\nfunction = \"f\"\noriginal = \"a < b\"\nmutated = \"a <= b\"\nreason = \"r\"\n";
        let known: KnownEquivalents = toml::from_str(text).unwrap();
        let lines = ["a < b", "a <= b"].map(str::to_owned);
        assert_eq!(known.reason("a.rs", "f", &lines), Some("r"));
        assert_eq!(known.reason("a.rs", "g", &lines), None);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), "if a\n    < b {}").unwrap();
        assert!(known.stale(folder.path()).is_empty());
        fs::write(folder.path().join("a.rs"), "if a > b {}").unwrap();
        assert_eq!(known.stale(folder.path()).len(), 1);
    }

    #[test]
    fn the_committed_file_matches_the_sources() {
        let root = &crate::workspace_root().unwrap();
        assert_eq!(KnownEquivalents::read(root).unwrap().stale(root), Vec::<String>::new());
    }
}
