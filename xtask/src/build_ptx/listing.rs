//! The tables of kernels in `docs/kernels.md`.

use std::path::Path;

use anyhow::{Context, Result};

use super::{budgets::Budgets, keep, manifest::Kernel, module::OP_SETS, report, table::DynamicShared};
use crate::tally::Tally;

const FILE: &str = "docs/kernels.md";

const HEAD: &str = "\
| kernel | threads | blocks per multiprocessor, at least | registers, at most | shared bytes | barriers |
| --- | --- | --- | --- | --- | --- |
";

/// What follows a table; before it stands [`begin`].
const END: &str = "<!-- end of kernels -->\n";

/// The line before the table of an op set.
fn begin(op_set: &str) -> String {
    format!("<!-- kernels of {op_set}, by `cargo xtask build-ptx` -->\n")
}

/// Writes the table of every op set between its markers, or with `check` compares them.
pub(super) fn run(root: &Path, kernels: &[Kernel], check: bool) -> Result<Tally> {
    let budgets = Budgets::read(root)?;
    let missing = kernels.iter().filter(|kernel| budgets.registers(&kernel.name).is_none());
    let missing: Vec<String> = missing.map(|kernel| format!("`{}` has no budget to list", kernel.name)).collect();
    if !missing.is_empty() {
        return Ok(report(FILE, &missing));
    }
    let mut text = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    for op_set in OP_SETS {
        let prefix = format!("{op_set}_");
        let of_it = kernels.iter().filter(|kernel| kernel.name.starts_with(&prefix));
        text = listed(&text, op_set, &table(of_it, &budgets))?;
    }
    keep(root, FILE, &text, check)
}

/// `text` with `table` as the table of the op set.
fn listed(text: &str, op_set: &str, table: &str) -> Result<String> {
    let begin = begin(op_set);
    let (before, rest) = text.split_once(&begin).with_context(|| format!("{FILE} has no line {begin}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{FILE} has no line {END} after {begin}"))?;
    Ok(format!("{before}{begin}\n{table}\n{END}{after}"))
}

/// A row for each kernel, by name.
fn table<'a>(kernels: impl Iterator<Item = &'a Kernel>, budgets: &Budgets) -> String {
    let mut kernels: Vec<&Kernel> = kernels.collect();
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = kernels.into_iter().map(|kernel| row(kernel, budgets));
    [HEAD.to_owned()].into_iter().chain(rows).collect()
}

fn row(kernel: &Kernel, budgets: &Budgets) -> String {
    let Kernel { name, block, min_blocks, dynamic_shared, static_shared, barriers, .. } = kernel;
    let threads: u32 = block.iter().product();
    let registers = budgets.registers(name).unwrap_or_default();
    let shared = match *dynamic_shared {
        None => static_shared.to_string(),
        Some(DynamicShared::Bytes(bytes)) => (static_shared + u64::from(bytes)).to_string(),
        Some(DynamicShared::UpTo { up_to }) => format!("up to {}", static_shared + u64::from(up_to)),
    };
    format!("| `{name}` | {threads} | {min_blocks} | {registers} | {shared} | {barriers} |\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_ptx::manifest::Manifest;

    #[test]
    fn a_table_takes_the_place_of_what_stands_between_its_markers() {
        let text = format!("a\n{}old\n{END}b\n{}{END}c\n", begin("x"), begin("y"));
        let y = listed(&text, "y", "new\n").unwrap();
        assert_eq!(y, format!("a\n{}old\n{END}b\n{}\nnew\n\n{END}c\n", begin("x"), begin("y")));
        assert_eq!(listed(&y, "y", "new\n").unwrap(), y);
        assert!(listed(&text, "z", "").is_err());
    }

    #[test]
    fn rows_are_sorted_and_state_what_manifest_and_budgets_do() {
        let manifest = include_str!("../../../kernels-ptx/ptx/circle.json");
        let kernels = Manifest::parse(manifest).unwrap().kernels;
        let budgets = Budgets::parse("[registers]\ncircle_point_sums = 40\ncircle_twiddles = 24\n".to_owned()).unwrap();
        let chosen = kernels.iter().rev().filter(|kernel| budgets.registers(&kernel.name).is_some());
        let rows = "| `circle_point_sums` | 256 | 4 | 40 | 128 | 1 |\n| `circle_twiddles` | 256 | 4 | 24 | 0 | 0 |\n";
        assert_eq!(table(chosen, &budgets), format!("{HEAD}{rows}"));
    }
}
