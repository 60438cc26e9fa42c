//! Every fuzz target for a while, from its committed seeds.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    pool::on_every_core,
    step::{check_quietly, missing_tool, succeeds},
    tally::Tally,
};

/// Seconds per target when none are given.
pub(crate) const DEFAULT_SECONDS: u32 = 10;

/// Seconds per target from which optimized targets reach more inputs.
///
/// Optimized targets take three times as long to build.
const OPTIMIZED_FROM: u32 = 60;

/// Overrides the optimization level of the crates of the workspace.
const OPT_LEVEL: &str = "CARGO_PROFILE_RELEASE_OPT_LEVEL";

/// Further differences from the release build.
///
/// Arithmetic that overflows is a fault, and a panic names its place without debug information.
const PROFILE: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true"), ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo")];

/// Runs every target for `seconds`, starting from its committed seeds; one check per target.
///
/// `RUSTC_BOOTSTRAP=1` lets the pinned stable compiler take the sanitizer flags that `cargo fuzz`
/// passes.
pub(crate) fn run(sh: &Shell, seconds: u32) -> Result<Tally> {
    if !succeeds(cmd!(sh, "cargo fuzz --version")) {
        return Ok(missing_tool("fuzz", "cargo-fuzz is not installed (cargo install --locked cargo-fuzz)"));
    }
    let level = if seconds < OPTIMIZED_FROM { "0" } else { "1" };
    // Together they are compiled on all cores; then each runs on one.
    let build = cmd!(sh, "cargo fuzz build").env("RUSTC_BOOTSTRAP", "1").env(OPT_LEVEL, level).envs(PROFILE);
    let mut tally = check_quietly("fuzz targets, build", build);
    if !tally.failed.is_empty() {
        return Ok(tally);
    }
    let limits =
        [&format!("-max_total_time={seconds}"), "-rss_limit_mb=1024", "-timeout=10", "-max_len=65536", "-verbosity=0"];
    let root = sh.current_dir();
    tally += on_every_core(targets(&root)?, |target| {
        let sh = Shell::new()?;
        sh.change_dir(&root);
        let corpus = format!("fuzz/corpus/{target}");
        let seeds = format!("fuzz/seeds/{target}");
        // New inputs are written to the first directory, so the seeds stay as committed.
        sh.create_dir(&corpus)?;
        sh.create_dir(&seeds)?;
        let run = cmd!(sh, "cargo fuzz run {target} {corpus} {seeds} -- {limits...}");
        let run = run.env("RUSTC_BOOTSTRAP", "1").env(OPT_LEVEL, level).envs(PROFILE);
        Ok(check_quietly(&format!("fuzz {target}, {seconds} s"), run))
    })?;
    Ok(tally)
}

/// Names of the programs that `fuzz/Cargo.toml` declares.
fn targets(root: &Path) -> Result<Vec<String>> {
    let path = root.join("fuzz/Cargo.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: toml::Table = text.parse().with_context(|| format!("cannot parse {}", path.display()))?;
    let bins = manifest.get("bin").and_then(toml::Value::as_array).context("fuzz/Cargo.toml declares no [[bin]]")?;
    let name = |bin: &toml::Value| bin.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    bins.iter().map(|bin| name(bin).context("a [[bin]] of fuzz/Cargo.toml has no name")).collect()
}
