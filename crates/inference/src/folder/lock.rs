//! The advisory lock of a folder of many runs, which one process at a time holds.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::ErrorKind,
    path::Path,
};

use super::files::io;
use crate::InferenceError;

/// The locked file, in the folder of a party. It is empty, and stays after the lock.
const FILE: &str = "lock";

/// The lock of a folder. It ends when this is dropped, or with the process.
///
/// It is advisory: what keeps a run from being used twice is the marker in its folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    /// `None` for a folder that cannot be written, or whose file system has no locks.
    _file: Option<File>,
}

impl FolderLock {
    /// Locks a party's folder.
    ///
    /// A folder that cannot be written needs no lock: no run in it can be used.
    ///
    /// # Errors
    /// [`InferenceError::InUse`] if it is locked, by another process or by this one, and
    /// [`InferenceError::Io`] if the file cannot be opened.
    pub(super) fn take(folder: &Path) -> Result<Self, InferenceError> {
        let path = folder.join(FILE);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = match options.open(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                return Ok(Self { _file: None });
            }
            opened => opened.map_err(io("opening", &path))?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(InferenceError::InUse { path: folder.to_owned() }),
            Err(TryLockError::Error(_)) => Ok(Self { _file: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err();
        assert!(matches!(&refused, InferenceError::InUse { path } if path == folder.path()), "{refused}");
        drop(first);
        assert!(FolderLock::take(folder.path()).is_ok());
        let missing = FolderLock::take(&folder.path().join("none")).unwrap_err();
        assert!(matches!(missing, InferenceError::Io { doing: "opening", .. }), "{missing}");
    }
}
