//! CUDA releases as numbers.

use std::fmt;

/// A CUDA release in the driver API's encoding.
///
/// The value is 1000 for each major and 10 for each minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion(pub i32);

impl DriverVersion {
    /// The oldest driver that this crate works with: the release whose functions it binds.
    pub const OLDEST: Self = Self(11_040);
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}
