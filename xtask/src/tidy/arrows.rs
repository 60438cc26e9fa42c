//! Which crate may depend on which.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::Finding;

/// The permitted dependencies of a crate of the workspace.
struct Arrow {
    package: &'static str,
    /// Normal and build dependencies inside the workspace.
    normal: &'static [&'static str],
    /// Further dependencies of its tests.
    dev: &'static [&'static str],
}

/// Everything below the program.
const PROGRAM: &[&str] = &[
    "core-types",
    "backend-api",
    "trefoil-collective",
    "trefoil-collective-mpi",
    "cpu-backend",
    "cuda-backend",
    "pfss",
    "trefoil-stark",
    "stark-air",
    "stark-airs",
    "stark-fft",
    "nn-ops",
    "trefoil-runtime",
    "conformance",
    "trefoil-inference",
    "device-trials",
    "yardstick",
];

/// The libraries visible to the suite of conformance tests.
const LIBRARIES: &[&str] = &[
    "core-types",
    "backend-api",
    "cpu-backend",
    "cuda-backend",
    "pfss",
    "trefoil-stark",
    "stark-air",
    "stark-airs",
    "stark-fft",
    "nn-ops",
    "trefoil-runtime",
    "conformance",
    "trefoil-inference",
    "yardstick",
];

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
    Arrow { package: "core-types", normal: &[], dev: &[] },
    Arrow { package: "backend-api", normal: &["core-types"], dev: &[] },
    Arrow { package: "cpu-backend", normal: &["core-types", "backend-api"], dev: &[] },
    Arrow {
        package: "trefoil-collective",
        normal: &["backend-api"],
        dev: &["core-types", "cpu-backend", "test-process"],
    },
    Arrow {
        package: "trefoil-collective-mpi",
        normal: &["backend-api", "trefoil-collective"],
        dev: &["core-types", "trefoil-runtime", "test-process"],
    },
    Arrow { package: "trefoil-ptx", normal: &[], dev: &[] },
    Arrow { package: "cuda-loader", normal: &[], dev: &["test-process"] },
    Arrow { package: "device-trials", normal: &[], dev: &[] },
    Arrow { package: "test-process", normal: &[], dev: &[] },
    Arrow {
        package: "cuda-sim",
        normal: &["trefoil-ptx", "cuda-loader"],
        dev: &["core-types", "device-trials", "test-process"],
    },
    Arrow {
        package: "cuda-backend",
        normal: &["core-types", "backend-api", "trefoil-collective", "cuda-loader"],
        dev: &["cpu-backend", "cuda-sim", "trefoil-ptx", "test-process"],
    },
    Arrow {
        package: "pfss",
        normal: &["core-types", "backend-api"],
        dev: &["trefoil-runtime", "cuda-sim", "test-process"],
    },
    Arrow {
        package: "trefoil-stark",
        normal: &["core-types", "backend-api", "stark-air", "stark-airs", "stark-fft", "stark-verifier"],
        dev: &["trefoil-collective", "cuda-sim", "trefoil-runtime", "test-process"],
    },
    Arrow { package: "stark-air", normal: &["core-types"], dev: &[] },
    Arrow {
        package: "stark-fft",
        normal: &["core-types", "backend-api"],
        dev: &["trefoil-collective", "cuda-sim", "trefoil-runtime", "test-process"],
    },
    Arrow { package: "stark-airs", normal: &["core-types"], dev: &["stark-air"] },
    Arrow { package: "stark-verifier", normal: &["core-types"], dev: &["stark-airs"] },
    Arrow {
        package: "stwo-air",
        normal: &["core-types"],
        dev: &["trefoil-runtime", "trefoil-stark", "stark-air", "stark-airs", "stark-fft"],
    },
    Arrow { package: "nn-ops", normal: &["core-types", "backend-api"], dev: &["trefoil-runtime"] },
    Arrow {
        package: "trefoil-runtime",
        normal: &[
            "core-types",
            "backend-api",
            "trefoil-collective",
            "cpu-backend",
            "cuda-loader",
            "cuda-backend",
            "cuda-sim",
        ],
        dev: &["test-process"],
    },
    Arrow { package: "conformance", normal: LIBRARIES, dev: &["cuda-sim", "trefoil-ptx"] },
    Arrow { package: "yardstick", normal: LIBRARIES, dev: &[] },
    Arrow { package: "constant-time", normal: &["cpu-backend", "pfss"], dev: &[] },
    Arrow { package: "pfss-ffi", normal: &["pfss", "trefoil-runtime"], dev: &["test-process"] },
    Arrow {
        package: "trefoil-inference",
        normal: &["core-types", "backend-api", "pfss", "nn-ops"],
        dev: &["trefoil-runtime", "test-process"],
    },
    Arrow { package: "trefoil", normal: FACADE, dev: &[] },
    Arrow { package: "trefoil-cli", normal: PROGRAM, dev: &["test-process"] },
    Arrow { package: "trefoil-fuzz", normal: READERS, dev: &[] },
    Arrow { package: "xtask", normal: &["trefoil-ptx"], dev: &[] },
];

/// Compares the dependencies between workspace crates with [`ARROWS`].
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata does not read the workspace")?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root).unwrap_or(&package.manifest_path);
        let manifest_text = std::fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("cannot read {}", package.manifest_path))?;
        let Some(arrow) = ARROWS.iter().find(|arrow| arrow.package == package.name.as_str()) else {
            let message =
                format!("crate `{}` has no entry among the allowed arrows (xtask/src/tidy/arrows.rs)", package.name);
            findings.push(Finding::new(manifest.as_str(), line_of(&manifest_text, "name"), message));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let name = dependency.name.as_str();
            let dev = dependency.kind == DependencyKind::Development;
            if arrow.normal.contains(&name) || (dev && arrow.dev.contains(&name)) {
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
