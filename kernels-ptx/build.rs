//! Writes the random programs as Rust into the folder of the build: the text that the host runs too.

#[path = "../crates/device-trials/generator/mod.rs"]
mod generator;

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../crates/device-trials/generator");
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(PathBuf::from(folder).join("programs.rs"), generator::programs())
}
