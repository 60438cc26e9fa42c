//! The first results of an evaluation, for a terminal.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use pfss::{Party, Ring};

use super::computation::Computation;

/// Elements shown.
const ROWS: usize = 10;
/// Words and bits of an element shown.
const COLUMNS: usize = 8;

/// What rows of results are.
pub(super) enum ResultValues {
    /// The results of these inputs.
    Opened(Vec<u64>),
    /// A party's shares of the results.
    Shares(Party),
}

/// Prints the first results, and where the rest is.
pub(super) fn print(
    computation: &Computation,
    values: &ResultValues,
    rows: &[Vec<u64>],
    written: Option<&Path>,
) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let [words, bits] = computation.names();
    let ([of_input, of_result], ring) = (computation.fractions(), computation.out_ring());
    let names = words.iter().chain(&bits).take(COLUMNS);
    let mut out = io::stdout().lock();
    match values {
        ResultValues::Opened(x) => {
            writeln!(out, "results, opened:")?;
            table.set_header(["element", "x"].map(str::to_owned).into_iter().chain(names.cloned()));
            for (at, (&x, row)) in x.iter().zip(rows).enumerate().take(ROWS) {
                let cell = |(column, &value): (usize, &u64)| {
                    if column < words.len() { number(ring, of_result, value) } else { value.to_string() }
                };
                let head = [at.to_string(), number(computation.ring(), of_input, x)];
                table.add_row(head.into_iter().chain(row.iter().enumerate().map(cell).take(COLUMNS)));
            }
        }
        ResultValues::Shares(party) => {
            let bits = if computation.xor_bits() { ", bits by exclusive or" } else { "" };
            let how = format!("the results are the sums of both parties' shares modulo 2^{}{bits}", ring.bits());
            writeln!(out, "shares of {party}, not results; {how}:")?;
            table.set_header(["element".to_owned()].into_iter().chain(names.map(|name| format!("share of {name}"))));
            for (at, row) in rows.iter().enumerate().take(ROWS) {
                table.add_row([at.to_string()].into_iter().chain(row.iter().map(u64::to_string).take(COLUMNS)));
            }
        }
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    writeln!(out, "{table}")?;
    let (elements, values) = (rows.len(), words.len() + bits.len());
    let mut shown = Vec::new();
    if elements > ROWS {
        shown.push(format!("{ROWS} of {elements} elements"));
    }
    if values > COLUMNS {
        shown.push(format!("{COLUMNS} of {values} values of each"));
    }
    match (shown.join(", "), written) {
        (shown, _) if shown.is_empty() => {}
        (shown, Some(path)) => writeln!(out, "{shown}; {} has all", path.display())?,
        (shown, None) => writeln!(out, "{shown}; --out writes all")?,
    }
    Ok(())
}

/// A word, and the number it stands for if that is a different one.
fn number(ring: Ring, fraction: u32, word: u64) -> String {
    let signed = ring.signed(word);
    match fraction {
        0 if signed >= 0 => word.to_string(),
        0 => format!("{word} ({signed})"),
        _ => format!("{word} ({:.4})", signed as f64 / f64::from(fraction).exp2()),
    }
}
