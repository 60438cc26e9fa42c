//! Atomic creation of folders: files go to a temporary folder, which is renamed at the end.
//!
//! An unfinished folder holds the secrets of both parties and has to be removed:
//!
//! - If writing fails, [`whole_folder`] removes it.
//! - If a signal ends the program, the program calls [`remove_unfinished`].
//! - If the program was killed, the next one calls [`remove_stale`]. A process locks the folder
//!   that it fills, so that stale folders are those without a lock.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::files::{io as while_doing, sync_folder};
use crate::InferenceError;

/// Prefix of the names of unfinished folders.
///
/// [`whole_folder`] rejects it, since [`remove_stale`] would remove a finished folder of such a
/// name.
const PREFIX: &str = ".trefoil-unfinished-";

/// Number of attempts to create or remove an unfinished folder.
///
/// Another process may take a new folder for a stale one, or still be filling a folder to remove.
const ATTEMPTS: u32 = 100;

/// The unfinished folders of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the folder `out` with what `fill` writes, whole or not at all.
///
/// Only its owner may enter it.
///
/// # Errors
/// [`InferenceError::Exists`] if `out` exists, [`InferenceError::Folder`] if its name has the
/// prefix of unfinished folders, [`InferenceError::Io`], and the errors of `fill`.
pub fn whole_folder<T>(out: &Path, fill: impl FnOnce(&Path) -> Result<T, InferenceError>) -> Result<T, InferenceError> {
    let scratch = UnfinishedFolder::next_to(out)?;
    let filled = fill(scratch.folder.path())?;
    scratch.finish(out)?;
    Ok(filled)
}

/// The parent of `out`; `.` if it has none.
fn parent(out: &Path) -> &Path {
    out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An unfinished folder, removed when it is dropped.
struct UnfinishedFolder {
    folder: TempDir,
    /// The lock that marks the folder as being filled, for other processes.
    ///
    /// `None` if folders cannot be locked.
    _lock: Option<File>,
}

impl UnfinishedFolder {
    /// Creates an unfinished folder in the parent of `out`.
    fn next_to(out: &Path) -> Result<Self, InferenceError> {
        if is_unfinished(out) {
            let reason = format!("expected a name that does not begin with `{PREFIX}`");
            return Err(InferenceError::Folder { path: out.to_owned(), reason });
        }
        if fs::symlink_metadata(out).is_ok() {
            return Err(InferenceError::Exists { path: out.to_owned() });
        }
        let parent = parent(out);
        Self::new(parent).map_err(while_doing("writing to", parent))
    }

    /// Renames the filled folder to `out`.
    fn finish(self, out: &Path) -> Result<(), InferenceError> {
        sync_folder(self.folder.path())?;
        {
            // A signal that removes unfinished folders comes before this or finds nothing.
            let mut registered = unfinished();
            let path = self.folder.path();
            if !registered.iter().any(|other| other == path) {
                return Err(while_doing("finishing the folder", out)(ErrorKind::Interrupted.into()));
            }
            fs::rename(path, out).map_err(while_doing("renaming the finished folder to", out))?;
            registered.retain(|other| other != path);
        }
        drop(self);
        sync_folder(parent(out))
    }

    fn new(parent: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let mut builder = tempfile::Builder::new();
            builder.prefix(PREFIX);
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let mut registered = unfinished();
            let folder = builder.tempdir_in(parent)?;
            // Until it is locked another process may take it for a stale one and remove it.
            if let Some(lock) = lock_new(folder.path()) {
                registered.push(folder.path().to_owned());
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        // Removed before it is forgotten, so that a signal in between leaves nothing. A finished folder is elsewhere by now.
        let path = self.folder.path();
        let _ = fs::remove_dir_all(path);
        unfinished().retain(|other| other != path);
    }
}

/// Locks a folder that this process has just made, where the system can.
///
/// `None` if another process got there first.
fn lock_new(path: &Path) -> Option<Option<File>> {
    if !cfg!(unix) {
        return Some(None);
    }
    let file = File::open(path).ok()?;
    match file.try_lock() {
        Ok(()) => is_at(&file, path).then_some(Some(file)),
        Err(fs::TryLockError::WouldBlock) => None,
        Err(fs::TryLockError::Error(_)) => Some(None),
    }
}

/// Whether the open folder is still the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let node = |found: &fs::Metadata| (found.dev(), found.ino());
        let (open, named) = (file.metadata(), fs::symlink_metadata(path));
        open.and_then(|open| Ok(node(&open) == node(&named?))).unwrap_or(false)
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Removes the unfinished folders of this process, for a program that ends by a signal.
///
/// What fills them fails.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        // A file that appears while the folder is being removed keeps it there.
        for _ in 0..ATTEMPTS {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
    }
}

/// An unfinished folder that a killed program left.
#[derive(Debug)]
pub struct Stale {
    /// Where it was, or is if it could not be removed.
    pub path: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether it was removed.
    pub removed: io::Result<()>,
}

/// Removes the stale unfinished folders in `parent`.
///
/// They are the folders of this user that no process is filling.
///
/// # Errors
/// [`InferenceError::Io`] if `parent` cannot be listed.
pub fn remove_stale(parent: &Path) -> Result<Vec<Stale>, InferenceError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent).map_err(while_doing("reading the folder", parent))? {
        let path = entry.map_err(while_doing("reading the folder", parent))?.path();
        let Some(_lock) = is_unfinished(&path).then(|| lock_own(&path)).flatten() else { continue };
        let bytes = bytes_in(&path);
        let removed = fs::remove_dir_all(&path);
        found.push(Stale { path, bytes, removed });
    }
    Ok(found)
}

/// Whether a path has the name of an unfinished folder.
fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
}

/// Locks a folder of this user that no other process has locked.
fn lock_own(path: &Path) -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::symlink_metadata(path).ok()?;
        if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        let file = File::open(path).ok()?;
        file.try_lock().ok()?;
        is_at(&file, path).then_some(file)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Bytes of the files in a folder and in its folders.
///
/// Unreadable files and folders count as 0.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn removes_what_nobody_fills_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let names = || {
            let mut names: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            names
        };
        fs::create_dir_all(at(".trefoil-unfinished-1/party0")).unwrap();
        fs::write(at(".trefoil-unfinished-1/party0/000.key"), [1; 300]).unwrap();
        fs::create_dir(at(".deal-monday")).unwrap();
        fs::write(at(".trefoil-unfinished-file"), b"").unwrap();
        let made = whole_folder(&at("out"), |scratch| {
            fs::write(scratch.join("a"), b"a").unwrap();
            let removed = remove_stale(parent.path()).unwrap();
            let removed: Vec<_> =
                removed.iter().map(|stale| (&stale.path, stale.bytes, stale.removed.is_ok())).collect();
            assert_eq!(removed, [(&at(".trefoil-unfinished-1"), 300, true)]);
            assert!(scratch.join("a").is_file(), "a folder that is being filled");
            Ok(())
        });
        made.unwrap();
        let refused = whole_folder(&at(".trefoil-unfinished-mine"), |_| Ok(())).unwrap_err();
        assert!(matches!(refused, InferenceError::Folder { .. }), "{refused}");
        assert_eq!(names(), [at(".deal-monday"), at(".trefoil-unfinished-file"), at("out")]);
        assert!(remove_stale(parent.path()).unwrap().is_empty());
    }
}
