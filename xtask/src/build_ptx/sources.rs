//! The sources of the committed PTX.
//!
//! A digest shows without a build whether another one would print the same text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use sha2::{Digest, Sha256};
use toml::{Table, Value};
use walkdir::WalkDir;

/// The file with the digest.
pub(crate) const FILE: &str = "kernels-ptx/ptx/sources.txt";

/// The paths that determine the text.
///
/// They are the kernels, the formulas they share with the host, and the code that builds and
/// rewrites them.
const SOURCES: [&str; 10] = [
    ".cargo/config.toml",
    "crates/core-types/Cargo.toml",
    "crates/core-types/src",
    "crates/device-trials/generator",
    "crates/ptx/src",
    "kernels-ptx/Cargo.lock",
    "kernels-ptx/Cargo.toml",
    "kernels-ptx/build.rs",
    "kernels-ptx/src",
    "xtask/src/build_ptx",
];

/// Whether the sources are those that the committed PTX was made of.
pub(crate) fn are_as_built(root: &Path) -> Result<bool> {
    let committed = fs::read_to_string(root.join(FILE)).unwrap_or_default();
    Ok(committed == digest(root)?)
}

/// SHA-256 of the paths and contents of all sources as a line of hexadecimal digits.
///
/// Of Rust files the tokens count, so that comments and layout do not.
pub(super) fn digest(root: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(inherited(root)?.as_bytes());
    for file in files(root)? {
        let text = fs::read_to_string(root.join(&file)).with_context(|| format!("cannot read {}", file.display()))?;
        let content = if file.extension().is_some_and(|extension| extension == "rs") {
            let tokens = text.parse().map_err(|error| anyhow!("{}: {error}", file.display()))?;
            without_docs(tokens).to_string()
        } else {
            text
        };
        add(file.to_string_lossy().as_bytes());
        add(content.as_bytes());
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits + "\n")
}

/// The settings that `core-types` inherits from the manifest of the workspace.
///
/// They are the edition and the dependencies.
fn inherited(root: &Path) -> Result<String> {
    let read = |path: &str| -> Result<Table> {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        text.parse().with_context(|| format!("cannot parse {path}"))
    };
    let (workspace, own) = (read("Cargo.toml")?, read("crates/core-types/Cargo.toml")?);
    let workspace = workspace.get("workspace").context("Cargo.toml has no workspace")?;
    let names = own.get("dependencies").and_then(Value::as_table).into_iter().flat_map(Table::keys);
    let dependencies = workspace.get("dependencies");
    let lines = names.map(|name| format!("{name} = {:?}\n", dependencies.and_then(|all| all.get(name))));
    let edition = workspace.get("package").and_then(|package| package.get("edition"));
    Ok(format!("edition = {edition:?}\n{}", lines.collect::<String>()))
}

/// The files of [`SOURCES`] without test modules, in the order of their paths.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for source in SOURCES {
        for entry in WalkDir::new(root.join(source)).sort_by_file_name() {
            let entry = entry.context("cannot list the sources of the kernels")?;
            let counts = entry.path().extension().is_some_and(|kind| ["rs", "toml", "lock"].iter().any(|k| kind == *k));
            if entry.file_type().is_file() && counts && entry.file_name() != "tests.rs" {
                files.push(entry.path().strip_prefix(root)?.to_owned());
            }
        }
    }
    Ok(files)
}

/// The tokens without `#[doc = ".."]` and `#![doc = ".."]`.
///
/// Doc comments become these attributes.
fn without_docs(tokens: TokenStream) -> TokenStream {
    let is =
        |token: Option<&TokenTree>, mark| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = token else {
            kept.push(token);
            continue;
        };
        let names_doc = matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc");
        let marks = 1 + usize::from(is(kept.last(), '!'));
        let is_attribute = is(kept.iter().nth_back(marks - 1), '#') && group.delimiter() == Delimiter::Bracket;
        if names_doc && is_attribute {
            kept.truncate(kept.len() - marks);
        } else {
            kept.push(Group::new(group.delimiter(), without_docs(group.stream())).into());
        }
    }
    kept.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        without_docs(text.parse().unwrap()).to_string()
    }

    #[test]
    fn comments_and_layout_do_not_count() {
        let bare = tokens("mod a { fn f() -> u32 { 1 } }");
        assert_eq!(
            tokens("//! Head.\nmod a {\n    /// Doc.\n    #[doc(hidden)]\n    fn f() -> u32 { 1 } // one\n}"),
            bare
        );
        assert_ne!(tokens("mod a { fn f() -> u32 { 2 } }"), bare);
        assert_ne!(tokens("mod a { #[inline] fn f() -> u32 { 1 } }"), bare);
        assert_eq!(tokens("x ! [doc] y"), "x ! [doc] y", "no attribute");
    }
}
