//! Files of keys: only their owner may read them, and they are written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::hex;
use crate::{
    InferenceError,
    model_file::one_line,
    tls::{Fingerprint, Identity},
};

/// No certificate, and no certificate's key, is longer.
const MAX_IDENTITY_BYTES: u64 = 1 << 16;

/// Names what was being done to a file when the system refused.
pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> InferenceError {
    let path = path.to_owned();
    move |reason| InferenceError::Io { doing, path, reason }
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

/// SHA-256 over the names and contents of files of a folder, in hexadecimal.
///
/// # Errors
/// [`InferenceError::Io`].
pub fn digest<'a>(folder: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<String, InferenceError> {
    let mut all = Sha256::new();
    for name in names {
        let path = folder.join(name);
        let mut file = File::open(&path).map_err(io("opening", &path))?;
        all.update([name.as_bytes(), &[0]].concat());
        all.update(content_digest(&mut file).map_err(io("reading", &path))?);
    }
    Ok(hex(&all.finalize()))
}

/// SHA-256 of the bytes of a file from its current position, read in blocks of 64 KiB.
pub(super) fn content_digest(file: &mut File) -> std::io::Result<[u8; 32]> {
    let mut content = Sha256::new();
    let mut chunk = Zeroizing::new(vec![0; 1 << 16]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(content.finalize().into()),
            read => content.update(&chunk[..read]),
        }
    }
}

/// The error for a folder with this defect, on one line.
pub(super) fn refused(path: &Path, reason: &str) -> InferenceError {
    InferenceError::Folder { path: path.to_owned(), reason: one_line(reason) }
}

/// Names a file that is missing in a folder of keys: the folder is damaged.
pub fn missing(folder: &Path, name: &str) -> impl FnOnce(InferenceError) -> InferenceError {
    let (path, reason) = (folder.to_owned(), format!("`{name}`: is missing"));
    move |error| match error {
        InferenceError::Io { reason: refusal, .. } if refusal.kind() == ErrorKind::NotFound => {
            InferenceError::Folder { path, reason }
        }
        other => other,
    }
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
/// `certificate` is the fingerprint that the other party accepts: a certificate with one other bit
/// would be refused only by the other party.
///
/// # Errors
/// [`InferenceError::Folder`] if a file is missing or longer than any identity, the certificate is
/// another, or the key is not the certificate's; [`InferenceError::Io`].
pub fn read_identity(folder: &Path, certificate: Fingerprint) -> Result<Identity, InferenceError> {
    let refused = |reason: String| InferenceError::Folder { path: folder.to_owned(), reason };
    let part = |name: &str| {
        let bytes = read_at_most(&folder.join(name), MAX_IDENTITY_BYTES).map_err(missing(folder, name))?;
        bytes.ok_or_else(|| refused(format!("`{name}` is too long")))
    };
    let identity = Identity::from_der(part("identity.der")?.to_vec(), part("identity.key")?);
    let got = identity.fingerprint();
    if got != certificate {
        return Err(refused(format!("`identity.der`: expected SHA-256 {certificate}, got {got}")));
    }
    identity.check().map_err(|e| refused(format!("`identity.der` and `identity.key`: {e}")))?;
    Ok(identity)
}

/// Makes an empty file; `false` if it is there already. Of several callers, one gets `true`.
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
