//! The conformance suite on a real driver, also under the checkers of compute-sanitizer.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    program::BuildProfile,
    step::{check, failed, skip},
    tally::Tally,
};

/// The checkers of `compute-sanitizer`.
const SANITIZERS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// Exit code of the program if there is no such backend.
const UNAVAILABLE: i32 = 3;

/// Elements of the largest case under a sanitizer, which slows a kernel down a hundredfold.
const SANITIZED_ELEMENTS: &str = "4096";

/// The suite on the real driver.
///
/// No device is a failure, unless `allow_none`; with `REQUIRE_CUDA=1` it always is one.
pub(crate) fn run(sh: &Shell, program: BuildProfile, sanitize: bool, allow_none: bool) -> Result<Tally> {
    let title = "conformance on gpu";
    if std::env::var_os("TREFOIL_CUDA_LIBRARY").is_some_and(|library| library == "sim") {
        return Ok(failed(title, "TREFOIL_CUDA_LIBRARY=sim puts the simulated driver in the place of the real one"));
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
        return Ok(failed(title, &why));
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

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

    /// Runs `ci/gpu-setup` with only `bash`, `timeout` and `programs` on the path.
    ///
    /// Returns whether it passes, and its output.
    fn setup(programs: &[(&str, &str)]) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let find = |name: &str| Path::new("/usr/bin").join(name);
        for name in ["bash", "timeout"] {
            symlink(find(name), folder.path().join(name)).unwrap();
        }
        for (name, says) in programs {
            let stub = folder.path().join(name);
            fs::write(&stub, format!("#!{}\n{says}\n", find("bash").display())).unwrap();
            fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/gpu-setup");
        let mut command = Command::new(find("bash"));
        let output = command.arg(script).env("PATH", folder.path()).output().unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    #[test]
    fn the_setup_of_a_gpu_machine_names_all_that_is_missing() {
        let all = [("cargo", ""), ("cc", ""), ("nvidia-smi", "echo 'GPU 0: H100'")];
        assert_eq!(setup(&all), (true, "GPU 0: H100\n".to_owned()));
        let (passes, said) = setup(&[]);
        assert!(!passes && ["- cargo", "- cc", "- nvidia-smi"].iter().all(|name| said.contains(name)), "{said}");
        for status in ["exit 9", "exit 0"] {
            let broken = format!("echo 'no devices were found'; {status}");
            let (passes, said) = setup(&[("cargo", ""), ("cc", ""), ("nvidia-smi", &broken)]);
            assert!(!passes && said.contains("no devices were found") && !said.contains("cargo ("), "{said}");
        }
    }
}
