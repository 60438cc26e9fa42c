//! The demo's results do not depend on the backend.

use anyhow::Result;
use xshell::{Shell, cmd};

use super::PROGRAM;
use crate::tally::Tally;

/// The demo on two backends: the same facts, apart from times.
pub(super) fn is_the_same_on_cpu_and_sim(sh: &Shell) -> Result<Tally> {
    const TITLE: &str = "demo --small, the same on cpu and sim";
    eprintln!("== {TITLE}");
    let program = PROGRAM.path();
    let scratch = sh.create_temp_dir()?;
    let report = scratch.path().join("report.html");
    let facts = |backend: &str| -> Result<Vec<String>> {
        let demo = cmd!(sh, "{program} demo --small --report {report}").env("TREFOIL_BACKEND", backend);
        Ok(facts(&demo.quiet().read()?))
    };
    let (cpu, sim) = (facts("cpu")?, facts("sim")?);
    for (cpu, sim) in cpu.iter().zip(&sim).filter(|(cpu, sim)| cpu != sim) {
        println!("{TITLE}: cpu `{cpu}`, sim `{sim}`");
    }
    let passed = cpu == sim && cpu.iter().any(|fact| fact.contains("accuracy"));
    eprintln!("== {TITLE}: {}", if passed { "passed" } else { "FAILED" });
    Ok(Tally::of(TITLE, passed))
}

/// The lines of the demo's output that state results.
fn facts(output: &str) -> Vec<String> {
    let varies = |line: &&str| line.contains(" ms  ") || line.starts_with("backends: ");
    output.lines().filter(|line| !varies(line)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_backends_are_no_facts() {
        let output = "backends: stark-fft on cpu\n        1.1 ms  generate the trace\n  accuracy               96.88 % (31 of 32)";
        assert_eq!(facts(output), ["  accuracy               96.88 % (31 of 32)"]);
    }
}
