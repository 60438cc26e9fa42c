//! The contents of the book.

use super::{Finding, source::File};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Reports pages below `docs` that the contents do not list exactly once.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        findings.push(Finding::new(SUMMARY, 1, "the contents of the book are missing".to_owned()));
        return;
    };
    let pages = files.iter().filter_map(|file| file.path.strip_prefix("docs/")).filter(|path| path.ends_with(".md"));
    for page in pages.filter(|page| *page != "SUMMARY.md") {
        let count = summary.text.matches(&format!("]({page})")).count();
        if count != 1 {
            findings.push(Finding::new(SUMMARY, 1, format!("expected one link to `{page}`, got {count}")));
        }
    }
}
