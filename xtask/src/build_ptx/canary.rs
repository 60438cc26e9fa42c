//! The kernels that show what the flags are for, with all of them and with one left out.

use std::path::Path;

use anyhow::{Context, Result};

use super::{
    compiler::{Compiler, FLAGS},
    keep,
};
use crate::tally::Tally;

/// What a text is built without.
enum Without {
    Nothing,
    Flag(&'static str),
    /// A setting of the profile, overridden by this variable.
    Setting(&'static str, &'static str),
}

const TEXTS: [(&str, Without); 6] = [
    ("guarded", Without::Nothing),
    ("without-mir-flag", Without::Flag(FLAGS[0])),
    ("without-small-block-flag", Without::Flag(FLAGS[1])),
    ("without-address-space-pass", Without::Flag(FLAGS[2])),
    ("without-lto", Without::Setting("CARGO_PROFILE_RELEASE_LTO", "off")),
    ("without-immediate-abort", Without::Setting("CARGO_PROFILE_RELEASE_PANIC", "abort")),
];

/// Builds the texts in `kernels-ptx/ptx/canary`, or with `check` compares them.
pub(super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, without) in TEXTS {
        let (flag, setting) = match without {
            Without::Nothing => (None, None),
            Without::Flag(flag) => (Some(flag), None),
            Without::Setting(variable, value) => (None, Some((variable, value))),
        };
        let flags: Vec<&str> = FLAGS.into_iter().filter(|&other| Some(other) != flag).collect();
        let raw = compiler.build(root, "canary", &flags, setting.as_slice())?;
        let built = ptx::print(&ptx::parse(&raw).context("the compiler's PTX")?);
        tally += keep(root, &format!("ptx/canary/{name}.ptx"), &built, check)?;
    }
    Ok(tally)
}
