//! The one NCCL of the process: chosen once, then frozen.

use std::{
    ffi::c_void,
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::OnceLock,
};

use super::{Functions, Table, Unavailable, Version};
use crate::driver::{
    library::{self, Source},
    state::Origin,
};

/// Names of NCCL for the platform's loader, in the order they are tried.
const PLATFORM_NAMES: &[&str] = &["libnccl.so.2", "libnccl.so"];

static CHOSEN: OnceLock<Result<Library, Unavailable>> = OnceLock::new();

/// NCCL, as this process uses it.
#[derive(Clone, Debug)]
pub struct Library {
    origin: Origin,
    version: Version,
    functions: Functions,
}

/// A library was chosen before, and the choice holds for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the NCCL of this process has already been chosen")]
pub struct AlreadyChosen(());

/// Makes `table` the NCCL of this process, in place of a library.
///
/// # Errors
/// [`AlreadyChosen`] once a library was chosen, or a choice was attempted.
pub fn install(table: Table) -> Result<(), AlreadyChosen> {
    let mut table = Some(table);
    CHOSEN.get_or_init(|| Library::examine(Origin::Installed, &table.take().unwrap_or_default()));
    if table.is_none() { Ok(()) } else { Err(AlreadyChosen(())) }
}

/// Chooses the library that `source` names, unless one was chosen before; returns the choice.
///
/// # Errors
/// The reason why this process has no NCCL.
pub fn open(source: &Source) -> Result<&'static Library, Unavailable> {
    CHOSEN.get_or_init(|| Library::load(source)).as_ref().map_err(Clone::clone)
}

/// The NCCL of this process; the platform's, if none was chosen before.
///
/// # Errors
/// The reason why this process has none.
pub fn available() -> Result<&'static Library, Unavailable> {
    open(&Source::Platform)
}

impl Library {
    /// Where it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Its release.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its functions.
    #[must_use]
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    fn load(source: &Source) -> Result<Self, Unavailable> {
        match source {
            Source::None => Err(Unavailable::Disabled),
            Source::Path(path) => {
                let opened = library::inspect(path).and_then(|()| table_of(path));
                let table = opened.map_err(|reason| Unavailable::Library { path: path.clone(), reason })?;
                Self::examine(Origin::Library(path.clone()), &table)
            }
            Source::Platform => {
                let mut reasons = Vec::new();
                for name in PLATFORM_NAMES {
                    match table_of(Path::new(name)) {
                        Ok(table) => return Self::examine(Origin::Library(name.into()), &table),
                        Err(reason) => reasons.push(reason),
                    }
                }
                Err(Unavailable::NotFound { names: PLATFORM_NAMES, reasons })
            }
        }
    }

    /// Makes sure that `table` is NCCL's, has all that is needed, and is not too old.
    fn examine(origin: Origin, table: &Table) -> Result<Self, Unavailable> {
        let path = match &origin {
            Origin::Installed => PathBuf::from("installed table"),
            Origin::Library(name) => name.clone(),
        };
        if let Some(version) = table.ncclGetVersion {
            let mut found = 0;
            // SAFETY: the function writes one integer through a pointer to one, and needs nothing before.
            unsafe { version(&raw mut found) }.ok().map_err(Unavailable::Version)?;
            let found = Version(found);
            if found < Version::OLDEST {
                return Err(Unavailable::TooOld { found, oldest: Version::OLDEST });
            }
            let functions = table.complete().map_err(|function| Unavailable::Lacks { path, function })?;
            return Ok(Self { origin, version: found, functions });
        }
        Err(Unavailable::Lacks { path, function: "ncclGetVersion" })
    }
}

fn table_of(name: &Path) -> Result<Table, String> {
    let library = library::load_for_good(name)?;
    let lookup = |symbol: &'static str| {
        // SAFETY: only the address is taken; `from_lookup` gives it the type that NCCL declares.
        unsafe { library.get::<*mut c_void>(symbol) }.ok().and_then(|address| NonNull::new(*address))
    };
    // SAFETY: a library that exports a function of NCCL under its name exports that function, and is never closed.
    Ok(unsafe { Table::from_lookup(lookup) })
}
