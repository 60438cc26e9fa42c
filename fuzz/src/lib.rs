//! Fuzz targets for every reader of bytes from outside.
//!
//! Each module checks one reader; the program of the same name in `fuzz_targets` passes libFuzzer's
//! inputs to it. One library holds all of them, so that generic code is compiled once and not once
//! per program.
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
