//! The random programs that test the simulator and devices: their PTX and its manifest.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::{
    compiler::{Compiler, FLAGS},
    keep,
    manifest::Manifest,
    signature,
    table::Record,
};
use crate::tally::Tally;

/// Writes their PTX and the manifest, or with `check` compares them.
pub(in super::super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
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
pub(in super::super) fn record(name: &str) -> Record {
    Record { name: name.to_owned(), block: [128, 1, 1], min_blocks: 1, shared: None, barriers: 0 }
}
