//! The commit at which a release is built, for the footers of reports.

use std::{env, error::Error, fs, path::Path, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    // In other builds every commit would compile the program anew.
    let is_release = env::var("PROFILE")? == "release";
    let commit = is_release.then(commit).flatten().unwrap_or_else(|| "unknown".to_owned());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("commit"), commit)?;
    println!("cargo:rerun-if-changed=build.rs");
    if is_release && let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    Ok(())
}

/// The commit, if this folder is where it belongs and not a copy within another repository.
fn commit() -> Option<String> {
    let is_own = git(&["rev-parse", "--show-prefix"])? == "crates/cli/";
    is_own.then(|| git(&["rev-parse", "--short=12", "HEAD"])).flatten()
}

fn git(arguments: &[&str]) -> Option<String> {
    let git = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(git.stdout).ok()?;
    git.status.success().then(|| said.trim().to_owned())
}
