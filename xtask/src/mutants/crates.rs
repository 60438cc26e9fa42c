//! The libraries that get mutants, with their sites.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, Package};

use super::{
    find::{is_compiled, sites},
    site::Site,
};
use crate::{
    metadata,
    tidy::source::{is_within, modules, read},
};

/// Libraries without mutants.
///
/// They are the suite that tests others, its comparison program, fuzz targets, generated code, and
/// MPI, which few machines have.
const EXCLUDED: [&str; 7] =
    ["conformance", "yardstick", "device-trials", "trefoil-fuzz", "cuda-loader", "trefoil-collective-mpi", "trefoil"];

/// A source file with its sites.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    /// Path below the root, with `/` as the separator.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) sites: Vec<Site>,
}

/// A library of the workspace.
#[derive(Clone, Debug)]
pub(super) struct Library {
    pub(super) name: String,
    /// The file at the root of its modules, below the root of the workspace.
    pub(super) root_file: String,
    pub(super) sources: Vec<SourceFile>,
    /// Packages that depend on it in one step, tests included.
    pub(super) dependents: BTreeSet<String>,
    /// Sites that cannot carry a choice at run time, or that have no effect on results.
    pub(super) left_out: usize,
}

/// Reads the libraries in the workspace at `root`, or the one called `only`.
pub(super) fn libraries(root: &Path, only: Option<&str>) -> Result<Vec<Library>> {
    let metadata = metadata(root)?;
    let mut libraries = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let wanted = only.map_or(!EXCLUDED.contains(&name), |only| only == name);
        let Some(target) = package.targets.iter().find(|target| target.is_lib() || target.is_rlib()) else { continue };
        if !wanted {
            continue;
        }
        let root_file = below(&metadata, target.src_path.as_str())?;
        let (folder, _) = root_file.rsplit_once('/').context("the root file of a library has a folder")?;
        let files = read(root, folder)?;
        // Modules for other platforms or features.
        let foreign = files.iter().flat_map(|file| modules(file, |attributes| !is_compiled(attributes)));
        let foreign: BTreeSet<String> = foreign.collect();
        let shared = shared_with_tests(root, folder)?;
        let (mut sources, mut left_out) = (Vec::new(), 0);
        for file in files.iter().filter(|file| !file.test_only && !shared.contains(&file.path)) {
            let Some(ast) = file.ast.as_ref().filter(|_| !is_within(&file.path, &foreign)) else { continue };
            let (sites, others) = sites(ast);
            left_out += others;
            sources.push(SourceFile { path: file.path.clone(), text: file.text.clone(), sites });
        }
        let dependents = dependents(&metadata, name);
        libraries.push(Library { name: name.to_owned(), root_file, sources, dependents, left_out });
    }
    ensure!(!libraries.is_empty(), "the workspace has no library `{}`", only.unwrap_or_default());
    Ok(libraries)
}

/// Sources that a test program of the package compiles as its modules.
///
/// The choice of mutants is missing there.
fn shared_with_tests(root: &Path, source: &str) -> Result<BTreeSet<String>> {
    let tests = source.trim_end_matches("/src").to_owned() + "/tests";
    if !root.join(&tests).is_dir() {
        return Ok(BTreeSet::new());
    }
    let files = read(root, &tests)?;
    let paths =
        files.iter().flat_map(|file| file.text.lines()).filter_map(|line| line.trim().strip_prefix("#[path = \""));
    let in_source = paths.filter_map(|path| path.trim_end_matches("\"]").rsplit_once("../src/"));
    Ok(in_source.map(|(_, path)| format!("{source}/{path}")).collect())
}

/// A path below the root of the workspace.
fn below(metadata: &Metadata, path: &str) -> Result<String> {
    let path = Path::new(path).strip_prefix(&metadata.workspace_root)?;
    Ok(path.to_string_lossy().replace('\\', "/"))
}

fn dependents(metadata: &Metadata, name: &str) -> BTreeSet<String> {
    let depends =
        |package: &&Package| package.dependencies.iter().any(|other| other.name == name && other.path.is_some());
    metadata.packages.iter().filter(depends).map(|package| package.name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_platforms_hold_no_sites() {
        let foreign = BTreeSet::from(["crates/a/src/windows".to_owned()]);
        assert!(is_within("crates/a/src/windows.rs", &foreign));
        assert!(is_within("crates/a/src/windows/mod.rs", &foreign));
        assert!(is_within("crates/a/src/windows/deep/b.rs", &foreign));
        assert!(!is_within("crates/a/src/windows_too.rs", &foreign));
    }

    #[test]
    fn a_library_has_sites_and_dependents() {
        let root = &crate::workspace_root().unwrap();
        let [library] = libraries(root, Some("stark-verifier")).unwrap().try_into().unwrap();
        assert_eq!(library.root_file, "crates/stark-verifier/src/lib.rs");
        assert!(library.dependents.contains("trefoil-stark"));
        assert!(library.sources.iter().map(|source| source.sites.len()).sum::<usize>() > 100);
        assert!(libraries(root, Some("nothing")).is_err());
        let shared = shared_with_tests(root, "crates/cpu-backend/src").unwrap();
        assert_eq!(shared.into_iter().collect::<Vec<_>>(), ["crates/cpu-backend/src/circle/scalar.rs"]);
    }
}
