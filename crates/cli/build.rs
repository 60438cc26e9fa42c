//! The commit that a release is built from, for the footers of reports.

use std::{env, error::Error, fs, path::Path, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    // In other builds every commit would compile the program anew.
    let is_release = env::var("PROFILE")? == "release";
    let commit = is_release.then(commit).flatten().unwrap_or_else(|| "unknown".to_owned());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("commit"), commit)?;
    println!("cargo:rerun-if-changed=build.rs");
    let log = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../.git/logs/HEAD");
    if is_release && log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    Ok(())
}

fn commit() -> Option<String> {
    let git = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(git.stdout).ok()?;
    git.status.success().then(|| commit.trim().to_owned())
}
