//! The golden key bundles, against the reference in Python.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{check_quietly, missing_tool},
    tally::Tally,
};

/// Has the reference in Python write the golden key bundles again, and compares them with the committed ones.
pub(super) fn run(sh: &Shell) -> Result<Tally> {
    if cmd!(sh, "python3 --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return Ok(missing_tool("reference", "python3 is not installed"));
    }
    let tests = "crates/pfss/tests";
    let compare = cmd!(sh, "python3 -B {tests}/reference/bundles.py --check {tests}/golden");
    Ok(check_quietly("golden key bundles are those of the reference", compare))
}
