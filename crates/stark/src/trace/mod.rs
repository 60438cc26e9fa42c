//! Trace generation on the device.

pub(crate) mod generate;
pub(crate) mod inputs;
