//! Memory of secrets: sections of keys, seeds, sums with masks, and copies on devices.

pub(crate) mod kept;
pub(crate) mod masking;
pub(crate) mod section;
pub(crate) mod seed;
pub(crate) mod staging;
