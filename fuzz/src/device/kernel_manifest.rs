//! Kernel manifests: an accepted manifest is complete.
//!
//! It names its PTX, a target, and the parameters of each kernel.

// The reader alone: its crate would bring the whole CUDA backend into this build.
#[path = "../../../crates/cuda-backend/src/kernels/manifest.rs"]
#[allow(dead_code, reason = "launches use the rest")]
mod reader;

use self::reader::ModuleManifest;

/// The SHA-256 of the empty text, which is the PTX of every seed.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Checks one input.
pub fn check_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(manifest) = ModuleManifest::read("m", text, "") else { return };
    assert!(text.contains(EMPTY), "a manifest of another PTX");
    assert!(manifest.capability().is_ok() && manifest.target.starts_with("sm_"), "{}", manifest.target);
    assert!(manifest.kernels.len() <= text.matches("params").count(), "kernels without parameters");
    for kernel in manifest.kernels {
        assert!(kernel.parameter_bytes() <= 4096, "{}", kernel.name);
    }
}
