//! Files of keys: only their owner may read them, and they are there whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    path::Path,
};

use zeroize::Zeroizing;

use crate::{InferenceError, tls::Identity};

/// No certificate and no key of one is longer.
const MAX_IDENTITY_BYTES: u64 = 1 << 16;

/// Names what was being done to a file when the system refused.
pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> InferenceError {
    let path = path.to_owned();
    move |source| InferenceError::Io { doing, path, source }
}

/// Writes a new file that only its owner may read, down to the disk.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), InferenceError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(io("creating", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io("writing", path))
}

/// Makes a folder that only its owner may enter.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn make_folder(path: &Path) -> Result<(), InferenceError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(io("making the folder", path))
}

/// Writes the entries of a folder down to the disk.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn sync_folder(path: &Path) -> Result<(), InferenceError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io("writing the folder", path))
}

/// Makes the folder `out` with what `fill` writes, whole or not at all: a temporary folder beside it becomes `out` at the
/// end.
///
/// # Errors
/// [`InferenceError::Folder`] if `out` exists, [`InferenceError::Io`], and what `fill` fails with.
pub fn whole_folder<T>(out: &Path, fill: impl FnOnce(&Path) -> Result<T, InferenceError>) -> Result<T, InferenceError> {
    if fs::symlink_metadata(out).is_ok() {
        return Err(InferenceError::Folder { path: out.to_owned(), reason: "exists; a deal goes to a new one".into() });
    }
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = scratch_folder(parent)?;
    let filled = fill(scratch.path())?;
    sync_folder(scratch.path())?;
    fs::rename(scratch.path(), out).map_err(io("renaming the finished deal to", out))?;
    let _moved = scratch.keep(); // nothing is left there to remove
    sync_folder(parent)?;
    Ok(filled)
}

/// A temporary folder that only its owner may enter.
fn scratch_folder(parent: &Path) -> Result<tempfile::TempDir, InferenceError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".deal-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent).map_err(io("writing to", parent))
}

/// Reads a file of at most `max` bytes; `None` if it is longer.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn read_at_most(path: &Path, max: u64) -> Result<Option<Zeroizing<Vec<u8>>>, InferenceError> {
    let file = File::open(path).map_err(io("opening", path))?;
    let size = file.metadata().map_err(io("reading", path))?.len();
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or(0) + 1));
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(io("reading", path))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= max))
}

/// Writes a party's certificate and its secret key, as `identity.der` and `identity.key`.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn write_identity(folder: &Path, identity: &Identity) -> Result<(), InferenceError> {
    write_new(&folder.join("identity.der"), identity.certificate())?;
    write_new(&folder.join("identity.key"), identity.key())
}

/// Reads what [`write_identity`] wrote.
///
/// # Errors
/// [`InferenceError::Folder`] if a file is longer than any identity or the two are no certificate and its key,
/// [`InferenceError::Io`].
pub fn read_identity(folder: &Path) -> Result<Identity, InferenceError> {
    let refused = |reason: String| InferenceError::Folder { path: folder.to_owned(), reason };
    let part = |name: &str| {
        let bytes = read_at_most(&folder.join(name), MAX_IDENTITY_BYTES)?;
        bytes.ok_or_else(|| refused(format!("`{name}` is too long")))
    };
    let identity = Identity::from_der(part("identity.der")?.to_vec(), part("identity.key")?);
    identity.check().map_err(|e| refused(format!("`identity.der` and `identity.key`: {e}")))?;
    Ok(identity)
}

/// Makes an empty file; `false` if it is there already. Of several callers one gets `true`.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn make_marker(path: &Path) -> Result<bool, InferenceError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file.sync_all().map(|()| true).map_err(io("writing", path)),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(io("creating", path)(e)),
    }
}
