//! Fuzz targets for every reader of bytes from outside.
//!
//! Each module checks one reader; the program of the same name below `fuzz_targets` passes
//! libFuzzer's inputs to it. One library holds all of them, so that generic code is compiled once
//! and not once per program.
#![forbid(unsafe_code)]

mod device;
mod private;
mod queue;
pub mod stark_file;
pub mod stark_proof;
mod tensors;

pub use device::{elf_file, executor, kernel_manifest, machine, ptx_text};
pub use private::{descriptor, handshake, key_bundle, key_folder, matrix_triple, model_file, session};
pub use tensors::{checkpoint, npy, safetensors};

/// The program of one target.
///
/// libFuzzer calls `check_input` of its module under `cfg(fuzzing)`, which `cargo fuzz` sets.
/// Without it the program only compiles.
#[macro_export]
macro_rules! target {
    ($reader:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$reader::check_input(data));
        #[cfg(not(fuzzing))]
        fn main() {
            let _: fn(&[u8]) = $crate::$reader::check_input;
        }
    };
}
