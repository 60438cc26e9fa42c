//! Readers of kernels, driver libraries and simulated machines.

pub mod elf_file;
pub mod executor;
pub mod kernel_manifest;
pub mod machine;
pub mod ptx_text;
