//! Manifest requirements of crates that others depend on.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use cargo_metadata::Package;

use super::Finding;
use crate::metadata;

/// The compiler that everything is built with.
const TOOLCHAIN: &str = "rust-toolchain.toml";

/// Checks the manifests of libraries and crates.
///
/// Libraries have the fields that a registry requires, and every crate states as its oldest
/// compiler the compiler that builds it here.
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let metadata = metadata(root)?;
    let text = fs::read_to_string(root.join(TOOLCHAIN)).with_context(|| format!("cannot read {TOOLCHAIN}"))?;
    let toolchain: toml::Table = text.parse().with_context(|| format!("cannot parse {TOOLCHAIN}"))?;
    let channel = toolchain.get("toolchain").and_then(|table| table.get("channel")).and_then(toml::Value::as_str);
    let channel = channel.with_context(|| format!("{TOOLCHAIN} names no channel"))?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root).unwrap_or(&package.manifest_path);
        let mut report = |message: String| findings.push(Finding::new(manifest.as_str(), 1, message));
        let stated = package.rust_version.as_ref().map(ToString::to_string);
        if stated.as_deref() != Some(channel) {
            let got = stated.unwrap_or_else(|| "none".to_owned());
            report(format!("expected rust-version {channel}, the compiler of {TOOLCHAIN}, which checks it; got {got}"));
        }
        if package.publish.is_none() {
            missing(package).into_iter().for_each(|field| report(format!("a published crate needs `{field}`")));
        }
    }
    Ok(findings)
}

/// The fields of a published crate that are not there.
fn missing(package: &Package) -> Vec<&'static str> {
    let fields = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("readme", package.readme.is_some()),
        ("keywords", !package.keywords.is_empty()),
        ("categories", !package.categories.is_empty()),
    ];
    fields.into_iter().filter(|&(_, present)| !present).map(|(field, _)| field).collect()
}
