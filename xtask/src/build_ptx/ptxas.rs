//! Assembly of the shipped PTX, and the registers, spills and stack that `ptxas -v` reports.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

/// The architectures that the one text must assemble for.
pub(super) const ARCHITECTURES: [&str; 4] = ["sm_80", "sm_86", "sm_89", "sm_90"];

/// Message on a machine without the assembler.
pub(crate) const NONE_FOUND: &str = "ptxas is neither below target/ptxas (ci/install/ptxas fetches it) nor on the path: kernels were not assembled, \
     registers and spills not checked";

/// The assembler's resource usage of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) kernel: String,
    /// Per thread.
    pub(super) registers: u32,
    /// Bytes per thread that were spilled to local memory.
    ///
    /// Stores and loads are counted together.
    pub(super) spill_bytes: u32,
    /// Bytes of stack per thread.
    pub(super) stack_bytes: u32,
}

/// A tool of NVIDIA's: the one that `ci/install/ptxas` fetched, else one on the path.
pub(super) fn find(root: &Path, tool: &str) -> Option<PathBuf> {
    let fetched = WalkDir::new(root.join("target/ptxas")).sort_by_file_name().into_iter().filter_map(Result::ok);
    let fetched = fetched.map(walkdir::DirEntry::into_path).find(|path| path.ends_with(Path::new("bin").join(tool)));
    let on_path = || {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|folder| folder.join(tool)).find(|path| path.is_file())
    };
    fetched.or_else(on_path)
}

/// The version of the assembler: the last word of its version output.
pub(super) fn version(ptxas: &Path) -> Result<String> {
    let output = Command::new(ptxas).arg("--version").output();
    let output = output.with_context(|| format!("cannot start {}", ptxas.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find_map(|line| line.rsplit_once(", V").map(|(_, version)| version.trim().to_owned()));
    version.with_context(|| format!("expected a line with `, V` and a version from ptxas --version, got: {text}"))
}

/// Assembles a file for one architecture into `cubin`.
pub(super) fn assemble(ptxas: &Path, file: &Path, architecture: &str, cubin: &Path) -> Result<Vec<Usage>> {
    let output = Command::new(ptxas)
        .arg("-v")
        .arg(format!("-arch={architecture}"))
        .arg(file)
        .arg("-o")
        .arg(cubin)
        .output()
        .with_context(|| format!("cannot start {}", ptxas.display()))?;
    let report = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ptxas for {architecture}: {}\n{report}", output.status);
    Ok(usages(&report))
}

/// Reads the assembler's report.
///
/// `ptxas info    : Function properties for circle_twiddles`
///
/// `    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`
///
/// `ptxas info    : Used 20 registers, used 0 barriers, 372 bytes cmem[0]`
fn usages(report: &str) -> Vec<Usage> {
    let mut usages: Vec<Usage> = Vec::new();
    for line in report.lines() {
        if let Some((_, kernel)) = line.split_once("Function properties for ") {
            usages.push(Usage { kernel: kernel.trim().to_owned(), ..Usage::default() });
            continue;
        }
        let Some(usage) = usages.last_mut() else { continue };
        for part in line.split([',', ':']).map(str::trim) {
            let number = |suffix: &str| part.strip_suffix(suffix).and_then(|number| number.parse::<u32>().ok());
            if let Some(bytes) = number(" bytes stack frame") {
                usage.stack_bytes = bytes;
            } else if let Some(bytes) = number(" bytes spill stores").or_else(|| number(" bytes spill loads")) {
                usage.spill_bytes += bytes;
            } else if let Some(registers) =
                part.strip_prefix("Used ").and_then(|part| part.strip_suffix(" registers")?.parse().ok())
            {
                usage.registers = registers;
            }
        }
    }
    usages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_the_assembler_are_read() {
        let report = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
            ptxas info    : Function properties for a\n    \
                16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n\
            ptxas info    : Used 72 registers, used 1 barriers, 404 bytes cmem[0]\n\
            ptxas info    : Function properties for b\n    \
                0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 20 registers, 372 bytes cmem[0]\n";
        let a = Usage { kernel: "a".into(), registers: 72, spill_bytes: 12, stack_bytes: 16 };
        let b = Usage { kernel: "b".into(), registers: 20, spill_bytes: 0, stack_bytes: 0 };
        assert_eq!(usages(report), [a, b]);
    }
}
