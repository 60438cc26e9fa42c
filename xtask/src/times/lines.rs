//! Lines of LLVM code that generic functions are instantiated to, by `cargo llvm-lines`.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::table::LARGEST;
use crate::{
    progress,
    step::{failed, missing_tool, succeeds},
    tally::Tally,
};

/// The targets to count: a package and its target.
const TARGETS: [(&str, &[&str]); 6] = [
    ("trefoil-cli", &["--bin", "trefoil"]),
    ("conformance", &["--lib"]),
    ("cpu-backend", &["--lib"]),
    ("cuda-backend", &["--lib"]),
    ("pfss", &["--lib"]),
    ("nn-ops", &["--lib"]),
];

/// Lines, copies and name of one function, or of all together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FunctionLines {
    lines: u64,
    copies: u64,
    name: String,
}

/// Prints the sum and the largest functions of each target; one check per target.
pub(super) fn count(sh: &Shell) -> Result<Tally> {
    const TITLE: &str = "lines of LLVM code";
    if !succeeds(cmd!(sh, "cargo llvm-lines --version")) {
        let why = "cargo-llvm-lines is not installed (cargo install --locked cargo-llvm-lines)";
        return Ok(missing_tool(TITLE, why));
    }
    let mut tally = Tally::default();
    for (package, target) in TARGETS {
        let title = format!("{TITLE} of {package}");
        let command = cmd!(sh, "cargo llvm-lines --release --package {package} {target...}");
        let output = progress::during(&title, || command.quiet().ignore_status().output())?;
        if !output.status.success() {
            tally += failed(&title, &format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
            continue;
        }
        let rows = parse(&String::from_utf8_lossy(&output.stdout)).with_context(|| title.clone())?;
        let (sum, functions) = rows.split_first().context("expected a line for the total")?;
        println!("{package}: {} lines in {} copies of {} functions", sum.lines, sum.copies, functions.len());
        for FunctionLines { lines, copies, name } in functions.iter().take(LARGEST) {
            println!("{lines:>10} lines {copies:>6} copies  {name}");
        }
        tally += Tally::of(&title, true);
    }
    Ok(tally)
}

/// Reads the table: the total first, then functions by falling lines.
///
/// `   1395 (4.5%, 10.1%)   83 (7.5%, 12.0%)  core::ptr::drop_in_place<T>`
fn parse(output: &str) -> Result<Vec<FunctionLines>> {
    let mut rows = Vec::new();
    for line in output.lines() {
        let Some((lines, rest)) = number(line) else { continue };
        let (copies, name) = number(rest).with_context(|| format!("expected the number of copies in `{line}`"))?;
        rows.push(FunctionLines { lines, copies, name: name.trim().to_owned() });
    }
    Ok(rows)
}

/// Splits off a number with the shares in parentheses behind it, if there are any.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let number = text[..end].parse().ok()?;
    let rest = text[end..].trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(shares) if shares.trim_start().starts_with(|c: char| c.is_ascii_digit()) => shares.split_once(')')?.1,
        _ => rest,
    };
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_llvm_lines_are_read() {
        let output = "  Lines                 Copies              Function name\n  \
                      -----                 ------              -------------\n  \
                      30737                 1107                (TOTAL)\n   \
                      1395 (4.5%,  4.5%)    83 (7.5%,  7.5%)    core::ptr::drop_in_place<T>\n    \
                      760 (2.5%,  7.0%)     2 (0.2%,  7.7%)     <(A, B) as a::Trait>::run\n";
        let row = |lines, copies, name: &str| FunctionLines { lines, copies, name: name.to_owned() };
        let expected = [
            row(30737, 1107, "(TOTAL)"),
            row(1395, 83, "core::ptr::drop_in_place<T>"),
            row(760, 2, "<(A, B) as a::Trait>::run"),
        ];
        assert_eq!(parse(output).unwrap(), expected);
        assert!(parse("12 none").is_err());
    }
}
