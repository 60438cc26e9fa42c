//! From the compiler's text to the text that ships: the kernel table is read and taken out, launch bounds are inserted.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};

use super::{
    manifest::Param,
    table::{self, Record},
};

/// One kernel of the finished module.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) record: Record,
    pub(super) params: Vec<Param>,
    pub(super) static_shared: u64,
}

/// A module as it ships.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) text: String,
    pub(super) target: String,
    pub(super) version: String,
    pub(super) kernels: Vec<Kernel>,
}

/// Finishes the compiler's text.
pub(super) fn finish(raw: &str) -> Result<Finished> {
    let records = records(raw)?;
    let directive = |name: &str| {
        let value = raw.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        value.with_context(|| format!("the PTX has no `{name}` directive"))
    };
    let mut text = String::new();
    let mut kernels = Vec::new();
    let mut lines = raw.lines();
    while let Some(line) = lines.next() {
        if line.contains(&format!("{}[", table::SYMBOL)) || line.starts_with("//") || line.contains("// .globl") {
            continue;
        }
        writeln!(text, "{line}")?;
        let Some(name) = line.strip_prefix(".visible .entry ") else { continue };
        let name = name.split('(').next().unwrap_or_default();
        let record = records.iter().find(|record| record.name == name);
        let record = record.with_context(|| format!("kernel `{name}` has no line in the kernel table"))?;
        let mut params = Vec::new();
        for line in lines.by_ref() {
            writeln!(text, "{line}")?;
            if line.trim() == ")" {
                break;
            }
            params.push(param(line, params.last()).with_context(|| format!("parameter of `{name}`: `{line}`"))?);
        }
        let [x, y, z] = record.block;
        writeln!(text, ".maxntid {x}, {y}, {z}")?;
        if record.min_blocks > 0 {
            writeln!(text, ".minnctapersm {}", record.min_blocks)?;
        }
        kernels.push(Kernel { record: record.clone(), params, static_shared: 0 });
    }
    for record in &records {
        ensure!(
            kernels.iter().any(|kernel| kernel.record.name == record.name),
            "the kernel table names `{}`, which the PTX does not hold",
            record.name
        );
    }
    kernels.sort_by(|a, b| a.record.name.cmp(&b.record.name));
    Ok(Finished { text, target: directive(".target ")?, version: directive(".version ")?, kernels })
}

/// The kernel table, which stands in one line as the initialiser of a global.
fn records(raw: &str) -> Result<Vec<Record>> {
    let start = format!("{}[", table::SYMBOL);
    let Some(line) = raw.lines().find(|line| line.starts_with(".visible .global") && line.contains(&start)) else {
        return Ok(Vec::new()); // a module without kernels
    };
    let (declaration, list) = line.split_once('{').context("the kernel table has no initialiser")?;
    let (_, len) = declaration.split_once('[').context("the kernel table states no length")?;
    let len = len.split(']').next().unwrap_or_default().parse().context("the kernel table states no length")?;
    let list = list.split('}').next().unwrap_or_default();
    let bytes: Result<Vec<u8>, _> = list.split(',').map(|byte| byte.trim().parse()).collect();
    let mut bytes = bytes.context("the kernel table holds a number that is no byte")?;
    bytes.resize(len, 0); // PTX leaves trailing zeros out
    table::decode(&bytes)
}

/// Reads `.param .u32 NAME` or `.param .align 4 .b8 NAME[40]`.
fn param(line: &str, previous: Option<&Param>) -> Result<Param> {
    let words: Vec<&str> = line.trim().trim_end_matches(',').split_whitespace().collect();
    let (size, align) = match words.as_slice() {
        [".param", ".align", align, ".b8", name] => {
            let (_, len) = name.split_once('[').context("a byte parameter has a length")?;
            (len.trim_end_matches(']').parse()?, align.parse()?)
        }
        [".param", scalar, ..] => {
            let bits: u64 = scalar.trim_start_matches(['.', 'u', 's', 'b', 'f']).parse()?;
            (bits / 8, bits / 8)
        }
        _ => anyhow::bail!("unknown form"),
    };
    let end = previous.map_or(0, |param| param.offset + param.size);
    Ok(Param { offset: end.next_multiple_of(align), size, align })
}
