//! Rules on text: length, required files, links.

use std::{collections::BTreeMap, path::Path};

use super::{Finding, source::File};

/// Most lines of one Rust file; above it, two concepts share a file.
const MAX_LINES: usize = 600;

/// Most Rust files of one folder; above it, a reader finds nothing.
const MAX_FILES: usize = 15;

/// Files that every checkout has.
const REQUIRED: &[&str] = &["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "SECURITY.md"];

/// Rules on text: sizes of files and folders, required files, and links between documents.
pub(super) fn check(root: &Path, files: &[File], findings: &mut Vec<Finding>) {
    for name in REQUIRED {
        if !root.join(name).is_file() {
            findings.push(Finding::new(*name, 1, "is missing"));
        }
    }
    let mut folders = BTreeMap::<&str, usize>::new();
    for file in files.iter().filter(|file| file.ast.is_some()) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    for (folder, count) in folders.into_iter().filter(|(_, count)| *count > MAX_FILES) {
        let message = format!("{count} Rust files in one folder, at most {MAX_FILES}; group them by role");
        findings.push(Finding::new(folder, 1, message));
    }
    for file in files {
        let lines = file.text.lines().count();
        if file.ast.is_some() && lines > MAX_LINES {
            let message = format!("{lines} lines, at most {MAX_LINES}; split the file by concept");
            findings.push(Finding::new(&file.path, MAX_LINES + 1, message));
        }
        if file.path.ends_with(".md") {
            let folder = root.join(&file.path).parent().map(Path::to_path_buf).unwrap_or_default();
            for (line, target) in relative_links(&file.text) {
                if !folder.join(&target).exists() {
                    findings.push(Finding::new(&file.path, line, format!("link to `{target}`, which does not exist")));
                }
            }
            for (line, name, target) in named_tests(&file.text) {
                let holds = |text: String| text.contains(&format!("fn {name}("));
                if !std::fs::read_to_string(folder.join(target)).is_ok_and(holds) {
                    findings.push(Finding::new(&file.path, line, format!("`{target}` has no function `{name}`")));
                }
            }
        }
    }
}

/// Line and target of each link to a file; code is left out, fragments are cut off.
fn relative_links(markdown: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut fenced = false;
    for (index, line) in markdown.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        // Odd pieces between backticks are code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let inline = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split([')', ' ']).next());
        let definition =
            prose.starts_with('[').then(|| prose.split_once("]: ").map(|(_, target)| target.trim())).flatten();
        for target in inline.chain(definition) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:") {
                links.push((index + 1, file.to_owned()));
            }
        }
    }
    links
}

/// Line, function and file of each link of the form [`function`](file.rs).
fn named_tests(markdown: &str) -> Vec<(usize, &str, &str)> {
    let mut named = Vec::new();
    for (index, line) in markdown.lines().enumerate() {
        for piece in line.split("[`").skip(1) {
            let Some((name, rest)) = piece.split_once("`](") else { continue };
            let target = rest.split(')').next().unwrap_or_default();
            let is_function = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_function && target.ends_with(".rs") {
                named.push((index + 1, name, target));
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_only() {
        let text = "[a](b.md#part) `[c](d.md)` [e](https://f)\n```\n[g](h.md)\n```\n[i]: j.md\n![k](l.svg)";
        let links: Vec<_> = relative_links(text);
        let expected = [(1, "b.md"), (5, "j.md"), (6, "l.svg")].map(|(line, target)| (line, target.to_owned()));
        assert_eq!(links, expected);
    }

    #[test]
    fn links_that_name_a_function_are_told_from_others() {
        let text = "- x: [`it_holds`](a/b.rs), [`Type`](c.rs), [`word`](d.md)";
        assert_eq!(named_tests(text), [(1, "it_holds", "a/b.rs")]);
    }
}
