//! The conformance suite on a real driver, also under the checkers of compute-sanitizer.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    program::Program,
    step::{check, skip},
    tally::Tally,
};

/// The checkers of `compute-sanitizer`.
const SANITIZERS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// What the program exits with where there is no such backend.
const UNAVAILABLE: i32 = 3;

/// Elements of the largest case under a sanitizer, which slows a kernel down a hundredfold.
const SANITIZED_ELEMENTS: &str = "4096";

/// The suite on the real driver. No device is a failure, unless `allow_none`; with `REQUIRE_CUDA=1` it always is one.
pub(crate) fn run(sh: &Shell, program: Program, sanitize: bool, allow_none: bool) -> Result<Tally> {
    let title = "conformance on gpu";
    if std::env::var_os("TREFOIL_CUDA_LIBRARY").is_some_and(|library| library == "sim") {
        println!("FAILED: {title}: TREFOIL_CUDA_LIBRARY=sim puts the simulated driver in the place of the real one");
        return Ok(Tally::of(title, false));
    }
    let allow_none = allow_none && std::env::var_os("REQUIRE_CUDA").is_none_or(|required| required != "1");
    let built = program.build(sh);
    if !built.failed.is_empty() {
        return Ok(built);
    }
    let program = program.path();
    let opens =
        cmd!(sh, "{program} conformance --backend gpu --max-elements 0 linalg.binary").ignore_status().output()?;
    if !opens.status.success() {
        let why = String::from_utf8_lossy(&opens.stderr).trim().to_owned();
        if allow_none && opens.status.code() == Some(UNAVAILABLE) {
            return Ok(skip(title, why.lines().next().unwrap_or_default()));
        }
        println!("FAILED: {title}: {why}");
        return Ok(Tally::of(title, false));
    }
    let mut tally = check(title, cmd!(sh, "{program} conformance --backend gpu"));
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
