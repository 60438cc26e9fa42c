//! Result codes of the driver, and their meanings.

mod codes;
pub(crate) mod meaning;
pub(crate) mod status;
