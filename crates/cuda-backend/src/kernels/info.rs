//! A summary of each kernel module of a source, read without a device.

use super::{KernelSource, ModuleError, text::CheckedText};

/// Facts about a module of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Its name.
    pub name: String,
    /// The device that it is made for, such as `sm_80`; newer ones run it too.
    pub target: String,
    /// Its PTX version.
    pub ptx_version: String,
    /// Number of its kernels.
    pub kernels: usize,
}

/// The modules of `source`, read and checked against their manifests; needs no device.
///
/// # Errors
/// [`ModuleError`] for the first that cannot be used anywhere.
pub fn modules(source: &KernelSource) -> Result<Vec<ModuleInfo>, ModuleError> {
    let info = |text: &CheckedText| ModuleInfo {
        name: text.name.clone(),
        target: text.manifest.target.clone(),
        ptx_version: text.manifest.ptx_version.clone(),
        kernels: text.manifest.kernels.len(),
    };
    Ok(source.read()?.iter().map(|text| info(text)).collect())
}
