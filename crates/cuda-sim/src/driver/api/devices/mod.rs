//! Initialisation, devices, contexts, and access of devices to each other.

pub(super) mod context;
pub(super) mod device;
pub(super) mod init;
pub(super) mod peer;
