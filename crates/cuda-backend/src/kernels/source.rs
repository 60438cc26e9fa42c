//! Where the PTX and manifests come from: the program itself, a folder, or the caller.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use super::{
    ModuleError,
    text::{CheckedText, ModuleText},
};

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
    "linalg_attention",
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

/// The embedded modules. They are 8 MB of text, whose digests are computed once.
static CHECKED: LazyLock<Result<Vec<Arc<CheckedText>>, ModuleError>> = LazyLock::new(|| {
    let own = EMBEDDED.iter().map(|&(name, ptx, manifest)| ModuleText {
        name: name.into(),
        ptx: ptx.into(),
        manifest: manifest.into(),
    });
    check(own)
});

fn check(texts: impl IntoIterator<Item = ModuleText>) -> Result<Vec<Arc<CheckedText>>, ModuleError> {
    texts.into_iter().map(|text| CheckedText::new(text).map(Arc::new)).collect()
}

impl KernelSource {
    /// The texts, checked.
    pub(super) fn read(&self) -> Result<Vec<Arc<CheckedText>>, ModuleError> {
        match self {
            Self::Embedded => CHECKED.clone(),
            Self::Folder(folder) => {
                let texts = EMBEDDED.iter().map(|(name, ..)| from_folder(folder, (*name).into()));
                check(texts.collect::<Result<Vec<_>, _>>()?)
            }
            Self::Texts(texts) => check(texts.iter().cloned()),
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
