//! The text of a module, alone and checked against its manifest.

use std::{borrow::Cow, ffi::CString};

use super::{ManifestError, ModuleError, manifest::ModuleManifest};

/// One module: PTX and its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleText {
    /// Name of the module.
    ///
    /// Like the names of its kernels, it begins with the name of the op set: `linalg_norm`.
    pub name: Cow<'static, str>,
    /// The PTX.
    pub ptx: Cow<'static, str>,
    /// The manifest, in JSON.
    pub manifest: Cow<'static, str>,
}

/// A text that fits its manifest.
#[derive(Debug)]
pub(super) struct CheckedText {
    pub(super) name: String,
    pub(super) manifest: ModuleManifest,
    pub(super) ptx: CString,
}

impl CheckedText {
    pub(super) fn new(text: ModuleText) -> Result<Self, ModuleError> {
        let name = text.name.into_owned();
        let invalid = |reason| ModuleError::Manifest { module: name.clone(), reason };
        let manifest = ModuleManifest::read(&name, &text.manifest, &text.ptx).map_err(invalid)?;
        let zero = |_| ManifestError::Syntax("the PTX contains a zero byte".to_owned());
        let ptx = CString::new(text.ptx.into_owned()).map_err(zero).map_err(invalid)?;
        Ok(Self { name, manifest, ptx })
    }
}
