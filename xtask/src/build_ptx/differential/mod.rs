//! The random programs of the differential test of the simulator: their Rust source, and the PTX the compiler makes of it.

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
};
use crate::tally::Tally;

/// Folder of the source below `kernels-ptx`.
const FOLDER: &str = "src/differential/programs";

/// Writes the source and its PTX, or with `check` compares them.
pub(super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, text) in source::files() {
        tally += keep(root, &format!("{FOLDER}/{name}"), &text, check)?;
    }
    let mut tree = ptx::parse(&compiler.build(root, "differential", &FLAGS, &[])?).context("the compiler's PTX")?;
    ptx::rewrite::drop_unreachable(&mut tree);
    ptx::rewrite::normalise_names(&mut tree);
    tally += keep(root, "ptx/differential/programs.ptx", &ptx::print(&tree), check)?;
    Ok(tally)
}
