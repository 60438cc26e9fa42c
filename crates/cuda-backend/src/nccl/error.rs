//! The NCCL of this process, and why a rank has none.

use backend_api::CollectiveError;
use cuda_loader::{
    Origin,
    nccl::{self, Unavailable, Version},
};
use thiserror::Error;

/// Why there is no group of ranks over NCCL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NcclError {
    /// The machine has no NCCL that can be used.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The ranks did not come together.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

/// The library's release, origin and gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclInfo {
    /// Its release.
    pub version: Version,
    /// Where it came from.
    pub origin: String,
    /// Optional functions of this crate that the library lacks.
    ///
    /// Each comes with the release that introduced it.
    pub missing: Vec<String>,
}

/// The NCCL of this process. A device is not needed for the answer.
///
/// # Errors
/// Why there is none.
pub fn nccl() -> Result<NcclInfo, Unavailable> {
    let library = nccl::available()?;
    let origin = match library.origin() {
        Origin::Installed => "installed table".to_owned(),
        Origin::Library(path) => path.display().to_string(),
    };
    let missing = library.functions().missing().into_iter();
    let missing = missing.map(|(name, since)| format!("{name} (needs NCCL {since} or newer)")).collect();
    Ok(NcclInfo { version: library.version(), origin, missing })
}
