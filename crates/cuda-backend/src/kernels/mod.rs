//! The kernels: their text, what is known about them, and the loaded modules.

mod error;
mod info;
mod kernel;
mod manifest;
mod modules;
mod source;

pub use error::ModuleError;
pub use info::{ModuleInfo, modules};
pub(crate) use kernel::Kernel;
pub use kernel::KernelFacts;
pub(crate) use manifest::Kind;
pub use manifest::ManifestError;
pub(crate) use modules::Kernels;
pub use modules::{ModuleFacts, ModuleOutcome};
pub use source::{KernelSource, ModuleText};
