//! Where the PTX and manifests come from: the program itself, a folder, or the caller.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use super::ModuleError;

/// Where kernels come from.
#[derive(Clone, Debug, Default)]
pub enum KernelSource {
    /// The modules that this program was built with.
    #[default]
    Embedded,
    /// A folder with files of the same names, instead of the embedded ones.
    Folder(PathBuf),
    /// Texts that the caller has.
    Texts(Vec<ModuleText>),
}

/// One module: PTX and its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleText {
    /// Name of the module. Like the names of its kernels, it begins with the name of the op set: `linalg_norm`.
    pub name: Cow<'static, str>,
    /// The PTX.
    pub ptx: Cow<'static, str>,
    /// The manifest, in JSON.
    pub manifest: Cow<'static, str>,
}

macro_rules! embedded {
    ($($name:literal),*) => {
        &[$((
            $name,
            include_str!(concat!("../../ptx/", $name, ".ptx")),
            include_str!(concat!("../../ptx/", $name, ".json")),
        )),*]
    };
}

/// Name, PTX and manifest of each module of this program.
const EMBEDDED: &[(&str, &str, &str)] = embedded!(
    "air",
    "channel",
    "circle",
    "correction",
    "deep",
    "factor",
    "fss",
    "fss_bitsliced",
    "linalg_elementwise",
    "linalg_gemm",
    "linalg_gemm_mma",
    "linalg_norm",
    "linalg_softmax",
    "merkle",
    "open",
    "optim",
    "recurrent",
    "recurrent_resident",
    "tensor"
);

impl KernelSource {
    /// The texts.
    pub(super) fn read(&self) -> Result<Vec<ModuleText>, ModuleError> {
        let own = EMBEDDED.iter().map(|&(name, ptx, manifest)| ModuleText {
            name: name.into(),
            ptx: ptx.into(),
            manifest: manifest.into(),
        });
        match self {
            Self::Embedded => Ok(own.collect()),
            Self::Folder(folder) => own.map(|module| from_folder(folder, module.name)).collect(),
            Self::Texts(texts) => Ok(texts.clone()),
        }
    }
}

fn from_folder(folder: &Path, name: Cow<'static, str>) -> Result<ModuleText, ModuleError> {
    let read = |extension: &str| {
        let path = folder.join(format!("{name}.{extension}"));
        let failed = |error: std::io::Error| ModuleError::Unreadable { path: path.clone(), reason: error.to_string() };
        fs::read_to_string(&path).map(Cow::Owned).map_err(failed)
    };
    Ok(ModuleText { ptx: read("ptx")?, manifest: read("json")?, name })
}
