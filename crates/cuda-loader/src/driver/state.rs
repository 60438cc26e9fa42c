//! The one driver of the process: chosen once, then frozen.

use std::{
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{
    library::{self, OpenedLibrary, Source},
    missing::MissingFunction,
    table::Table,
    unavailable::Unavailable,
    version::DriverVersion,
};
use crate::results::status::Status;

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

/// What was chosen: a driver, or the reason there is none.
pub(crate) struct Chosen {
    /// Its functions; empty without a driver.
    pub(crate) table: Table,
    outcome: Result<Driver, Unavailable>,
    refused: Mutex<Vec<&'static str>>,
}

/// The driver of this process.
#[derive(Clone, Debug)]
pub struct Driver {
    origin: Origin,
    version: DriverVersion,
}

/// Where the driver came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A table given to [`install`].
    Installed,
    /// A library, by the name or path that was opened.
    Library(PathBuf),
}

/// A driver was chosen before, and the choice holds for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CUDA driver of this process has already been chosen")]
pub struct AlreadyChosen(());

/// Makes `table` the driver of this process, in place of a library.
///
/// # Errors
/// [`AlreadyChosen`] once a driver was chosen, or a choice was attempted.
pub fn install(table: Table) -> Result<(), AlreadyChosen> {
    let mut table = Some(table);
    CHOSEN.get_or_init(|| Chosen::adopt(Origin::Installed, table.take().unwrap_or_default()));
    if table.is_none() { Ok(()) } else { Err(AlreadyChosen(())) }
}

/// Chooses the driver that `source` names, unless one was chosen before; returns the choice.
///
/// # Errors
/// The reason why this process has no driver.
pub fn open(source: &Source) -> Result<&'static Driver, Unavailable> {
    CHOSEN.get_or_init(|| Chosen::load(source)).outcome.as_ref().map_err(Clone::clone)
}

/// The driver of this process; the platform's, if none was chosen before.
///
/// # Errors
/// The reason why this process has no driver.
pub fn available() -> Result<&'static Driver, Unavailable> {
    open(&Source::Platform)
}

/// What was chosen; the platform's driver, if nothing was chosen before.
#[inline]
pub(crate) fn chosen() -> &'static Chosen {
    CHOSEN.get_or_init(|| Chosen::load(&Source::Platform))
}

impl Driver {
    /// Where it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The newest CUDA release it supports.
    #[must_use]
    pub fn version(&self) -> DriverVersion {
        self.version
    }

    /// Functions it lacks.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingFunction> {
        chosen().table.absent()
    }

    /// Functions that were called although it lacks them, in the order of the first calls.
    #[must_use]
    pub fn refused(&self) -> Vec<&'static str> {
        chosen().refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Chosen {
    fn load(source: &Source) -> Self {
        match library::load(source) {
            Ok(OpenedLibrary { name, table }) => Self::adopt(Origin::Library(name), table),
            Err(reason) => Self::without(reason),
        }
    }

    fn adopt(origin: Origin, table: Table) -> Self {
        match examine(&origin, &table) {
            Ok(version) => Self { table, outcome: Ok(Driver { origin, version }), refused: Mutex::new(Vec::new()) },
            Err(reason) => Self::without(reason),
        }
    }

    fn without(reason: Unavailable) -> Self {
        Self { table: Table::default(), outcome: Err(reason), refused: Mutex::new(Vec::new()) }
    }

    /// The answer to a call of a missing function.
    #[cold]
    pub(crate) fn lacks(&self, name: &'static str) -> Status {
        if self.outcome.is_err() {
            return Status::STUB_LIBRARY;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if !refused.contains(&name) {
            refused.push(name);
        }
        Status::NOT_SUPPORTED
    }
}

/// Makes sure that `table` is a driver's, and that the driver is not too old.
fn examine(origin: &Origin, table: &Table) -> Result<DriverVersion, Unavailable> {
    let path = || match origin {
        Origin::Installed => PathBuf::from("installed table"),
        Origin::Library(name) => name.clone(),
    };
    let lacking = |function| Unavailable::NotADriver { path: path(), function };
    if table.cuInit.is_none() {
        return Err(lacking("cuInit"));
    }
    let version = table.cuDriverGetVersion.ok_or_else(|| lacking("cuDriverGetVersion"))?;
    let mut found = 0;
    // SAFETY: the function writes one integer through a pointer to one, and needs no initialised driver.
    unsafe { version(&raw mut found) }.ok().map_err(Unavailable::Version)?;
    let found = DriverVersion(found);
    if found < DriverVersion::OLDEST {
        return Err(Unavailable::TooOld { found, oldest: DriverVersion::OLDEST });
    }
    Ok(found)
}
