//! Kernels from bytes: the executor neither panics nor runs on, and a kernel that its checkers let pass leaves the same
//! memory in every order of blocks and warps, with checkers and without.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/cuda-sim/tests/exec/scrambled.rs"]
mod scrambled;

fuzz_target!(|bytes: &[u8]| {
    scrambled::check(bytes);
});
