//! The kernels that show what the flags are for, with all of them and with one left out.

use std::path::Path;

use anyhow::{Context, Result};

use super::{
    compiler::{Compiler, FLAGS},
    keep,
};
use crate::tally::Tally;

/// Each text, and the flag that it was built without.
const TEXTS: [(&str, Option<&str>); 3] =
    [("guarded", None), ("without-mir-flag", Some(FLAGS[0])), ("without-small-block-flag", Some(FLAGS[1]))];

/// Builds the texts in `kernels-ptx/ptx/canary`, or with `check` compares them.
pub(super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, left_out) in TEXTS {
        let flags: Vec<&str> = FLAGS.into_iter().filter(|&flag| Some(flag) != left_out).collect();
        let built = ptx::print(&ptx::parse(&compiler.build(root, "canary", &flags)?).context("the compiler's PTX")?);
        tally += keep(root, &format!("ptx/canary/{name}.ptx"), &built, check)?;
    }
    Ok(tally)
}
