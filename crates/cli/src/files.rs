//! Files that a command line names, and which of them are the same.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};

use crate::{exit::UsageError, text::shown};

/// The most bytes of a pipe or a device, which may have no end.
const MAX_STREAM: u64 = 1 << 28;

/// A file that an option or an argument names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedFile<'a> {
    by: &'static str,
    path: &'a Path,
    written: bool,
}

impl<'a> NamedFile<'a> {
    /// A file that is read.
    pub(crate) const fn read(by: &'static str, path: &'a Path) -> Self {
        Self { by, path, written: false }
    }

    /// A file that is written.
    pub(crate) const fn written(by: &'static str, path: &'a Path) -> Self {
        Self { by, path, written: true }
    }
}

/// Refuses a file that is written and that another option names too, however it is spelled.
///
/// Devices may be named twice: `/dev/null` keeps nothing.
pub(crate) fn refuse_shared(files: &[NamedFile<'_>]) -> Result<(), UsageError> {
    let identities: Vec<_> = files.iter().map(|file| FileIdentity::of(file.path)).collect();
    for (k, (file, identity)) in files.iter().zip(&identities).enumerate() {
        for (other, same) in files.iter().zip(&identities).take(k) {
            if (file.written || other.written) && identity.is_some() && identity == same {
                let (first, second, path) = (other.by, file.by, file.path.display());
                return Err(UsageError(format!(
                    "{first} and {second} are the same file, {path}: expected different files"
                )));
            }
        }
    }
    Ok(())
}

/// What tells whether two paths are one file.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    /// A file that is there, by its device and number.
    #[cfg(unix)]
    Node(u64, u64),
    /// The path that a file has or will have, without symbolic links.
    Path(PathBuf),
}

impl FileIdentity {
    /// `None` for devices and where there can be no file.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(found) if is_device(&found) => None,
            #[cfg(unix)]
            Ok(found) => Some(Self::Node(node(&found).0, node(&found).1)),
            _ => resolved(path).ok().map(Self::Path),
        }
    }
}

/// The path of a file without symbolic links.
///
/// The file need not exist, but its folder must.
///
/// # Errors
/// Where there can be no file of this path.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    loop {
        match fs::canonicalize(&path) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(ErrorKind::IsADirectory.into());
        }
        let name = path.file_name().ok_or(ErrorKind::NotFound)?;
        let folder = fs::canonicalize(folder_of(&path))?;
        let whole = folder.join(name);
        // A dangling link; too many links were an error above.
        match fs::read_link(&whole) {
            Ok(to) => path = folder.join(to),
            Err(_) => return Ok(whole),
        }
    }
}

/// Reads a whole file.
///
/// A regular file can have any size that fits in memory. Up to 256 MiB are read of anything else,
/// such as a pipe, a device, or a file that the system makes as it is read.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`] for a file that does not fit, [`ErrorKind::FileTooLarge`] for a
/// stream of more bytes, and any error that the system reports.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let (mut bytes, len) = (Vec::new(), found.len());
    if found.is_file() && len > 0 {
        let room = usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?;
        bytes
            .try_reserve_exact(room)
            .map_err(|_| io::Error::new(ErrorKind::OutOfMemory, format!("{len} bytes do not fit in memory")))?;
        // It may grow while it is read.
        file.take(len).read_to_end(&mut bytes)?;
    } else if file.take(MAX_STREAM + 1).read_to_end(&mut bytes)? as u64 > MAX_STREAM {
        let reason = format!("expected at most {MAX_STREAM} bytes of a pipe or a device");
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// Reads a whole file and parses it with `parse`.
///
/// Errors name the file; its text in them is made safe to print.
pub(crate) fn parsed<T>(path: &Path, parse: impl FnOnce(&[u8]) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let said = || format!("reading {}", shown(&path.to_string_lossy()));
    let bytes = read(path).with_context(said)?;
    parse(&bytes).map_err(|error| anyhow!(shown(&format!("{error:#}")))).with_context(said)
}

/// The folder that a path is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn node(file: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;

    (file.dev(), file.ino())
}

/// Whether two open files are one. Where the system does not number files, they count as one.
pub(crate) fn same_file(a: &Metadata, b: &Metadata) -> bool {
    #[cfg(unix)]
    return node(a) == node(b);
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        true
    }
}

#[cfg(unix)]
fn is_device(file: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;

    file.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

/// Standard output, if it is this file.
#[cfg(unix)]
pub(crate) fn standard_output(file: &Metadata) -> Option<fs::File> {
    use std::os::fd::AsFd as _;

    let output = fs::File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    (node(&output.metadata().ok()?) == node(file)).then_some(output)
}

#[cfg(not(unix))]
pub(crate) fn standard_output(_: &Metadata) -> Option<fs::File> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_file_is_found_behind_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("there"), b"").unwrap();
        fs::hard_link(at("there"), at("hard")).unwrap();
        symlink("there", at("soft")).unwrap();
        symlink("sub/../new", at("dangling")).unwrap();
        symlink("sub", at("folder")).unwrap();
        let refused = |a: &str, b: &str| {
            let (a, b) = (at(a), at(b));
            refuse_shared(&[NamedFile::read("--in", &a), NamedFile::written("--out", &b)]).is_err()
        };
        for (a, b) in [
            ("there", "there"),
            ("there", "sub/../there"),
            ("there", "hard"),
            ("soft", "./there"),
            ("new", "new"),
            ("new", "./sub/../new"),
            ("new", "dangling"),
            ("sub/new", "folder/new"),
        ] {
            assert!(refused(a, b) && refused(b, a), "{a} and {b}");
        }
        for (a, b) in
            [("there", "new"), ("new", "newer"), ("no/new", "no/newer"), ("new", "sub/new"), ("soft", "dangling")]
        {
            assert!(!refused(a, b) && !refused(b, a), "{a} and {b}");
        }
    }

    #[test]
    fn what_is_read_twice_or_keeps_nothing_may_be_named_twice() {
        let (null, here) = (Path::new("/dev/null"), Path::new("."));
        let shared = |files: &[NamedFile<'_>]| refuse_shared(files).err().map(|UsageError(message)| message);
        assert_eq!(shared(&[NamedFile::written("--a", null), NamedFile::written("--b", null)]), None);
        assert_eq!(shared(&[NamedFile::read("--a", here), NamedFile::read("--b", here)]), None);
        let message =
            shared(&[NamedFile::read("--a", null), NamedFile::read("--b", here), NamedFile::written("--c", here)])
                .unwrap();
        assert_eq!(message, "--b and --c are the same file, .: expected different files");
    }

    #[test]
    fn paths_that_no_file_can_have_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("around", at("around")).unwrap();
        fs::write(at("file"), b"").unwrap();
        assert_eq!(resolved(&at("new/")).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(resolved(&at("no/new")).unwrap_err().kind(), ErrorKind::NotFound);
        for path in [at("around"), at("file/new"), at(&"x".repeat(300)), PathBuf::new()] {
            assert!(resolved(&path).is_err(), "{}", path.display());
        }
        assert_eq!(resolved(&at("new")).unwrap(), fs::canonicalize(folder.path()).unwrap().join("new"));
    }
}
