//! Memory of secrets: sections of keys, seeds, and copies on devices.

pub(crate) mod kept;
pub(crate) mod section;
pub(crate) mod seed;
pub(crate) mod staging;
