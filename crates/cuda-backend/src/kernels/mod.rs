//! The kernels: their text, what is known of them, and the loaded modules.

mod info;
mod manifest;
mod modules;
mod source;

pub use info::{ModuleInfo, modules};
pub use manifest::ManifestError;
pub use modules::ModuleError;
pub(crate) use modules::{Kernel, Kernels};
pub use source::{KernelSource, ModuleText};
