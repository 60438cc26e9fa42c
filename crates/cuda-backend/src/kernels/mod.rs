//! The kernels: their text, their properties, and the loaded modules.

mod error;
mod info;
mod kernel;
mod manifest;
mod module;
mod modules;
mod programs;
mod source;
mod text;

pub use error::ModuleError;
pub use info::{ModuleInfo, modules};
pub use kernel::KernelFacts;
pub(crate) use kernel::LoadedKernel;
pub(crate) use manifest::ArgumentKind;
pub use manifest::ManifestError;
pub use module::ModuleFacts;
pub(crate) use modules::Kernels;
pub use modules::ModuleOutcome;
pub use programs::ProgramFacts;
pub(crate) use programs::Programs;
pub use source::KernelSource;
pub use text::ModuleText;
