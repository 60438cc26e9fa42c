//! Fuzz targets for every reader of bytes from outside.
//!
//! Each module checks one reader; the program of the same name in `fuzz_targets` passes libFuzzer's inputs to it. One library
//! holds all of them, so that generic code is compiled once and not once per program.
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod descriptor;
pub mod elf_file;
pub mod executor;
pub mod handshake;
pub mod kernel_manifest;
pub mod key_bundle;
pub mod key_folder;
pub mod machine;
pub mod matrix_triple;
pub mod npy;
pub mod ptx_text;
mod queue;
pub mod safetensors;
mod script;
pub mod session;
pub mod stark_file;
pub mod stark_proof;
