//! The device's side of a sample: entries around the functions of its source.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::sample::{BLOCK, Cooperation, KernelSample, SampleKernel};
use crate::build_ptx::{CompiledSample, DeviceKernel, SampleCompiler};

/// Where the crate for the device is written.
const FOLDER: &str = "target/kernels/device";

/// The root of the crate, without the entries. `DEV` is the path of the device library.
///
/// The functions of the source find the device library's under `crate`, as they find the host's in
/// the twin.
const ROOT: &str = r#"//! Entries of a sample, by `cargo xtask kernels`.
#![no_std]
#![allow(internal_features, missing_docs, unused)]
#![feature(abi_ptx, asm_experimental_arch, core_float_math, link_llvm_intrinsics)]

#[path = DEV]
mod dev;
mod kernel;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use dev::{
    idx,
    memory::smem,
    numeric::{functions, math},
    sync,
};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
"#;

/// An entry whose threads work alone.
const ALONE: &str = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn SYMBOL(from: *const u32, to: *mut u32, len: u32) {
    let i = idx::global_id();
    if i < len {
        kernel::FUNCTION(i, len, &|at: u32| *from.add(at as usize), &mut |at: u32, word: u32| {
            *to.add(at as usize) = word;
        });
    }
}
"#;

/// An entry whose blocks combine their terms in shared memory.
const BLOCKS: &str = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn SYMBOL(from: *const u32, to: *mut u32, len: u32) {
    const TERMS: smem::Region<u32> = smem::Layout::new().array(BLOCK);
    let (i, tid) = (idx::global_id(), idx::tid_x());
    let terms = TERMS.slice();
    let mut term = kernel::NEUTRAL;
    if i < len {
        term = kernel::term(i, len, &|at: u32| *from.add(at as usize));
    }
    terms.set(tid, term);
    sync::block_sync();
    let mut half = BLOCK / 2;
    while half > 0 {
        if tid < half {
            terms.set(tid, kernel::combine(terms.get(tid), terms.get(tid + half)));
        }
        sync::block_sync();
        half /= 2;
    }
    if tid == 0 {
        RESULT;
    }
}
"#;

/// An entry whose threads count in bins.
const HISTOGRAM: &str = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn SYMBOL(from: *const u32, to: *mut u32, len: u32) {
    let i = idx::global_id();
    if i < len {
        let term = kernel::term(i, len, &|at: u32| *from.add(at as usize));
        AtomicU32::from_ptr(to.add(kernel::place(term) as usize)).fetch_add(1, Relaxed);
    }
}
"#;

/// The compiler of samples for the device.
///
/// It builds where `kernels-ptx` is built, so that the core library is compiled once for both.
pub(super) fn compiler(root: &Path) -> Result<SampleCompiler> {
    let folder = root.join(FOLDER);
    let built = root.join("kernels-ptx/target").display().to_string();
    let settings = folder.join(".cargo/config.toml");
    fs::create_dir_all(folder.join(".cargo")).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(&settings, format!("[build]\ntarget-dir = {built:?}\n"))
        .with_context(|| format!("cannot write {}", settings.display()))?;
    SampleCompiler::new(root, folder)
}

/// Compiles a sample for the device.
pub(super) fn compile(compiler: &SampleCompiler, root: &Path, sample: &KernelSample) -> Result<CompiledSample> {
    let library = root.join("kernels-ptx/src/dev/mod.rs").display().to_string();
    let mut text = ROOT.replace("DEV", &format!("{library:?}"));
    for kernel in &sample.kernels {
        text.push_str(&entry(&sample.symbol(kernel), kernel));
    }
    let device = |kernel: &SampleKernel| DeviceKernel {
        name: sample.symbol(kernel),
        block: BLOCK,
        dynamic_shared: kernel.dynamic_shared(),
    };
    let kernels: Vec<DeviceKernel> = sample.kernels.iter().map(device).collect();
    compiler.build(&sample.module(), &[("lib.rs", text), ("kernel.rs", sample.source())], &kernels)
}

/// The entry of a kernel.
fn entry(symbol: &str, kernel: &SampleKernel) -> String {
    let form = match kernel.cooperation {
        Cooperation::Alone => ALONE.replace("FUNCTION", kernel.function),
        Cooperation::Blocks => BLOCKS.replace("RESULT", "*to.add(idx::bid_x() as usize) = terms.get(0)"),
        Cooperation::Atomic(method) => {
            BLOCKS.replace("RESULT", &format!("AtomicU32::from_ptr(to).{method}(terms.get(0), Relaxed)"))
        }
        Cooperation::Histogram => HISTOGRAM.to_owned(),
    };
    form.replace("SYMBOL", symbol).replace("BLOCK", &BLOCK.to_string())
}

#[cfg(test)]
mod tests {
    use super::{super::families::FAMILIES, *};

    #[test]
    fn entries_parse_and_have_the_names_of_the_launches() {
        syn::parse_file(&ROOT.replace("DEV", "\"dev/mod.rs\"")).unwrap();
        for family in FAMILIES {
            for index in 0..10 {
                let sample = family.sample(2, index).unwrap();
                for kernel in &sample.kernels {
                    let text = entry(&sample.symbol(kernel), kernel);
                    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                    let syn::Item::Fn(entry) = &file.items[0] else { panic!("{text}") };
                    assert_eq!(entry.sig.ident, sample.symbol(kernel));
                    for place in ["SYMBOL", "FUNCTION", "RESULT", "BLOCK"] {
                        assert!(!text.contains(place), "{text}");
                    }
                }
            }
        }
    }
}
