//! Kernel launches: their builder, replays, and trials of a device.
//!
//! The builder checks each argument against the manifest.

mod builder;
mod trials;

pub use builder::Launch;
pub(crate) use builder::replay;
pub use trials::{launch_canary, launch_programs};
