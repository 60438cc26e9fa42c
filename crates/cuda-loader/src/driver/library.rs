//! The driver's library on this machine.

use std::{
    ffi::c_void,
    path::{Path, PathBuf},
    ptr::NonNull,
    str::FromStr,
};

use libloading::Library;

use super::{elf, table::Table, unavailable::Unavailable};

/// Names of the driver library for the platform's loader, in the order they are tried.
const PLATFORM_NAMES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Where to look for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Where the platform's loader finds it.
    Platform,
    /// In this library file and nowhere else.
    Path(PathBuf),
    /// Nowhere: work as on a machine without a driver.
    None,
}

/// A text that does not name a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `none` or the path of a driver library, got an empty text")]
pub struct ParseSourceError(());

impl FromStr for Source {
    type Err = ParseSourceError;

    /// `none`, or the path of a library.
    fn from_str(text: &str) -> Result<Self, ParseSourceError> {
        match text {
            "" => Err(ParseSourceError(())),
            "none" => Ok(Self::None),
            path => Ok(Self::Path(path.into())),
        }
    }
}

/// An open library, never closed, and the functions it has.
pub(crate) struct OpenedLibrary {
    pub(crate) name: PathBuf,
    pub(crate) table: Table,
}

/// Opens the library that `source` names.
pub(crate) fn load(source: &Source) -> Result<OpenedLibrary, Unavailable> {
    match source {
        Source::None => Err(Unavailable::Disabled),
        Source::Path(path) => {
            let opened = inspect(path).and_then(|()| open(path));
            opened.map_err(|reason| Unavailable::Library { path: path.clone(), reason })
        }
        Source::Platform => {
            let mut reasons = Vec::new();
            for name in PLATFORM_NAMES {
                match open(Path::new(name)) {
                    Ok(opened) => return Ok(opened),
                    Err(reason) => reasons.push(reason),
                }
            }
            Err(Unavailable::NotFound { names: PLATFORM_NAMES, reasons })
        }
    }
}

/// Rejects a file that the platform's loader would map but could not read.
///
/// A file that is not a library is rejected as well.
pub(crate) fn inspect(path: &Path) -> Result<(), String> {
    // A device such as `/dev/zero` has no end.
    if !std::fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    if cfg!(target_os = "linux") {
        elf::check(&bytes).map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// Loads a library for the life of the process.
///
/// Its functions are called until the end.
pub(crate) fn load_for_good(name: &Path) -> Result<&'static Library, String> {
    // SAFETY: loading runs the library's initialisers; the library is the system's own or one the user named as such.
    let library = unsafe { Library::new(name) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library)))
}

fn open(name: &Path) -> Result<OpenedLibrary, String> {
    let library = load_for_good(name)?;
    let lookup = |symbol: &'static str| {
        // SAFETY: only the address is taken; `from_lookup` gives it the type that the driver API declares.
        unsafe { library.get::<*mut c_void>(symbol) }.ok().and_then(|address| NonNull::new(*address))
    };
    // SAFETY: a library that exports a function of the driver API under its name exports that function, and is never
    // closed.
    let table = unsafe { Table::from_lookup(lookup) };
    Ok(OpenedLibrary { name: name.to_path_buf(), table })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_none_or_a_path() {
        assert_eq!("none".parse(), Ok(Source::None));
        assert_eq!("/opt/libcuda.so".parse(), Ok(Source::Path("/opt/libcuda.so".into())));
        assert!("".parse::<Source>().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_library() {
        assert_eq!(inspect(Path::new("/dev/zero")), Err("not a regular file".to_owned()));
    }
}
