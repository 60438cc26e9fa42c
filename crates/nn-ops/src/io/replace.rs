//! Files that are replaced as a whole.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Makes `bytes` the content of the file `path`: whoever reads it, and whenever the program or the machine stops, finds the old
/// content or the new one, never a part.
///
/// The bytes go to `path.partial` and to the disk, and then that takes the file's name. Of a process that was killed, the partial
/// file may remain; the next call overwrites it. Two at once for one path are not kept apart.
///
/// # Errors
/// What the file system reports; the old file is untouched then.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut partial = path.file_name().map(OsString::from).ok_or(io::ErrorKind::InvalidFilename)?;
    partial.push(".partial");
    let partial = path.with_file_name(partial);
    let written = (|| {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    })();
    if written.is_err() {
        // What is left of it helps nobody; the first fault is the one to report.
        drop(fs::remove_file(&partial));
        return written;
    }
    // A name is kept by its folder. Some systems cannot open one, and then keep it in their own time.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        for content in ["first", "second, longer", ""] {
            replace_file(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        // what a killed process left does not stand in the way
        fs::write(folder.path().join("state.partial"), "half").unwrap();
        replace_file(&path, b"third").unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read_dir(folder.path()).unwrap().count()), (b"third".to_vec(), 1));
        let inside = folder.path().join("none").join("state");
        assert_eq!(replace_file(&inside, b"x").unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::create_dir(folder.path().join("folder")).unwrap();
        replace_file(&folder.path().join("folder"), b"x").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        replace_file(Path::new("/"), b"x").unwrap_err();
    }
}
