//! Widths of documentation comments.

use super::{Finding, source::File};

/// Most columns of a line, except of tables, examples, quotations and single words.
const WIDTH: usize = 100;

/// Most characters of a summary, the first paragraph of a comment.
const SUMMARY: usize = 90;

/// Summaries that are longer today. The number may only fall.
const LONG_SUMMARIES: usize = 92;

/// Reports lines that are too wide, and summaries beyond the number that is allowed.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let is_source = |file: &&File| file.path.ends_with(".rs") && file.path.contains("/src/");
    let mut long = 0;
    for file in files.iter().filter(is_source).filter(|file| !file.path.contains("differential/")) {
        findings.extend(wide(&file.text).map(|line| {
            Finding::new(&file.path, line, format!("a documentation comment has more than {WIDTH} columns"))
        }));
        long += long_summaries(&file.text);
    }
    if long != LONG_SUMMARIES {
        let message = format!(
            "{long} summaries have more than {SUMMARY} characters, and LONG_SUMMARIES is {LONG_SUMMARIES}: shorten a \
             summary if there are more, lower the number if there are fewer"
        );
        findings.push(Finding::new("xtask/src/tidy/rustdoc.rs", 1, message));
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

/// How many comments have a long first paragraph.
fn long_summaries(text: &str) -> usize {
    let (mut count, mut before, mut length) = (0, None, None::<usize>);
    for line in text.lines().chain([""]) {
        let now = comment(line);
        // A comment begins: its first paragraph is counted up to an empty line or its end.
        if now.is_some() && now.map(|(marker, _)| marker) != before {
            count += usize::from(length.is_some_and(|length| length > SUMMARY));
            length = Some(0);
        }
        match (now, &mut length) {
            (Some((_, words)), Some(sum)) if !words.is_empty() => *sum += words.chars().count() + usize::from(*sum > 0),
            (_, sum) => {
                count += usize::from(sum.take().is_some_and(|length| length > SUMMARY));
            }
        }
        before = now.map(|(marker, _)| marker);
    }
    count
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
        assert_eq!(long_summaries(&text), 2);
    }
}
