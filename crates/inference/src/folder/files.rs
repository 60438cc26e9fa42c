use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    path::Path,
};

use zeroize::Zeroizing;

use crate::InferenceError;

pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> InferenceError {
    let path = path.to_owned();
    move |source| InferenceError::Io { doing, path, source }
}

/// Writes a new file that only its owner may read, down to the disk.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), InferenceError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(io("creating", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io("writing", path))
}

/// Makes a folder that only its owner may enter.
pub(super) fn make_folder(path: &Path) -> Result<(), InferenceError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(io("making the folder", path))
}

/// Writes the entries of a folder down to the disk.
pub(super) fn sync_folder(path: &Path) -> Result<(), InferenceError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io("writing the folder", path))
}

/// Reads a file of at most `max` bytes; `None` if it is longer.
pub(super) fn read_at_most(path: &Path, max: u64) -> Result<Option<Zeroizing<Vec<u8>>>, InferenceError> {
    let file = File::open(path).map_err(io("opening", path))?;
    let size = file.metadata().map_err(io("reading", path))?.len();
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or(0) + 1));
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(io("reading", path))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= max))
}

/// Makes an empty file; `false` if it is there already. Of several callers one gets `true`.
pub(super) fn make_marker(path: &Path) -> Result<bool, InferenceError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file.sync_all().map(|()| true).map_err(io("writing", path)),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(io("creating", path)(e)),
    }
}
