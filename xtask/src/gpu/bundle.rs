//! The bundle for a GPU machine without Rust and network.
//!
//! It is rehearsed on the simulated device.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;
use xshell::{Shell, cmd};

use crate::{program::BuildProfile, step::check_quietly, tally::Tally};

/// Where the bundle is put together.
const FOLDER: &str = "target/gpu-bundle";

/// Samples of the families of kernels, which the bundle runs.
const SAMPLES: &str = "data/kernels";

/// The bundle has to fit where it is carried to.
const MAX_BYTES: u64 = 60 << 20;

/// Puts the program and the scripts of `ci/bundle` into one folder.
///
/// The folder is for a GPU machine without Rust and network.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    let built = BuildProfile::Release.build(sh);
    if !built.failed.is_empty() {
        return Ok(built);
    }
    assemble(sh, BuildProfile::Release, FOLDER)?;
    let bytes = size(&sh.current_dir().join(FOLDER))?;
    ensure!(bytes <= MAX_BYTES, "{FOLDER} holds {bytes} bytes, more than {MAX_BYTES}");
    println!(
        "{FOLDER}: {:.1} MiB; run.sh is the way in, README.md lists the commands",
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(built)
}

/// Runs a bundle of `program`, which is built, on the simulated device.
///
/// Its script runs through all stages and leaves their reports.
pub(crate) fn try_out(sh: &Shell, program: BuildProfile) -> Result<Tally> {
    let scratch = sh.create_temp_dir()?;
    let (folder, out) = (scratch.path().join("bundle"), scratch.path().join("out"));
    assemble(sh, program, &folder)?;
    let mut tally = check_quietly(
        "bundle on sim",
        cmd!(sh, "bash {folder}/run.sh --backend sim --quick --out {out}").env("TREFOIL_SIM", ""),
    );
    let reports = [
        "summary.txt",
        "log.txt",
        "kernels.json",
        "small-table.jsonl",
        "small-bitsliced.jsonl",
        "small-interpreted.jsonl",
        "families.txt",
    ];
    for report in
        reports.into_iter().chain(["speed.json", "speed.html", "speed.jsonl", "stark.txt", "conditions.jsonl"])
    {
        tally += Tally::of(report, fs::metadata(out.join(report)).is_ok_and(|file| file.len() > 0));
    }
    Ok(tally)
}

fn assemble(sh: &Shell, program: BuildProfile, folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    sh.remove_path(folder)?;
    sh.create_dir(folder)?;
    sh.copy_file(program.path(), folder)?;
    for entry in sh.read_dir("ci/bundle")? {
        sh.copy_file(entry, folder)?;
    }
    let samples = sh.current_dir().join(SAMPLES);
    let target = sh.current_dir().join(folder).join("kernels");
    for entry in WalkDir::new(&samples) {
        let entry = entry.with_context(|| format!("cannot list {SAMPLES}"))?;
        let to = target.join(entry.path().strip_prefix(&samples)?);
        if entry.file_type().is_dir() {
            sh.create_dir(to)?;
        } else {
            sh.copy_file(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Bytes of the files in a folder and the folders within.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in WalkDir::new(folder) {
        let metadata = entry.and_then(|entry| entry.metadata());
        let metadata = metadata.with_context(|| format!("cannot read {}", folder.display()))?;
        bytes += if metadata.is_file() { metadata.len() } else { 0 };
    }
    Ok(bytes)
}
