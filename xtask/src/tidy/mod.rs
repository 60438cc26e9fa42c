//! Repository rules that no compiler lint states.
//!
//! `docs/architecture.md` gives the reason for each.

mod arrows;
mod book;
mod circles;
mod commits;
mod facts;
mod packages;
mod phrases;
mod rules;
mod rustdoc;
pub(crate) mod source;
mod text;
mod visit;

#[cfg(test)]
mod tests;

use std::{fmt, path::Path};

use anyhow::Result;

use crate::build_ptx;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path below the root, with `/` as the separator.
    pub(crate) path: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// The problem, and its remedy if that is not plain.
    pub(crate) message: String,
}

impl Finding {
    fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every rule in the repository at `root`; findings come sorted by path and line.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = check_manifests(root)?;
    let files = source::read(root, "")?;
    findings.extend(check_files(root, &files));
    phrases::check(root, &files, &mut findings)?;
    book::check(&files, &mut findings);
    rustdoc::check(&files, &mut findings);
    commits::check(root, &mut findings)?;
    if !build_ptx::are_as_built(root)? {
        let message = "not of these sources: run `cargo xtask build-ptx`";
        findings.push(Finding::new(build_ptx::SOURCES, 1, message));
    }
    findings.sort();
    Ok(findings)
}

fn check_manifests(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = arrows::check(root)?;
    findings.extend(packages::check(root)?);
    Ok(findings)
}

fn check_files(root: &Path, files: &[source::File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    rules::check(files, &mut findings);
    circles::check(files, &mut findings);
    text::check(root, files, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}
