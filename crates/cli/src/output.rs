//! Files that appear complete or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use tempfile::{Builder, NamedTempFile};

use crate::{
    exit::WRITING_OUTPUT,
    files::{folder_of, resolved, standard_output},
};

/// Prints text on standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context(WRITING_OUTPUT)
}

/// A file to be written.
///
/// Whether it can be is found out at once, before there is any work to lose. A regular file takes
/// its name when it is complete, and has none until then, or another one in its folder where the
/// system has no unnamed files: what was there is replaced, not changed, unless the system allows
/// only that. A pipe or a device is written to as it is. Behind a symbolic link, it is the file it
/// points to.
pub(crate) struct OutputFile {
    place: OutputDestination,
    path: PathBuf,
}

/// Where the bytes go.
enum OutputDestination {
    /// To a file of this path.
    Named { at: PathBuf, public: bool },
    /// A file that is open already.
    Open { file: File, is_stdout: bool },
}

impl OutputFile {
    /// A file that will have this path, readable by its owner alone.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        Self::open(path, false)
    }

    /// A file that will have this path, for everybody to read.
    pub(crate) fn begin_public(path: &Path) -> Result<Self> {
        Self::open(path, true)
    }

    fn open(path: &Path, public: bool) -> Result<Self> {
        let place = OutputDestination::find(path, public).with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { place, path: path.to_owned() })
    }

    /// Whether the bytes go to standard output, where nothing else should then be.
    pub(crate) const fn is_stdout(&self) -> bool {
        matches!(self.place, OutputDestination::Open { is_stdout: true, .. })
    }

    /// Writes the bytes. A file that takes its name does so here.
    pub(crate) fn finish(self, bytes: &[u8]) -> Result<()> {
        self.place.write(bytes).with_context(|| format!("writing {}", self.path.display()))
    }
}

impl OutputDestination {
    fn find(path: &Path, public: bool) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(found) => {
                if let Some(file) = standard_output(&found) {
                    // Those who throw the file away may want to read the rest.
                    return Ok(Self::Open { file, is_stdout: path != Path::new("/dev/null") });
                }
                // What may not be written may not be replaced either.
                let file = OpenOptions::new().write(true).open(path)?;
                if !found.is_file() {
                    return Ok(Self::Open { file, is_stdout: false });
                }
            }
            Err(missing) if missing.kind() == ErrorKind::NotFound => {}
            Err(other) => return Err(other),
        }
        let at = resolved(path)?;
        // It is gone again while the work is done, so that nothing is left of a program that is interrupted.
        drop(Incomplete::beside(&at, public)?);
        Ok(Self::Named { at, public })
    }

    fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Open { mut file, .. } => file.write_all(bytes),
            Self::Named { at, public } => {
                let mut file = Incomplete::beside(&at, public)?;
                file.write(bytes)?;
                let Err(refused) = file.name(&at) else { return Ok(()) };
                // A file that is mounted by itself, or another user's in a folder like `/tmp`, cannot be replaced but
                // written.
                let Ok(mut there) = OpenOptions::new().write(true).truncate(true).open(&at) else {
                    return Err(refused);
                };
                there.write_all(bytes)?;
                there.sync_all()
            }
        }
    }
}

/// A file that takes its name when it is complete, and is gone if it does not.
pub(crate) enum Incomplete {
    /// Without a name until then.
    Unnamed(File),
    /// With another name in the same folder, where the system has no unnamed files.
    Renamed(NamedTempFile),
}

impl Incomplete {
    /// An empty file on the file system of `path`.
    pub(crate) fn beside(path: &Path, public: bool) -> io::Result<Self> {
        match unnamed(path, public)? {
            Some(file) => Ok(Self::Unnamed(file)),
            None => temporary(path, public).map(Self::Renamed),
        }
    }

    /// Writes the bytes, down to the disk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match self {
            Self::Unnamed(file) => file,
            Self::Renamed(file) => file.as_file_mut(),
        };
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        match self {
            Self::Unnamed(file) => file,
            Self::Renamed(file) => file.as_file(),
        }
    }

    /// Takes the name `path`, which no file has.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if a file has it.
    pub(crate) fn name_new(self, path: &Path) -> io::Result<File> {
        match self {
            Self::Unnamed(file) => name(&file, path).map(|()| file),
            Self::Renamed(file) => Ok(file.persist_noclobber(path)?),
        }
    }

    /// Takes the name `path`, and the place of the file that has it.
    pub(crate) fn name(self, path: &Path) -> io::Result<File> {
        match self {
            Self::Unnamed(file) => match name(&file, path) {
                // A name that is taken passes to a file only from another name.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    Builder::new().make_in(folder_of(path), |other| name(&file, other))?.persist(path)?;
                    Ok(file)
                }
                named => named.map(|()| file),
            },
            Self::Renamed(file) => Ok(file.persist(path)?),
        }
    }
}

/// Opens an empty file without a name on the file system of `path`.
///
/// `None` if the system does not support such files.
#[cfg(target_os = "linux")]
fn unnamed(path: &Path, public: bool) -> io::Result<Option<File>> {
    use rustix::{
        fs::{Mode, OFlags, open},
        io::Errno,
    };

    // A name is given through `/proc`.
    if !Path::new("/proc/self/fd").is_dir() {
        return Ok(None);
    }
    let mode = Mode::from_raw_mode(if public { 0o644 } else { 0o600 });
    match open(folder_of(path), OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Gives an unnamed file the name `path`.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD, linkat};

    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, source, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: bool) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Creates an empty file next to `path`, which is removed when it is dropped.
fn temporary(path: &Path, public: bool) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    if public {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = public;
    builder.tempfile_in(folder_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let output = OutputFile::begin(&path).unwrap();
        assert_eq!(files(), 0, "nothing would be left of an interrupted program");
        output.finish(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        OutputFile::begin(&path).unwrap().finish(b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), files()), (b"new".to_vec(), 1));
    }

    #[test]
    fn what_cannot_be_written_is_known_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"kept").unwrap();
        for path in [at("no/result"), at("result/"), at("file/result"), at(&"x".repeat(300)), folder.path().to_owned()]
        {
            let error = format!("{:#}", OutputFile::begin(&path).err().unwrap());
            assert!(error.starts_with(&format!("writing {}: ", path.display())), "{error}");
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_goes_away_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let output = OutputFile::begin(&inner.join("result")).unwrap();
        fs::remove_dir(&inner).unwrap();
        assert!(output.finish(b"lost").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_file_that_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), b"old").unwrap();
        for (link, file) in [("there", "sub/file"), ("dangling", "sub/new")] {
            std::os::unix::fs::symlink(file, at(link)).unwrap();
            OutputFile::begin(&at(link)).unwrap().finish(b"new").unwrap();
            assert!(at(link).is_symlink() && !at(file).is_symlink());
            assert_eq!(fs::read(at(file)).unwrap(), b"new");
        }
        assert_eq!(fs::read_dir(at("sub")).unwrap().count(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_stay_what_they_are() {
        OutputFile::begin(Path::new("/dev/null")).unwrap().finish(b"gone").unwrap();
        let full = OutputFile::begin(Path::new("/dev/full")).unwrap();
        assert!(format!("{:#}", full.finish(b"more").unwrap_err()).starts_with("writing /dev/full: No space left"));
        for device in ["/dev/null", "/dev/full"] {
            assert!(!fs::metadata(device).unwrap().is_file());
        }
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_is_public_and_nothing_else() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let opened: [fn(&Path) -> Result<OutputFile>; 2] = [OutputFile::begin, OutputFile::begin_public];
        let readable = opened.map(|open| {
            let path = folder.path().join("result");
            open(&path).unwrap().finish(b"whole").unwrap();
            fs::metadata(&path).unwrap().permissions().mode() & 0o004 != 0
        });
        assert_eq!(readable, [false, true]);
    }
}
