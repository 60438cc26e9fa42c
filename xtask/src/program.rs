//! The program `trefoil`, built for the tasks that run it.

use std::{
    env,
    path::{Path, PathBuf},
};

use xshell::{Shell, cmd};

use crate::{mpi, step::check, tally::Tally};

/// How the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildProfile {
    /// As the tests are, with overflow checks: shared dependencies are compiled once.
    Dev,
    /// As it ships.
    Release,
}

impl BuildProfile {
    /// Compiles the program.
    pub(crate) fn build(self, sh: &Shell) -> Tally {
        match self {
            // Of one package alone, dependencies would have other features, and be compiled again.
            Self::Dev => {
                let features = mpi::features(sh);
                check("program, dev build", cmd!(sh, "cargo test --workspace {features...} --no-run --quiet"))
            }
            Self::Release => {
                check("program, release build", cmd!(sh, "cargo build --release --quiet --package trefoil-cli"))
            }
        }
    }

    /// Where it is then, from the root of the workspace unless `CARGO_TARGET_DIR` is elsewhere.
    pub(crate) fn path(self) -> PathBuf {
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let profile = match self {
            Self::Dev => "debug",
            Self::Release => "release",
        };
        Path::new(&target).join(profile).join("trefoil")
    }
}
