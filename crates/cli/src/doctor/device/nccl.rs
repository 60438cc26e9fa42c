//! Whether this machine has NCCL.

use std::io::{self, Write};

use runtime::{NcclInfo, Settings};
use serde::Serialize;

/// The library, or the reason why there is none.
#[derive(Default, Serialize)]
pub(super) struct Nccl {
    reason: Option<String>,
    version: Option<String>,
    library: Option<String>,
    missing_functions: Vec<String>,
}

impl Nccl {
    /// Looks for NCCL. This process has queried the driver before.
    pub(super) fn find(settings: &Settings) -> Self {
        match runtime::nccl_facts(settings) {
            Ok(NcclInfo { version, origin, missing }) => Self {
                reason: None,
                version: Some(version.to_string()),
                library: Some(origin),
                missing_functions: missing,
            },
            Err(reason) => Self { reason: Some(reason.to_string()), ..Self::default() },
        }
    }

    pub(super) fn print(&self, out: &mut impl Write, simulated: bool) -> io::Result<()> {
        let kind = if simulated { "simulated, " } else { "" };
        match (&self.version, &self.library) {
            (Some(version), Some(library)) => writeln!(out, "\nnccl        {version}, {kind}{library}")?,
            _ => writeln!(out, "\nnccl        {}", self.reason.as_deref().unwrap_or("none"))?,
        }
        if !self.missing_functions.is_empty() {
            writeln!(out, "  lacks     {}", self.missing_functions.join(", "))?;
        }
        Ok(())
    }
}
