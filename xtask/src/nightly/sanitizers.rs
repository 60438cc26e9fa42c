//! Tests under the address and the thread sanitizer, with the pinned compiler.
//!
//! `RUSTC_BOOTSTRAP=1` makes it accept the flags, as for fuzzing.

use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    step::{check_quietly, skip},
    tally::Tally,
};

/// A call of `cargo test`: its title and its arguments.
type Tests = (&'static str, &'static [&'static str]);

/// The C interface, with its examples in C++.
const ADDRESS: [Tests; 1] = [("C interface of pfss", &["--package", "pfss-ffi", "--lib", "--test", "main"])];

/// Queues, pools, pinned memory and collectives; devices are simulated.
const THREAD: [Tests; 3] = [
    ("collectives", &["--package", "trefoil-collective", "--tests"]),
    (
        "queue and threads of the processor",
        &["--package", "cpu-backend", "--test", "main", "--", "linalg_threads", "tensor_threads"],
    ),
    ("queue, pools and pinned memory of a device", &["--package", "cuda-backend", "--test", "main", "--", "device::"]),
];

/// The address sanitizer over the C interface.
pub(super) fn address(sh: &Shell) -> Result<Tally> {
    // The tests compile the examples by `c++`, whose linker needs the library of the sanitizer too.
    let compiler = cmd!(sh, "sh -c 'command -v c++'").quiet().read().context("expected a C++ compiler named c++")?;
    let folder = sh.create_temp_dir()?;
    let script = folder.path().join("c++");
    sh.write_file(&script, format!("#!/bin/sh\nexec '{compiler}' -fsanitize=address \"$@\"\n"))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap_or_default());
    let _path = sh.push_env("PATH", path);
    run(sh, "address", &host(sh)?, &[], &ADDRESS)
}

/// The thread sanitizer over what threads share.
///
/// The standard library has to be compiled with it: otherwise it misses that a mutex orders two
/// threads, and reports every one.
pub(super) fn thread(sh: &Shell) -> Result<Tally> {
    const SOURCES: &str = "lib/rustlib/src/rust/library/std/Cargo.toml";
    let root = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    if !Path::new(&root).join(SOURCES).is_file() {
        let why = "the toolchain has no sources of the standard library (rustup component add rust-src)";
        return Ok(skip("thread sanitizer", why));
    }
    run(sh, "thread", &host(sh)?, &["-Zbuild-std"], &THREAD)
}

/// Runs each of `tests`; one check each.
///
/// The target is named, so that build scripts and macros are compiled without.
fn run(sh: &Shell, sanitizer: &str, host: &str, flags: &[&str], tests: &[Tests]) -> Result<Tally> {
    let mut tally = Tally::default();
    // A standard library without the sanitizer counts as another ABI, which is so for threads and not for addresses.
    let rustflags = format!("-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer");
    let target = sh.current_dir().join(format!("target/sanitizer-{sanitizer}"));
    for &(title, arguments) in tests {
        let test = cmd!(sh, "cargo test --target {host} {flags...} {arguments...}")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", &rustflags)
            .env("CARGO_TARGET_DIR", &target);
        tally += check_quietly(&format!("{sanitizer} sanitizer: {title}"), test);
    }
    Ok(tally)
}

/// The compiler's own platform.
fn host(sh: &Shell) -> Result<String> {
    let version = cmd!(sh, "rustc -vV").quiet().read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("expected a line `host: ` from rustc -vV")?.to_owned())
}
