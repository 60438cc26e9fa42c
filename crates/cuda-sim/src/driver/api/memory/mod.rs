//! Memory of devices and of the host: allocation, copies, fills.

pub(super) mod allocation;
pub(super) mod copy;
pub(super) mod fill;
pub(super) mod host;
pub(super) mod pointer;
pub(super) mod pool;
