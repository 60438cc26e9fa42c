//! A summary of each kernel module of a source, read without a device.

use super::{KernelSource, ModuleError, manifest::Manifest};

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
    let info = |text: super::ModuleText| {
        let name = text.name.into_owned();
        let manifest = Manifest::read(&name, &text.manifest, &text.ptx)
            .map_err(|reason| ModuleError::Manifest { module: name.clone(), reason })?;
        Ok(ModuleInfo {
            name,
            target: manifest.target,
            ptx_version: manifest.ptx_version,
            kernels: manifest.kernels.len(),
        })
    };
    source.read()?.into_iter().map(info).collect()
}
