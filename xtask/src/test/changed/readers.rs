//! Files outside all packages that packages read.

/// The packages that read the files below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathReader {
    /// A file, or a folder with `/` at its end.
    path: &'static str,
    pub(super) packages: &'static [&'static str],
    /// Whether the files are compiled into the library or program, and not only read by tests.
    pub(super) compiled: bool,
}

/// Who reads what. A test compares the table with the sources.
const READERS: [PathReader; 15] = [
    compiled("kernels-ptx/ptx/", &["cuda-backend", "device-trials"]),
    tests("kernels-ptx/ptx/", &["conformance", "cuda-sim", "trefoil-cli"]),
    tests("kernels-ptx/", &["xtask"]),
    tests("data/stark/", &["trefoil-stark", "stark-verifier", "stwo-air"]),
    tests("data/models/", &["trefoil-inference", "trefoil-cli"]),
    tests("data/digits/", &["trefoil-cli"]),
    tests("data/kernels/", &["trefoil-cli", "xtask"]),
    tests("docs/ops.md", &["cpu-backend"]),
    tests("docs/own-model.md", &["trefoil-cli"]),
    tests("docs/pfss.md", &["pfss", "trefoil-inference"]),
    tests("docs/stark.md", &["trefoil-cli"]),
    tests("docs/tutorials/", &["trefoil"]),
    compiled("ci/budgets.toml", &["trefoil-cli"]),
    tests("ci/cluster/", &["trefoil-cli"]),
    tests("ci/", &["xtask"]),
];

/// Files that every package is built with.
const EVERYTHING: [&str; 4] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"];

const fn compiled(path: &'static str, packages: &'static [&'static str]) -> PathReader {
    PathReader { path, packages, compiled: true }
}

const fn tests(path: &'static str, packages: &'static [&'static str]) -> PathReader {
    PathReader { path, packages, compiled: false }
}

/// The readers of a file.
pub(super) fn of(file: &str) -> impl Iterator<Item = &'static PathReader> {
    READERS.iter().filter(
        move |reader| {
            if reader.path.ends_with('/') { file.starts_with(reader.path) } else { file == reader.path }
        },
    )
}

/// Whether every package is built with a file.
pub(super) fn is_of_everything(file: &str) -> bool {
    EVERYTHING.contains(&file)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    /// Folders outside the packages that a path in the sources of a package may lead to.
    const FOLDERS: [&str; 4] = ["kernels-ptx/", "data/", "docs/", "ci/"];

    /// Paths below the root that a source names in a string.
    ///
    /// At least two `../` steps lead out of a package.
    fn outside(text: &str) -> BTreeSet<String> {
        let strings =
            text.match_indices("../../").map(|(at, _)| &text[at..]).map(|rest| rest.trim_start_matches("../"));
        let paths = strings.filter_map(|rest| rest.split('"').next());
        paths.filter(|path| FOLDERS.iter().any(|folder| path.starts_with(folder))).map(str::to_owned).collect()
    }

    #[test]
    fn the_table_lists_every_path_outside_that_sources_read() {
        let root = &crate::workspace_root().unwrap();
        let packages = super::super::packages::Packages::read(root).unwrap();
        let mut found = 0;
        for name in packages.names().filter(|name| *name != "xtask") {
            let folder = root.join(packages.folder(name).unwrap());
            for entry in walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap) {
                if entry.path().extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                for path in outside(&fs::read_to_string(entry.path()).unwrap()) {
                    let listed = |path: &str| of(path).any(|reader| reader.packages.contains(&name));
                    // A path may name the folder itself, without its last separator.
                    let is_listed = listed(&path) || listed(&format!("{path}/"));
                    assert!(is_listed, "{name} reads {path} ({})", entry.path().display());
                    found += 1;
                }
            }
        }
        assert!(found > 10, "{found} paths");
    }

    #[test]
    fn a_path_in_a_string_is_found_below_the_root() {
        let text = r#"include_str!("../../../docs/a.md"); join("../../data/x").join(y); "../data/z""#;
        assert_eq!(outside(text).into_iter().collect::<Vec<_>>(), ["data/x", "docs/a.md"]);
    }
}
