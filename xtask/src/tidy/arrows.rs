//! Which crate may depend on which.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::DependencyKind;

use super::Finding;
use crate::metadata;

/// The permitted dependencies of a crate inside the workspace.
///
/// They are its name, its normal and build dependencies, and further ones of its tests. A crate
/// may have several entries, and then has the dependencies of all.
type Arrow = (&'static str, &'static [&'static str], &'static [&'static str]);

/// What programs take from one crate.
const FACADE: &[&str] = &[
    "core-types",
    "backend-api",
    "cpu-backend",
    "pfss",
    "trefoil-stark",
    "stark-airs",
    "stark-fft",
    "nn-ops",
    "trefoil-runtime",
];

/// The crates beyond [`FACADE`] for the conformance suite and the program.
const SUITE: &[&str] = &["cuda-backend", "stark-air", "conformance", "trefoil-inference", "yardstick"];

/// Crates that read bytes from outside.
const READERS: &[&str] = &[
    "core-types",
    "backend-api",
    "cpu-backend",
    "cuda-sim",
    "trefoil-ptx",
    "pfss",
    "trefoil-stark",
    "stark-verifier",
    "nn-ops",
    "trefoil-inference",
];

/// The arrows.
///
/// Domains never name a backend, backends never see a domain, a verifier sees neither, and nothing
/// depends on a program.
const ARROWS: &[Arrow] = &[
    ("core-types", &[], &[]),
    ("backend-api", &["core-types"], &[]),
    ("cpu-backend", &["core-types", "backend-api"], &[]),
    ("trefoil-collective", &["backend-api"], &["core-types", "cpu-backend", "test-process"]),
    (
        "trefoil-collective-mpi",
        &["backend-api", "trefoil-collective"],
        &["core-types", "trefoil-runtime", "test-process"],
    ),
    ("trefoil-ptx", &[], &[]),
    ("cuda-loader", &[], &["test-process"]),
    ("device-trials", &[], &[]),
    ("test-process", &[], &[]),
    ("cuda-sim", &["trefoil-ptx", "cuda-loader"], &["core-types", "device-trials", "test-process"]),
    (
        "cuda-backend",
        &["core-types", "backend-api", "trefoil-collective", "cuda-loader"],
        &["cpu-backend", "cuda-sim", "trefoil-ptx", "test-process"],
    ),
    ("pfss", &["core-types", "backend-api"], &["trefoil-runtime", "cuda-sim", "test-process"]),
    (
        "trefoil-stark",
        &["core-types", "backend-api", "stark-air", "stark-airs", "stark-fft", "stark-verifier"],
        &["trefoil-collective", "cuda-sim", "trefoil-runtime", "test-process"],
    ),
    ("stark-air", &["core-types"], &[]),
    (
        "stark-fft",
        &["core-types", "backend-api"],
        &["trefoil-collective", "cuda-sim", "trefoil-runtime", "test-process"],
    ),
    ("stark-airs", &["core-types"], &["stark-air"]),
    ("stark-verifier", &["core-types"], &["stark-airs"]),
    ("stwo-air", &["core-types"], &["trefoil-runtime", "trefoil-stark", "stark-air", "stark-airs", "stark-fft"]),
    ("nn-ops", &["core-types", "backend-api"], &["trefoil-runtime", "test-process"]),
    ("nn-dispatch", &["core-types", "backend-api", "nn-ops", "trefoil-runtime"], &["test-process"]),
    ("hybrid-accel", &["backend-api", "nn-ops", "trefoil-runtime"], &[]),
    (
        "trefoil-runtime",
        &["core-types", "backend-api", "trefoil-collective", "cpu-backend", "cuda-loader", "cuda-backend", "cuda-sim"],
        &["test-process"],
    ),
    ("conformance", FACADE, &["cuda-sim", "trefoil-ptx"]),
    ("conformance", SUITE, &[]),
    ("yardstick", FACADE, &[]),
    ("yardstick", &["stark-air", "nn-dispatch"], &[]), // lines compare its dispatch with the op alone
    ("constant-time", &["core-types", "backend-api", "cpu-backend", "pfss"], &[]),
    ("pfss-ffi", &["pfss", "trefoil-runtime"], &["test-process"]),
    (
        "trefoil-inference",
        &["core-types", "backend-api", "pfss", "nn-ops"],
        &["cuda-sim", "trefoil-runtime", "test-process"],
    ),
    ("trefoil", FACADE, &[]),
    ("trefoil-cli", FACADE, &["test-process"]),
    ("trefoil-cli", SUITE, &[]),
    ("trefoil-cli", &["trefoil-collective", "trefoil-collective-mpi", "device-trials"], &[]),
    ("trefoil-fuzz", READERS, &[]),
    ("xtask", &["trefoil-ptx", "cuda-sim"], &[]),
];

/// Compares the dependencies between workspace crates with [`ARROWS`].
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let metadata = metadata(root)?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root).unwrap_or(&package.manifest_path);
        let manifest_text = std::fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("cannot read {}", package.manifest_path))?;
        let arrows: Vec<&Arrow> = ARROWS.iter().filter(|(name, ..)| *name == package.name.as_str()).collect();
        if arrows.is_empty() {
            let message =
                format!("crate `{}` has no entry among the allowed arrows (xtask/src/tidy/arrows.rs)", package.name);
            findings.push(Finding::new(manifest.as_str(), line_of(&manifest_text, "name"), message));
            continue;
        }
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let name = dependency.name.as_str();
            let dev = dependency.kind == DependencyKind::Development;
            if arrows.iter().any(|(_, normal, tests)| normal.contains(&name) || (dev && tests.contains(&name))) {
                continue;
            }
            let kind = if dev { "dev-depend" } else { "depend" };
            let message = format!("`{}` must not {kind} on `{name}`", package.name);
            findings.push(Finding::new(manifest.as_str(), line_of(&manifest_text, name), message));
        }
    }
    Ok(findings)
}

/// Line of the key `name` in a manifest, the last one that matches.
fn line_of(manifest: &str, name: &str) -> usize {
    let sets = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    manifest.lines().enumerate().filter(|(_, line)| sets(line)).last().map_or(1, |(index, _)| index + 1)
}
