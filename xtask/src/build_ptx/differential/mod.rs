//! The random programs that hold the simulator and devices to the host: their Rust source, the PTX
//! the compiler makes of it, and its manifest.

mod families;
mod program;
mod random;
mod source;
mod types;

use std::path::Path;

use anyhow::{Context, Result};

use super::{
    compiler::{Compiler, FLAGS},
    keep,
    manifest::Manifest,
    signature,
    table::Record,
};
use crate::tally::Tally;

/// Folder of the source below `kernels-ptx`.
const FOLDER: &str = "src/differential/programs";

/// Writes the source, its PTX and the manifest, or with `check` compares them.
pub(super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, text) in source::files() {
        tally += keep(root, &format!("kernels-ptx/{FOLDER}/{name}"), &text, check)?;
    }
    let mut tree = ptx::parse(&compiler.build(root, "differential", &FLAGS, &[])?).context("the compiler's PTX")?;
    ptx::rewrite::drop_unreachable(&mut tree);
    ptx::rewrite::normalise_names(&mut tree);
    let built = ptx::print(&tree);
    tally += keep(root, "kernels-ptx/ptx/differential/programs.ptx", &built, check)?;
    let signatures = signature::read(&compiler.expand(root, "differential")?)?;
    let manifest = Manifest::of_all("differential", &compiler.version, &built, &tree, record, &signatures)?;
    tally += keep(root, "kernels-ptx/ptx/differential/programs.json", &manifest.render()?, check)?;
    Ok(tally)
}

/// How the programs of a family are launched.
pub(super) fn record(name: &str) -> Record {
    Record { name: name.to_owned(), block: [128, 1, 1], min_blocks: 1, shared: None, barriers: 0 }
}
