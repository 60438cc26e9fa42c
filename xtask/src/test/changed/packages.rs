//! Packages of the workspace, and the ones that a change affects.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result};
use cargo_metadata::DependencyKind;

use super::readers;
use crate::metadata;

/// Folders of a package that hold only tests: a change in them reaches no dependent.
const TEST_FOLDERS: [&str; 3] = ["tests", "benches", "examples"];

/// A package with its dependencies inside the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    /// Folder below the root, with `/` as the separator.
    folder: String,
    /// Normal and build dependencies.
    normal: BTreeSet<String>,
    /// Dependencies of its tests.
    dev: BTreeSet<String>,
}

/// The packages by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packages(BTreeMap<String, Package>);

/// What changed files reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Impact {
    /// Packages with a changed file.
    pub(super) changed: BTreeSet<String>,
    /// Packages whose library or program is compiled from changed files.
    pub(super) affected: BTreeSet<String>,
    /// Packages whose tests have to run.
    pub(super) tested: BTreeSet<String>,
}

impl Packages {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let metadata = metadata(root)?;
        let mut packages = BTreeMap::new();
        for package in &metadata.packages {
            let folder = package.manifest_path.strip_prefix(&metadata.workspace_root)?;
            let folder = folder.parent().context("a manifest has a folder")?.as_str().replace('\\', "/");
            let names = |dev: bool| {
                let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
                let of_kind = ours.filter(move |dependency| (dependency.kind == DependencyKind::Development) == dev);
                of_kind.map(|dependency| dependency.name.clone()).collect()
            };
            packages.insert(package.name.to_string(), Package { folder, normal: names(false), dev: names(true) });
        }
        Ok(Self(packages))
    }

    /// Names of all packages.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Folder of a package below the root.
    pub(super) fn folder(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|package| package.folder.as_str())
    }

    /// The packages that `files` affect.
    ///
    /// They follow any number of normal dependencies, then one dependency of tests.
    pub(super) fn reach(&self, files: &BTreeSet<String>) -> Impact {
        let mut reach = Impact::default();
        for file in files {
            if let Some((name, rest)) = self.owner(file) {
                reach.changed.insert(name.to_owned());
                reach.tested.insert(name.to_owned());
                if !TEST_FOLDERS.iter().any(|folder| rest.split('/').next() == Some(folder)) {
                    reach.affected.insert(name.to_owned());
                }
            }
            if readers::is_of_everything(file) {
                reach.changed.extend(self.0.keys().cloned());
                reach.affected.extend(self.0.keys().cloned());
            }
            for reader in readers::of(file) {
                let known = reader.packages.iter().filter(|name| self.0.contains_key(**name));
                let set = if reader.compiled { &mut reach.affected } else { &mut reach.tested };
                set.extend(known.map(|name| (*name).to_owned()));
            }
        }
        while let Some(next) = self.next_affected(&reach.affected) {
            reach.affected.insert(next);
        }
        let tests_use = |package: &Package| package.dev.iter().any(|name| reach.affected.contains(name));
        let users = self.0.iter().filter(|(_, package)| tests_use(package)).map(|(name, _)| name.clone());
        let users: Vec<String> = users.collect();
        reach.tested.extend(users);
        reach.tested.extend(reach.affected.iter().cloned());
        reach
    }

    /// A package that depends on an affected one and is not in the set yet.
    fn next_affected(&self, affected: &BTreeSet<String>) -> Option<String> {
        let depends = |package: &Package| package.normal.iter().any(|name| affected.contains(name));
        let mut new = self.0.iter().filter(|(name, _)| !affected.contains(*name));
        new.find(|(_, package)| depends(package)).map(|(name, _)| name.clone())
    }

    /// The package that holds a file, and the path within it.
    fn owner<'a>(&'a self, file: &'a str) -> Option<(&'a str, &'a str)> {
        self.0.iter().find_map(|(name, package)| {
            let rest = file.strip_prefix(&package.folder)?.strip_prefix('/')?;
            Some((name.as_str(), rest))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, normal: &[&str], dev: &[&str]) -> (String, Package) {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let name = folder.rsplit('/').next().unwrap().to_owned();
        (name, Package { folder: folder.to_owned(), normal: set(normal), dev: set(dev) })
    }

    /// Packages `base` <- `middle` <- `top`, and two more.
    ///
    /// The tests of `watcher` use `middle`, and `user` depends on `watcher`.
    fn packages() -> Packages {
        Packages(BTreeMap::from([
            package("crates/base", &[], &[]),
            package("crates/middle", &["base"], &[]),
            package("crates/top", &["middle"], &[]),
            package("crates/watcher", &[], &["middle"]),
            package("crates/user", &["watcher"], &[]),
            package("crates/base-more", &[], &[]),
        ]))
    }

    fn reach(file: &str) -> [Vec<String>; 2] {
        let reach = packages().reach(&BTreeSet::from([file.to_owned()]));
        [reach.affected, reach.tested].map(|names| names.into_iter().collect())
    }

    #[test]
    fn a_change_reaches_dependents_and_tests_that_use_them() {
        let expected = [&["base", "middle", "top"][..], &["base", "middle", "top", "watcher"]];
        assert_eq!(reach("crates/base/src/lib.rs"), expected.map(<[&str]>::to_vec));
        assert_eq!(reach("crates/base/Cargo.toml"), expected.map(<[&str]>::to_vec));
    }

    #[test]
    fn a_change_in_tests_reaches_only_the_tests_of_its_package() {
        assert_eq!(reach("crates/base/tests/a.rs"), [vec![], vec!["base"]]);
    }

    #[test]
    fn folders_whose_names_begin_alike_are_told_apart() {
        assert_eq!(reach("crates/base-more/src/lib.rs"), [vec!["base-more"], vec!["base-more"]]);
    }

    #[test]
    fn a_document_reaches_nothing_and_the_lock_file_everything() {
        assert_eq!(reach("CHANGELOG.md"), [vec![], Vec::<&str>::new()]);
        assert_eq!(reach("Cargo.lock").map(|names| names.len()), [6, 6]);
    }

    #[test]
    fn a_change_of_a_domain_leaves_backends_out() {
        let packages = Packages::read(&crate::workspace_root().unwrap()).unwrap();
        let reach = packages.reach(&BTreeSet::from(["crates/pfss/src/lib.rs".to_owned()]));
        for name in ["pfss", "trefoil-inference", "pfss-ffi", "yardstick", "trefoil-cli"] {
            assert!(reach.tested.contains(name), "{name}");
        }
        for name in ["cpu-backend", "cuda-backend", "trefoil-stark", "nn-ops", "conformance", "xtask"] {
            assert!(!reach.tested.contains(name), "{name}");
        }
    }
}
