//! The text of a module that fits its manifest.

use std::ffi::CString;

use super::{ManifestError, ModuleError, ModuleText, manifest::Manifest};

/// A text that fits its manifest.
#[derive(Debug)]
pub(super) struct CheckedText {
    pub(super) name: String,
    pub(super) manifest: Manifest,
    pub(super) ptx: CString,
}

impl CheckedText {
    pub(super) fn new(text: ModuleText) -> Result<Self, ModuleError> {
        let name = text.name.into_owned();
        let invalid = |reason| ModuleError::Manifest { module: name.clone(), reason };
        let manifest = Manifest::read(&name, &text.manifest, &text.ptx).map_err(invalid)?;
        let zero = |_| ManifestError::Syntax("the PTX contains a zero byte".to_owned());
        let ptx = CString::new(text.ptx.into_owned()).map_err(zero).map_err(invalid)?;
        Ok(Self { name, manifest, ptx })
    }
}
