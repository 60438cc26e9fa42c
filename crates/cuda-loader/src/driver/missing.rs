//! Functions called here that a driver lacks.

use std::fmt;

/// A function that the driver lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingFunction {
    /// Its name.
    pub name: &'static str,
    /// The CUDA release that introduced it.
    ///
    /// `None` if that is not newer than [`DriverVersion::OLDEST`](crate::DriverVersion::OLDEST).
    pub since: Option<&'static str>,
}

impl MissingFunction {
    pub(crate) fn new(name: &'static str, since: Option<&'static str>) -> Self {
        Self { name, since }
    }
}

impl fmt::Display for MissingFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.since.map_or(Ok(()), |release| write!(f, " (needs CUDA {release} or newer)"))
    }
}
