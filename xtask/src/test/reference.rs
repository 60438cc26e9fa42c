//! Golden files, compared with the programs that write them.
//!
//! The programs are the reference of key bundles in Python, and PyTorch.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{check_quietly, failed, missing_tool, skip, succeeds},
    tally::Tally,
};

/// Handling of a machine without PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PyTorch {
    /// It is printed and counted.
    Optional,
    /// It is a failure.
    Required,
}

/// Writes the golden files again and compares them with the committed ones.
pub(crate) fn run(sh: &Shell, pytorch: PyTorch) -> Result<Tally> {
    if !succeeds(cmd!(sh, "python3 --version")) {
        return Ok(missing_tool("reference", "python3 is not installed"));
    }
    let tests = "crates/pfss/tests";
    let compare = cmd!(sh, "python3 -B {tests}/reference/bundles.py --check {tests}/golden");
    let mut tally = check_quietly("golden key bundles are those of the reference", compare);

    const TITLE: &str = "golden results are those of PyTorch";
    let tests = "crates/nn-ops/tests";
    let compare = cmd!(sh, "python3 -B {tests}/reference/goldens.py --check {tests}/golden/pytorch.safetensors");
    let steps = cmd!(sh, "python3 -B {tests}/reference/optimizers.py --check {tests}/golden/optimizers.npy");
    tally += match (succeeds(cmd!(sh, "python3 -c 'import numpy, torch'")), pytorch) {
        (true, _) => {
            let mut tally = check_quietly(TITLE, compare);
            tally += check_quietly("golden steps of optimizers are those of PyTorch", steps);
            tally
        }
        (false, PyTorch::Optional) => skip(TITLE, "python3 has no PyTorch; `cargo xtask reference` requires it"),
        (false, PyTorch::Required) => failed(TITLE, "python3 has no PyTorch: python3 -m pip install numpy torch"),
    };
    Ok(tally)
}
