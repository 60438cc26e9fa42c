use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{check, skip},
    tally::Tally,
};

/// The checkers of `compute-sanitizer`.
const SANITIZERS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// Elements of the largest case under a sanitizer, which slows a kernel down a hundredfold.
const SANITIZED_ELEMENTS: &str = "4096";

/// The suite on the real driver. No device is a failure, unless `allow_none`.
pub(crate) fn run(sh: &Shell, sanitize: bool, allow_none: bool) -> Result<Tally> {
    let built = check("program, release build", cmd!(sh, "cargo build --release --quiet --package trefoil"));
    if !built.failed.is_empty() {
        return Ok(built);
    }
    let program = "target/release/trefoil";
    let opens =
        cmd!(sh, "{program} conformance --backend gpu --max-elements 0 linalg.binary").ignore_status().output()?;
    if !opens.status.success() {
        let why = String::from_utf8_lossy(&opens.stderr).trim().to_owned();
        if allow_none {
            return Ok(skip("conformance on gpu", &why));
        }
        println!("FAILED: no device: {why}");
        return Ok(Tally::of("conformance on gpu", false));
    }
    let mut tally = check("conformance on gpu", cmd!(sh, "{program} conformance --backend gpu"));
    if sanitize {
        for tool in SANITIZERS {
            let suite = cmd!(
                sh,
                "compute-sanitizer --tool {tool} --error-exitcode 1 {program} conformance --backend gpu
                 --max-elements {SANITIZED_ELEMENTS}"
            );
            tally += check(&format!("compute-sanitizer {tool}"), suite);
        }
    }
    Ok(tally)
}
