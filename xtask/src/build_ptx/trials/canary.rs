//! The canary kernels, which show the effect of the flags.
//!
//! They are built with all flags and with one left out.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::{
    compiler::{Compiler, FLAGS},
    keep,
    manifest::Manifest,
    signature,
    table::{DynamicShared, Record},
};
use crate::tally::Tally;

/// The omission that a text is built with.
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

/// Dynamic shared memory of the one kernel that uses it, in bytes.
const SHARED: (&str, u32) = ("canary_shared", 256);

/// The kernels with a barrier.
const WITH_BARRIER: [&str; 2] = ["canary_barrier", "canary_shared"];

/// Builds the texts in `kernels-ptx/ptx/canary`, or with `check` compares them.
///
/// It does the same for the manifest of the text that a device can run.
pub(in super::super) fn run(compiler: &Compiler, root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, without) in TEXTS {
        let (flag, setting) = match without {
            Without::Nothing => (None, None),
            Without::Flag(flag) => (Some(flag), None),
            Without::Setting(variable, value) => (None, Some((variable, value))),
        };
        let flags: Vec<&str> = FLAGS.into_iter().filter(|&other| Some(other) != flag).collect();
        let raw = compiler.build(root, "canary", &flags, setting.as_slice())?;
        let tree = ptx::parse(&raw).context("the compiler's PTX")?;
        let built = ptx::print(&tree);
        tally += keep(root, &format!("kernels-ptx/ptx/canary/{name}.ptx"), &built, check)?;
        if let Without::Nothing = without {
            let signatures = signature::read(&compiler.expand(root, "canary")?)?;
            let manifest = Manifest::of_all("canary", &compiler.version, &built, &tree, record, &signatures)?;
            tally += keep(root, &format!("kernels-ptx/ptx/canary/{name}.json"), &manifest.render()?, check)?;
        }
    }
    Ok(tally)
}

/// How a canary is launched.
pub(in super::super) fn record(name: &str) -> Record {
    Record {
        name: name.to_owned(),
        block: [64, 1, 1],
        min_blocks: 1,
        shared: (name == SHARED.0).then_some(DynamicShared::Bytes(SHARED.1)),
        barriers: WITH_BARRIER.contains(&name).into(),
    }
}
