//! Kernels: the executor ends on any kernel.
//!
//! Kernels that its checkers accept do not depend on the order of warps.

#[path = "../../../crates/cuda-sim/tests/exec/scrambled.rs"]
mod scrambled;

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    scrambled::check(bytes);
}
