//! Files that appear complete or not at all.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use tempfile::{Builder, NamedTempFile};

/// A file to be written.
///
/// It is opened at once under another name beside its path, so that a folder that cannot be written to is noticed
/// before keys are used up, and takes its own name when it is complete.
pub(crate) struct Output {
    file: NamedTempFile,
    path: PathBuf,
}

impl Output {
    /// Opens a file that will have this path, readable by its owner alone.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        Self::open(path, &mut Builder::new())
    }

    /// Opens a file that will have this path, for everybody to read.
    pub(crate) fn begin_public(path: &Path) -> Result<Self> {
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        Self::open(path, &mut builder)
    }

    fn open(path: &Path, builder: &mut Builder<'_, '_>) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = builder.tempfile_in(folder).with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Writes the bytes and gives the file its name.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> Result<()> {
        let said = || format!("writing {}", self.path.display());
        self.file.write_all(bytes).and_then(|()| self.file.as_file().sync_all()).with_context(said)?;
        self.file.persist(&self.path).map(drop).with_context(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        let output = Output::begin(&path).unwrap();
        assert!(!path.exists());
        output.finish(b"whole").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        drop(Output::begin(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(Output::begin(&folder.path().join("no/result")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_is_public_and_nothing_else() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let opened: [fn(&Path) -> Result<Output>; 2] = [Output::begin, Output::begin_public];
        let readable = opened.map(|open| {
            let path = folder.path().join("result");
            open(&path).unwrap().finish(b"whole").unwrap();
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o004 != 0
        });
        assert_eq!(readable, [false, true]);
    }
}
