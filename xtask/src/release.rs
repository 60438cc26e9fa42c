//! `cargo xtask release VERSION`: the steps that cut a release.
//!
//! It checks the tree and the packages, gives the changelog a section for the version, commits and
//! tags. Nothing leaves the machine: it ends with the commands that publish.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, Package};
use xshell::{Shell, cmd};

use crate::{metadata, outside, tally::Tally};

const CHANGELOG: &str = "CHANGELOG.md";

/// Heading of the changes that belong to no version yet.
const UNRELEASED: &str = "## [Unreleased]\n";

/// Cuts `version`.
///
/// # Errors
/// If the workspace has another version, the tree has changes, the tag exists, the changelog has no
/// unreleased changes or already has the version, or a command fails.
pub(crate) fn run(sh: &Shell, version: &str) -> Result<Tally> {
    let root = sh.current_dir();
    let metadata = metadata(&root)?;
    for package in metadata.packages.iter().filter(|package| package.publish.is_none()) {
        ensure!(
            package.version.to_string() == version,
            "expected version {version} of `{}`, got {} (Cargo.toml of the workspace)",
            package.name,
            package.version
        );
    }
    let tag = format!("v{version}");
    ensure!(cmd!(sh, "git tag --list {tag}").read()?.is_empty(), "the tag {tag} exists");
    let changes = cmd!(sh, "git status --porcelain").read()?;
    ensure!(changes.is_empty(), "expected no uncommitted changes, got\n{changes}");
    let date = cmd!(sh, "date -u +%F").read()?;
    let changelog = fs::read_to_string(root.join(CHANGELOG)).context("cannot read the changelog")?;
    let changelog = with_section(&changelog, version, &date)?;

    let tally = outside::run(sh)?;
    if !tally.failed.is_empty() {
        return Ok(tally);
    }
    fs::write(root.join(CHANGELOG), changelog).context("cannot write the changelog")?;
    let subject = format!("docs: Release {version}");
    cmd!(sh, "git commit --quiet --all --message {subject}").run()?;
    cmd!(sh, "git tag --annotate {tag} --message {subject}").run()?;
    println!("tagged {tag}. To publish it:\n    git push origin HEAD {tag}");
    for name in in_order(&metadata.packages) {
        println!("    cargo publish --package {name}");
    }
    Ok(tally)
}

/// The changelog with the unreleased changes as the section of `version`.
fn with_section(changelog: &str, version: &str, date: &str) -> Result<String> {
    let heading = format!("## [{version}]");
    ensure!(!changelog.contains(&heading), "the changelog has a section {version}");
    let (head, rest) = changelog.split_once(UNRELEASED).context("the changelog has no section `[Unreleased]`")?;
    let end = rest.find("\n## [").unwrap_or(rest.len());
    ensure!(!rest[..end].trim().is_empty(), "the changelog has no unreleased changes");
    Ok(format!("{head}{UNRELEASED}\n{heading} - {date}\n{rest}"))
}

/// The names of the published packages, each after its dependencies.
fn in_order(packages: &[Package]) -> Vec<&str> {
    let published = packages.iter().filter(|package| package.publish.is_none());
    let mut left: Vec<&Package> = published.collect();
    let mut names = Vec::new();
    while !left.is_empty() {
        let waiting: BTreeSet<&str> = left.iter().map(|package| package.name.as_str()).collect();
        let is_ready = |package: &&Package| {
            let needed = package.dependencies.iter().filter(|needed| needed.kind != DependencyKind::Development);
            !needed.into_iter().any(|needed| waiting.contains(needed.name.as_str()))
        };
        let (ready, rest): (Vec<_>, Vec<_>) = left.iter().copied().partition(is_ready);
        if ready.is_empty() {
            break; // cargo refuses circles of dependencies
        }
        names.extend(ready.into_iter().map(|package| package.name.as_str()));
        left = rest;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreleased_changes_become_a_section() {
        let text = "# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n";
        let cut = with_section(text, "0.2.0", "2026-02-01").unwrap();
        let expected = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n";
        assert_eq!(cut, expected);
        assert!(with_section(text, "0.1.0", "2026-02-01").is_err());
        assert!(with_section(&cut, "0.3.0", "2026-02-01").is_err(), "nothing is unreleased");
        assert!(with_section("# Changelog\n", "0.3.0", "2026-02-01").is_err());
    }

    #[test]
    fn packages_are_published_after_their_dependencies() {
        let metadata = metadata(&crate::workspace_root().unwrap()).unwrap();
        let names = in_order(&metadata.packages);
        let at = |wanted| names.iter().position(|name| *name == wanted).unwrap();
        assert!(at("core-types") < at("backend-api") && at("backend-api") < at("pfss") && at("pfss") < at("trefoil"));
        assert_eq!(names.len(), metadata.packages.iter().filter(|package| package.publish.is_none()).count());
    }
}
