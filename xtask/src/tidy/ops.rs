//! Every op of the table is checked by each backend, and its refusals by the suite.

use super::{Finding, source::File};

const TABLE: &str = "crates/backend-api/src/ops/sets.rs";
const BACKENDS: [&str; 2] = ["crates/cpu-backend/src/", "crates/cuda-backend/src/"];
const REFUSALS: &str = "crates/conformance/src/";

pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let Some(table) = files.iter().find(|file| file.path == TABLE) else {
        return findings.push(Finding::new(TABLE, 1, "is missing"));
    };
    for (line, method) in ops(&table.text) {
        let below = |folder: &str, holds: &dyn Fn(&str) -> bool| {
            files.iter().filter(|file| file.path.starts_with(folder)).any(|file| holds(&file.text))
        };
        for backend in BACKENDS {
            if !below(backend, &|text| checks_itself(text, method)) {
                let message = format!("no file below `{backend}` has a `fn {method}` that begins with `op.check()?`");
                findings.push(Finding::new(TABLE, line, message));
            }
        }
        if !below(REFUSALS, &|text| text.contains(&format!("refusing_short(\"{method}\","))) {
            let message = format!("no file below `{REFUSALS}` has a case of `{method}` with views that are too short");
            findings.push(Finding::new(TABLE, line, message));
        }
    }
}

/// Line and method of each op: lines such as `softmax<T>(Softmax),`.
fn ops(table: &str) -> impl Iterator<Item = (usize, &str)> {
    table.lines().enumerate().filter_map(|(index, line)| {
        let (head, _record) = line.trim().strip_suffix("),")?.split_once('(')?;
        let method = head.strip_suffix("<T>").unwrap_or(head);
        let is_name =
            !method.is_empty() && method.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        is_name.then_some((index + 1, method))
    })
}

/// Whether the function `method` of an op set does nothing before it has checked its op.
fn checks_itself(text: &str, method: &str) -> bool {
    let heads = [format!("fn {method}(&self, op: "), format!("fn {method}<T: Real>(&self, op: ")];
    heads.iter().filter_map(|head| text.split_once(head.as_str())).any(|(_, rest)| {
        let body = rest.split_once("{\n").map_or("", |(_, body)| body).trim_start();
        body.starts_with("op.check()?;") || body.starts_with("let shape = op.check()?;")
    })
}
