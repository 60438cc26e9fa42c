//! Widths of documentation comments.

use super::{Finding, source::File};

/// Most columns of a line, except of tables, examples, quotations and single words.
const WIDTH: usize = 100;

/// Most characters of a summary, the first paragraph of a comment.
const SUMMARY: usize = 90;

/// Reports lines that are too wide, and summaries that are too long.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let is_source = |file: &&File| file.path.ends_with(".rs") && file.path.contains("/src/");
    for file in files.iter().filter(is_source) {
        let wide =
            wide(&file.text).map(|line| (line, format!("a documentation comment has more than {WIDTH} columns")));
        let long = long_summaries(&file.text).into_iter();
        let long = long.map(|line| (line, format!("the first paragraph has more than {SUMMARY} characters")));
        findings.extend(wide.chain(long).map(|(line, message)| Finding::new(&file.path, line, message)));
    }
}

/// The text of a documentation comment, with its marker.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker) && !line.starts_with("////"))?;
    Some((marker, line[marker.len()..].trim()))
}

/// Numbers of the lines that are too wide.
fn wide(text: &str) -> impl Iterator<Item = usize> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let Some((_, words)) = comment(line) else {
            in_code = false;
            return None;
        };
        in_code ^= words.starts_with("```");
        let is_quoted = words.starts_with(['|', '`']) || line.trim_end().ends_with("\";");
        let is_free = in_code || is_quoted || !words.contains(' ');
        (!is_free && line.chars().count() > WIDTH).then_some(index + 1)
    })
}

/// The first lines of comments with a long first paragraph.
fn long_summaries(text: &str) -> Vec<usize> {
    let (mut long, mut before) = (Vec::new(), None);
    // The comment whose first paragraph is being read: its first line and its characters so far.
    let mut summary: Option<(usize, usize)> = None;
    for (index, line) in text.lines().chain([""]).enumerate() {
        let now = comment(line);
        let marker = now.map(|(marker, _)| marker);
        let begins = marker.is_some() && marker != before;
        let words = now.map_or("", |(_, words)| words);
        if begins || words.is_empty() {
            long.extend(summary.take().filter(|(_, length)| *length > SUMMARY).map(|(first, _)| first));
        }
        // A macro's text after the comment of its caller begins with an empty line.
        if begins && !words.is_empty() {
            summary = Some((index + 1, 0));
        }
        if let Some((_, length)) = &mut summary {
            *length += words.chars().count() + usize::from(*length > 0);
        }
        before = marker;
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_examples_and_addresses_may_be_wide() {
        let w = "word ".repeat(30);
        let text = format!("//! {w}\n/// | {w}|\n/// ```\n/// {w}\n/// ```\n// {w}\n/// {}\n", "x".repeat(120));
        assert_eq!(wide(&text).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_first_paragraph_of_each_comment_is_counted() {
        let long = "word ".repeat(20);
        let text = format!(
            "//! short\n//!\n//! {long}\n\n/// {long}\nfn f() {{}}\n//! a\n/// {}\n/// {}\n",
            "a".repeat(45),
            "b".repeat(46)
        );
        assert_eq!(long_summaries(&text), [5, 8]);
    }
}
