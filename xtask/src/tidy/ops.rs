//! The suite refuses short views of every op of the table.

use super::{Finding, source::File};

const TABLE: &str = "crates/backend-api/src/ops/sets.rs";
const REFUSALS: &str = "crates/conformance/src/";

pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let Some(table) = files.iter().find(|file| file.path == TABLE) else {
        return findings.push(Finding::new(TABLE, 1, "is missing"));
    };
    for (line, method) in ops(&table.text) {
        let case = format!("refusing_short(\"{method}\",");
        if !files.iter().any(|file| file.path.starts_with(REFUSALS) && file.text.contains(&case)) {
            let message = format!("no file below `{REFUSALS}` has a case of `{method}` with views that are too short");
            findings.push(Finding::new(TABLE, line, message));
        }
    }
}

/// Line and method of each op.
///
/// They are lines such as `softmax<T>(Softmax),` and `cmp_gen(CmpGen) -> CmpGenShape,`.
fn ops(table: &str) -> impl Iterator<Item = (usize, &str)> {
    table.lines().enumerate().filter_map(|(index, line)| {
        let entry = line.trim().strip_suffix(',')?;
        let entry = entry.split_once(" -> ").map_or(entry, |(entry, _shape)| entry);
        let (head, _record) = entry.strip_suffix(')')?.split_once('(')?;
        let method = head.strip_suffix("<T>").unwrap_or(head);
        let is_name =
            !method.is_empty() && method.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        is_name.then_some((index + 1, method))
    })
}
