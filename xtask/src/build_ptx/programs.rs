//! The text that `cuda-backend` generates for a program of every step: linted and assembled.
//!
//! A test of that crate writes the files and compares them with its output.

use std::path::Path;

use anyhow::{Context, Result};
use ptx::{KernelSpec, Table, lint};

use super::{ptxas, report};
use crate::{step::skip, tally::Tally};

/// Where the texts are, each named like its kernel.
const FOLDER: &str = "kernels-ptx/ptx/programs";

const KERNELS: [&str; 2] = ["air_evaluate_compiled", "air_fractions_compiled"];

/// Lints the texts and assembles them for every architecture.
pub(super) fn run(root: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    let assembler = ptxas::find(root, "ptxas");
    for kernel in KERNELS {
        let file = format!("{FOLDER}/{kernel}.ptx");
        let path = root.join(&file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let tree = ptx::parse(&text).with_context(|| file.clone())?;
        let spec = KernelSpec { name: kernel.to_owned(), block: [128, 1, 1], min_blocks: 0, barriers: 0 };
        let findings: Vec<_> =
            lint::check(&tree, &Table { kernels: vec![spec] }).iter().map(ToString::to_string).collect();
        tally += report(&format!("lints of {file}"), &findings);
        let Some(assembler) = &assembler else {
            tally += skip(&format!("ptxas for {file}"), ptxas::NONE_FOUND);
            continue;
        };
        for architecture in ptxas::ARCHITECTURES {
            let findings = match ptxas::assemble(assembler, &path, architecture, Path::new("/dev/null")) {
                Ok(usages) => {
                    let spilling = usages.iter().filter(|usage| usage.spill_bytes > 0);
                    spilling.map(|usage| format!("`{}` spills {} bytes", usage.kernel, usage.spill_bytes)).collect()
                }
                Err(error) => vec![format!("{error:#}")],
            };
            tally += report(&format!("ptxas for {architecture}, {file}"), &findings);
        }
    }
    Ok(tally)
}
