//! The text files of the repository, read and parsed once for all rules.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result};
use syn::{Attribute, Item};
use walkdir::WalkDir;

use super::visit::is_test_only;

/// Folders that hold nothing of ours: build output and what fuzzing writes.
const SKIPPED: &[&str] = &["target", ".git", "corpus", "artifacts", "coverage"];

/// One text file of the repository.
pub(crate) struct File {
    /// Path below the root, with `/` as the separator.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The parsed file, for Rust.
    pub(crate) ast: Option<syn::File>,
    /// Whether the whole file is test code.
    ///
    /// It is below `tests/`, `benches/` or `examples/`, or is a `#[cfg(test)]` module.
    pub(crate) test_only: bool,
}

/// Reads and parses every `.rs` and `.md` file in a folder of the repository.
///
/// The folder `""` is the whole repository. Files are sorted by path.
pub(crate) fn read(root: &Path, folder: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let walk = WalkDir::new(root.join(folder)).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| !SKIPPED.iter().any(|name| entry.file_name() == *name)) {
        let entry = entry.context("cannot list the repository")?;
        let rust = entry.path().extension().is_some_and(|extension| extension == "rs");
        let markdown = entry.path().extension().is_some_and(|extension| extension == "md");
        if !entry.file_type().is_file() || !(rust || markdown) {
            continue;
        }
        let path = entry.path().strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path}"))?;
        let ast = rust.then(|| syn::parse_file(&text)).transpose().with_context(|| format!("cannot parse {path}"))?;
        let test_only =
            ["tests", "benches", "examples"].iter().any(|folder| path.split('/').any(|part| part == *folder));
        files.push(File { path, text, ast, test_only });
    }
    let test_modules: BTreeSet<String> = files.iter().flat_map(|file| modules(file, is_test_only)).collect();
    for file in &mut files {
        file.test_only |= is_within(&file.path, &test_modules);
    }
    Ok(files)
}

/// Paths without extension of the modules that `file` declares and that are in other files.
///
/// They are the modules whose attributes are `wanted`.
pub(crate) fn modules(file: &File, wanted: impl Fn(&[Attribute]) -> bool) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        other => format!("{folder}/{}", other.trim_end_matches(".rs")),
    };
    let items = file.ast.iter().flat_map(|ast| &ast.items);
    let modules = items.filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && wanted(&module.attrs) => Some(&module.ident),
        _ => None,
    });
    modules.map(|name| format!("{folder}/{name}")).collect()
}

/// Whether the file at `path` is one of `modules`, or within one.
pub(crate) fn is_within(path: &str, modules: &BTreeSet<String>) -> bool {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    stem.match_indices('/').map(|(at, _)| &stem[..at]).chain([stem]).any(|part| modules.contains(part))
}
