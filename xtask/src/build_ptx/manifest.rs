//! The file beside each PTX module that tells the host what it holds.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Module, table::DynamicShared, text::Kernel};

/// `ptx/MODULE.json`.
#[derive(Debug, Serialize)]
pub(super) struct Manifest<'a> {
    module: &'static str,
    target: &'a str,
    ptx_version: &'a str,
    compiler: &'a str,
    /// Of the PTX file.
    sha256: String,
    kernels: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    params: &'a [Param],
    block: [u32; 3],
    min_blocks: u32,
    /// `null`, a number of bytes, or `{"up_to": bytes}` where the launch says how many.
    dynamic_shared: Shared,
    static_shared: u64,
    barriers: u32,
}

/// One parameter of a kernel, bytes in the parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Param {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Shared {
    None,
    Bytes(u32),
    UpTo { up_to: u32 },
}

impl From<DynamicShared> for Shared {
    fn from(shared: DynamicShared) -> Self {
        match shared {
            DynamicShared::None => Self::None,
            DynamicShared::Bytes(bytes) => Self::Bytes(bytes),
            DynamicShared::UpTo(up_to) => Self::UpTo { up_to },
        }
    }
}

/// The text of the manifest of `ptx`.
pub(super) fn render(
    module: Module,
    target: &str,
    ptx_version: &str,
    compiler: &str,
    ptx: &str,
    kernels: &[Kernel],
) -> Result<String> {
    let entries = kernels.iter().map(|kernel| Entry {
        name: &kernel.record.name,
        params: &kernel.params,
        block: kernel.record.block,
        min_blocks: kernel.record.min_blocks,
        dynamic_shared: kernel.record.shared.into(),
        static_shared: kernel.static_shared,
        barriers: kernel.record.barriers,
    });
    let manifest = Manifest {
        module: module.name(),
        target,
        ptx_version,
        compiler,
        sha256: hex(&Sha256::digest(ptx)),
        kernels: entries.collect(),
    };
    let mut text = serde_json::to_string_pretty(&manifest)?;
    text.push('\n');
    Ok(text)
}

/// The compiler that a committed manifest names.
pub(super) fn compiler_of(manifest: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Made {
        compiler: String,
    }
    Ok(serde_json::from_str::<Made>(manifest).context("the manifest is not valid JSON")?.compiler)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
