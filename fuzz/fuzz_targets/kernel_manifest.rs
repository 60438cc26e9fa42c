//! No text makes the reader of kernel manifests panic, and what it accepts says of each kernel what a launch needs.
#![no_main]

use cuda_backend::{KernelSource, ModuleText, modules};
use libfuzzer_sys::fuzz_target;

/// The SHA-256 of the empty text, which the seeds state for their PTX.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fuzz_target!(|data: &[u8]| {
    let Ok(manifest) = std::str::from_utf8(data) else { return };
    let text = ModuleText { name: "m".into(), ptx: "".into(), manifest: manifest.to_owned().into() };
    let Ok(read) = modules(&KernelSource::Texts(vec![text])) else { return };
    assert!(manifest.contains(EMPTY), "a manifest of another PTX");
    for module in read {
        assert_eq!(module.name, "m");
        assert!(module.target.starts_with("sm_"), "{}", module.target);
        assert!(module.kernels <= manifest.matches("params").count(), "kernels without parameters");
    }
});
