//! A copy of the workspace, in which mutants are put.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use walkdir::WalkDir;
use xshell::{Shell, cmd};

/// The copy, and where it is built, below the target folder.
const TREE: &str = "mutants/tree";
const BUILD: &str = "mutants/build";

/// The copy of the files that git lists, tracked or not ignored.
#[derive(Clone, Debug)]
pub(super) struct WorkingCopy {
    pub(super) root: PathBuf,
    /// Its own target folder.
    pub(super) target: PathBuf,
}

impl WorkingCopy {
    /// Makes the copy below `target`, or updates it.
    ///
    /// Equal files keep their times, so that cargo compiles only changed files.
    pub(super) fn copy(sh: &Shell, target: &Path, rewritten: &BTreeSet<String>) -> Result<Self> {
        let from = sh.current_dir();
        let tree = Self { root: target.join(TREE), target: target.join(BUILD) };
        let list = cmd!(sh, "git ls-files -z --cached --others --exclude-standard").quiet().read()?;
        let files: BTreeSet<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
        fs::create_dir_all(&tree.root).with_context(|| format!("cannot create {}", tree.root.display()))?;
        tree.remove_others(&files)?;
        for path in files.into_iter().filter(|path| !rewritten.contains(*path)) {
            // A listed file may be deleted in the working tree.
            if let Ok(metadata) = fs::symlink_metadata(from.join(path)) {
                tree.copy_file(&from.join(path), path, metadata.is_symlink())?;
            }
        }
        Ok(tree)
    }

    /// Writes a file, unless it has the text.
    pub(super) fn write(&self, path: &str, text: &[u8]) -> Result<()> {
        let to = self.root.join(path);
        if fs::read(&to).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))
    }

    fn copy_file(&self, from: &Path, path: &str, is_link: bool) -> Result<()> {
        let text = |error: &str| format!("{error} {}", from.display());
        if !is_link {
            self.write(path, &fs::read(from).with_context(|| text("cannot read"))?)?;
            // Scripts stay executable.
            let permissions = fs::metadata(from).with_context(|| text("cannot read"))?.permissions();
            return fs::set_permissions(self.root.join(path), permissions).with_context(|| text("cannot copy"));
        }
        let (to, target) = (self.root.join(path), fs::read_link(from).with_context(|| text("cannot read"))?);
        if fs::read_link(&to).is_ok_and(|old| old == target) {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        std::os::unix::fs::symlink(&target, &to).with_context(|| text("cannot copy"))
    }

    /// Removes files of an older copy that `files` does not list.
    fn remove_others(&self, files: &BTreeSet<&str>) -> Result<()> {
        for entry in WalkDir::new(&self.root) {
            let entry = entry.context("cannot list the copy of the workspace")?;
            let path = entry.path().strip_prefix(&self.root)?.to_string_lossy().replace('\\', "/");
            if !entry.file_type().is_dir() && !files.contains(path.as_str()) {
                fs::remove_file(entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_keep_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let tree = WorkingCopy { root: folder.path().to_owned(), target: folder.path().join("target") };
        tree.write("a/b", b"1").unwrap();
        let time = |path: &str| fs::metadata(folder.path().join(path)).unwrap().modified().unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(folder.path().join("a/b")).unwrap().set_modified(old).unwrap();
        tree.write("a/b", b"1").unwrap();
        assert_eq!(time("a/b"), old);
        tree.write("a/b", b"2").unwrap();
        assert_ne!(time("a/b"), old);
    }

    #[test]
    fn files_that_are_not_listed_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = WorkingCopy { root: folder.path().to_owned(), target: folder.path().join("target") };
        tree.write("kept", b"1").unwrap();
        tree.write("old/file", b"1").unwrap();
        tree.remove_others(&BTreeSet::from(["kept"])).unwrap();
        assert!(folder.path().join("kept").is_file() && !folder.path().join("old/file").exists());
    }
}
