//! The test programs of the copy, and which mutants do not compile.

use std::{
    collections::BTreeSet,
    ops::Range,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use cargo_metadata::{
    Message,
    diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan},
};

use super::tree::WorkingCopy;
use crate::step::cargo_messages;

/// Tests that are left out of test programs.
///
/// Some take minutes for each mutant: they are mutants themselves, or refuse each call of a driver
/// in turn. Others run programs with AddressSanitizer, which needs more than the address space of a
/// trial.
const SKIPPED: [&str; 6] =
    ["--skip", "mutants::", "--skip", "whatever_call_is_refused", "--skip", "run_under_the_sanitizers"];

/// The simulated device reports every access outside a buffer.
const CHECKED: [(&str, &str); 1] = [("TREFOIL_SIM", "checks=sanitize")];

/// The conformance suite without its large cases: title and arguments of its runs.
const SUITE: [(&str, [&str; 7]); 2] = [
    ("conformance on cpu", ["conformance", "--backend", "cpu", "--condition", "plain", "--max-elements", "20000"]),
    ("conformance on sim", ["conformance", "--backend", "sim", "--condition", "plain", "--max-elements", "2000"]),
];

/// A compiled program that passes or fails.
#[derive(Clone, Debug)]
pub(super) struct TestExecutable {
    /// The folder of its package, below `crates`, and its target.
    pub(super) title: String,
    pub(super) executable: PathBuf,
    pub(super) arguments: &'static [&'static str],
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Where cargo would start it.
    pub(super) folder: PathBuf,
    /// Whether it runs the conformance suite.
    pub(super) is_suite: bool,
}

/// A place that an error of the compiler names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ErrorLocation {
    /// Path below the root of the copy.
    pub(super) file: String,
    /// Bytes of the file.
    pub(super) bytes: Range<usize>,
}

/// The end of a build.
#[derive(Clone, Debug)]
pub(super) enum Built {
    Programs(Vec<TestExecutable>),
    /// The places of all errors, and the first error as the compiler prints it.
    Faults(Vec<ErrorLocation>, String),
}

/// Compiles the test programs of `packages`.
pub(super) fn build(tree: &WorkingCopy, packages: &BTreeSet<String>) -> Result<Built> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["test", "--no-run", "--quiet", "--message-format", "json"])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .current_dir(&tree.root)
        .env("CARGO_TARGET_DIR", &tree.target)
        // A mutant may break a lint that is denied.
        .env("RUSTFLAGS", "--cap-lints=allow")
        .stderr(Stdio::null());
    let (mut programs, mut faults, mut error) = (Vec::new(), Vec::new(), None);
    let status = cargo_messages(&mut cargo, |message| {
        match message {
            Message::CompilerArtifact(artifact) => {
                let is_test = artifact.profile.test;
                let is_suite = !is_test && artifact.target.is_bin() && artifact.target.name == "trefoil";
                let Some(executable) = artifact.executable.filter(|_| is_test || is_suite) else { return Ok(()) };
                let folder = artifact.manifest_path.parent().context("a manifest stands in a folder")?;
                let package = folder.file_name().unwrap_or_default();
                let program = |target: &str, arguments, variables| TestExecutable {
                    title: format!("{package} {target}"),
                    executable: executable.clone().into(),
                    arguments,
                    variables,
                    folder: folder.into(),
                    is_suite,
                };
                if is_suite {
                    programs.extend(SUITE.iter().map(|(target, arguments)| program(target, &arguments[..], &CHECKED)));
                } else {
                    programs.push(program(&artifact.target.name, &SKIPPED, &[]));
                }
            }
            Message::CompilerMessage(message) if message.message.level == DiagnosticLevel::Error => {
                collect(&message.message, &mut faults);
                error = error.take().or(message.message.rendered);
            }
            _ => {}
        }
        Ok(())
    })?;
    if status.success() {
        return Ok(Built::Programs(programs));
    }
    Ok(Built::Faults(faults, error.unwrap_or_else(|| format!("cargo test --no-run: {status}"))))
}

/// Places of a diagnostic and of its notes.
fn collect(diagnostic: &Diagnostic, faults: &mut Vec<ErrorLocation>) {
    faults.extend(diagnostic.spans.iter().map(fault));
    diagnostic.children.iter().for_each(|child| collect(child, faults));
}

fn fault(span: &DiagnosticSpan) -> ErrorLocation {
    ErrorLocation { file: span.file_name.clone(), bytes: span.byte_start as usize..span.byte_end as usize }
}
