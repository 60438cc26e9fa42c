//! The mode of this program in which cargo runs it in place of rustc (`RUSTC_WRAPPER`).
//!
//! It runs the real rustc and logs the time. It is not a task, so the help does not list it; the
//! variable [`LOG`] selects it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::OpenOptions,
    io::Write as _,
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context, Result};

use super::{
    cpu,
    unit::{CompiledUnit, describe},
};

/// Path of the log; selects this mode if it is set.
pub(crate) const LOG: &str = "TREFOIL_TIMES_LOG";

/// Exit code of a process if a signal ended its rustc, as a panic of rustc does.
const KILLED: u8 = 101;

/// Runs rustc, whose path cargo passes first, and appends a line to the log.
pub(crate) fn run(log: &OsStr, args: impl Iterator<Item = OsString>) -> ExitCode {
    match wrap(log, args.collect()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn wrap(log: &OsStr, args: Vec<OsString>) -> Result<u8> {
    let (rustc, args) = args.split_first().context("expected the path of rustc as the first argument")?;
    let start = Instant::now();
    // This variable is for one call of this program, and rustc may call others.
    let status = Command::new(rustc).args(args).env_remove(LOG).status().context("cannot start rustc")?;
    let wall = start.elapsed().as_secs_f64();
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some((name, kind)) = describe(&args) {
        let variable = |name| env::var(name).unwrap_or_default();
        let (package, folder) = (variable("CARGO_PKG_NAME"), variable("CARGO_MANIFEST_DIR"));
        // rustc is the only child, so all time of children is its time.
        let unit = CompiledUnit { package, folder, name, kind, wall, cpu: cpu::of_children() };
        append(log, &unit).with_context(|| format!("cannot write {}", log.display()))?;
    }
    Ok(status.code().map_or(KILLED, |code| u8::try_from(code).unwrap_or(KILLED)))
}

/// Appends in one write, since several calls run at a time.
fn append(log: &OsStr, unit: &CompiledUnit) -> Result<()> {
    let mut line = serde_json::to_vec(unit)?;
    line.push(b'\n');
    OpenOptions::new().create(true).append(true).open(log)?.write_all(&line)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_rustc_appends_a_line_and_returns_its_status() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let call = |program: &str, args: &[&str]| {
            let all = [program].into_iter().chain(args.iter().copied()).map(OsString::from).collect();
            wrap(log.as_os_str(), all).unwrap()
        };
        assert_eq!(call("true", &["--crate-name", "a", "--crate-type", "lib"]), 0);
        assert_eq!(call("false", &["--crate-name", "b", "--test"]), 1);
        assert_eq!(call("true", &["-vV"]), 0);
        let text = std::fs::read_to_string(&log).unwrap();
        let units: Vec<CompiledUnit> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(units.iter().map(|unit| unit.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
