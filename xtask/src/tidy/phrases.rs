//! Phrases that make sentences hard to read.
//!
//! Their counts in comments and documents may only fall.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::{Finding, source::File};

/// The committed counts.
const FILE: &str = "ci/phrases.toml";

const HEAD: &str = "\
# How often comments and documents use phrases that hide a noun or give code a mind. `cargo xtask tidy` fails if a count grows, and
# lowers it here when it falls.
";

/// The phrases, in lower case.
///
/// They are chains of pronouns, quantities without a noun, verbs of people, and literal
/// translations.
const PHRASES: [&str; 17] = [
    "as many",
    "asked for",
    "beside",
    "brings",
    "knows",
    "nobody",
    "of its own",
    "of which",
    "says",
    "so many",
    "that of",
    "those of",
    "under way",
    "what a",
    "what is",
    "what it",
    "what the",
];

/// Compares the counts in `files` with the committed ones; lowers those that fell.
pub(super) fn check(root: &Path, files: &[File], findings: &mut Vec<Finding>) -> Result<()> {
    let committed = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let allowed: BTreeMap<String, usize> =
        toml::from_str(&committed).with_context(|| format!("cannot parse {FILE}"))?;
    ensure!(allowed.keys().eq(PHRASES.iter()), "{FILE}: expected a count for each of {PHRASES:?}");
    let counts = count(files.iter().filter(|file| !is_exempt(&file.path)));
    for (&phrase, &found) in &counts {
        let most = allowed[phrase];
        if found > most {
            let message =
                format!("`{phrase}` occurs {found} times in comments and documents, {most} at most; reword a sentence");
            findings.push(Finding::new(FILE, 1, message));
        }
    }
    let lowered: BTreeMap<&str, usize> =
        counts.into_iter().map(|(phrase, found)| (phrase, found.min(allowed[phrase]))).collect();
    let text = render(&lowered);
    if text != committed {
        fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))?;
    }
    Ok(())
}

fn render(counts: &BTreeMap<&str, usize>) -> String {
    let mut text = format!("{HEAD}\n");
    for (phrase, count) in counts {
        writeln!(text, "\"{phrase}\" = {count}").unwrap_or_default();
    }
    text
}

/// Returns whether the words of a file are exempt.
///
/// This file and generated programs and pages are exempt.
fn is_exempt(path: &str) -> bool {
    let is_readme = path.starts_with("crates/") && path.ends_with("/README.md");
    let is_generated = path == "docs/performance.md" || is_readme;
    path.ends_with("tidy/phrases.rs") || is_generated
}

/// The occurrences of each phrase in comments and documents.
fn count<'f>(files: impl Iterator<Item = &'f File>) -> BTreeMap<&'static str, usize> {
    let mut counts: BTreeMap<&str, usize> = PHRASES.iter().map(|&phrase| (phrase, 0)).collect();
    for file in files {
        let words = prose(&file.text, file.ast.is_some());
        for (&phrase, found) in &mut counts {
            *found += words.matches(&format!(" {phrase} ")).count();
        }
    }
    counts
}

/// The words of the comments of Rust source, or of a whole document.
///
/// They are in lower case between single spaces.
fn prose(text: &str, is_rust: bool) -> String {
    let mut words = String::from(" ");
    let lines =
        text.lines().filter_map(|line| if is_rust { line.split_once("//").map(|(_, rest)| rest) } else { Some(line) });
    for word in
        lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '\'')).filter(|word| !word.is_empty())
    {
        words.push_str(&word.to_lowercase());
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        let ast = path.ends_with(".rs").then(|| syn::parse_file(text).unwrap());
        File { path: path.to_owned(), text: text.to_owned(), ast, test_only: false }
    }

    #[test]
    fn phrases_are_counted_across_lines_in_comments_and_documents() {
        let rust =
            file("a.rs", "//! Those of\n//! a rank, and those\n// of another.\nfn those_of() { \"so many\"; }\n");
        let document = file("b.md", "So many rows, so\nmany columns; manyfold.");
        let counts = count([&rust, &document].into_iter());
        assert_eq!((counts["those of"], counts["so many"], counts["beside"]), (2, 2, 0));
    }

    #[test]
    fn counts_may_fall_but_not_grow() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ci")).unwrap();
        let write =
            |count| fs::write(folder.path().join(FILE), render(&PHRASES.map(|phrase| (phrase, count)).into())).unwrap();
        let files = [file("a.md", "beside a, beside b")];
        let check = || {
            let mut findings = Vec::new();
            super::check(folder.path(), &files, &mut findings).unwrap();
            findings.len()
        };
        write(1);
        assert_eq!(check(), 1);
        write(3);
        assert_eq!(check(), 0);
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.contains("\"beside\" = 2\n") && text.contains("\"brings\" = 0\n"), "{text}");
    }
}
