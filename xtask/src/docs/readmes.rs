//! The README of each library.
//!
//! It is the documentation of the crate's root: one text, whose example the tests run.

use std::{
    fs, mem,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use cargo_metadata::{Package, TargetKind};

use crate::metadata;

/// The library that has the README of the repository.
const FACADE: &str = "trefoil";

/// Path and text of each README, for every library that is published.
pub(super) fn readmes(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut readmes = Vec::new();
    for package in &metadata(root)?.packages {
        let library = package.targets.iter().find(|target| target.kind.contains(&TargetKind::Lib));
        let is_published = package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
        let Some(library) = library.filter(|_| is_published && package.name.as_str() != FACADE) else { continue };
        let source =
            fs::read_to_string(&library.src_path).with_context(|| format!("cannot read {}", library.src_path))?;
        let folder = package.manifest_path.parent().context("a manifest stands in a folder")?;
        readmes.push((folder.join("README.md").into(), readme(package, &source)));
    }
    Ok(readmes)
}

fn readme(package: &Package, source: &str) -> String {
    let name = package.name.as_str();
    let text = text(source);
    let licence = package.license.as_deref().unwrap_or_default();
    format!("# {name}\n\n{text}\nPart of [Trefoil](../../README.md). Licence: {licence}.\n")
}

/// The documentation of a root module as Markdown.
///
/// It is without rustdoc's links, attributes and hidden lines.
fn text(source: &str) -> String {
    let (mut text, mut prose) = (String::new(), String::new());
    let mut in_code = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(language) = line.strip_prefix("```") {
            in_code = !in_code;
            text.push_str(&unlinked(&mem::take(&mut prose)));
            let is_rust = in_code && ["", "no_run"].contains(&language);
            text.push_str(if is_rust { "```rust" } else { line });
            text.push('\n');
        } else if !in_code {
            // The page has one title.
            prose.extend([if line.starts_with("# ") { "#" } else { "" }, line, "\n"]);
        } else if line != "#" && !line.starts_with("# ") {
            text.extend([line, "\n"]);
        }
    }
    text + &unlinked(&prose)
}

/// Prose whose links to items are their labels.
///
/// The compiler resolves such links, and Markdown does not.
fn unlinked(prose: &str) -> String {
    let (mut text, mut rest) = (String::new(), prose);
    while let Some((before, after)) = rest.split_once('[') {
        let Some((label, after)) = after.split_once(']') else { break };
        let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        rest = match target {
            Some((target, after)) if !target.contains('/') => {
                text.extend([before, label]);
                after
            }
            None if label.starts_with('`') && label.ends_with('`') => {
                text.extend([before, label]);
                after
            }
            _ => {
                text.extend([before, "[", label, "]"]);
                after
            }
        };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readmes_have_no_links_of_rustdoc_and_no_hidden_lines() {
        let source = "//! Has [`A`], [`b`](c::b), [c](d),\n//! [e](https://f.org/g) and `[h]`.\n//!\n//! # More\n//!\n//! ```\n//! # use x;\n//! let [a] = x;\n//! ```\nmod a;\n";
        assert_eq!(
            text(source),
            "Has `A`, `b`, c,\n[e](https://f.org/g) and `[h]`.\n\n## More\n\n```rust\nlet [a] = x;\n```\n"
        );
    }
}
