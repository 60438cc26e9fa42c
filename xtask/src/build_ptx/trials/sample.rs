//! Samples of the families of kernels, compiled as `kernels-ptx` is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use ptx::{
    lint::{self, Lint},
    rewrite,
    uniform::Collective,
};

use super::super::{
    committed_compiler,
    compiler::{Compiler, FLAGS, NONE_FOUND},
    manifest::{self, Manifest},
    ptxas, signature,
    table::{DynamicShared, Record},
};

/// The path of `core-types` in the manifest of `kernels-ptx`.
const CORE_TYPES: &str = "\"../crates/core-types\"";

/// A kernel of a sample.
///
/// It takes words to read, words to write, and the number of its threads.
#[derive(Clone, Debug)]
pub(crate) struct DeviceKernel {
    pub(crate) name: String,
    /// Threads of a block.
    pub(crate) block: u32,
    /// Bytes of a block.
    pub(crate) dynamic_shared: u32,
}

/// The text of a sample, and its checks that need no device.
#[derive(Clone, Debug)]
pub(crate) struct CompiledSample {
    pub(crate) ptx: String,
    /// The manifest, as JSON.
    pub(crate) manifest: String,
    /// Findings of the lints.
    pub(crate) findings: Vec<String>,
    /// Instructions of all kernels.
    pub(crate) instructions: usize,
    /// Shared memory of a block in bytes.
    ///
    /// It is the sum of the most static and the most dynamic memory of any kernel.
    pub(crate) shared: u64,
}

/// A crate for the device, which holds one sample at a time.
#[derive(Clone, Debug)]
pub(crate) struct SampleCompiler {
    compiler: Compiler,
    folder: PathBuf,
}

impl SampleCompiler {
    /// A crate in `folder` with the manifest of `kernels-ptx`, and a compiler of this machine.
    ///
    /// The compiler is the one that made the committed kernels, if it is there.
    pub(crate) fn new(root: &Path, folder: PathBuf) -> Result<Self> {
        let committed = committed_compiler(root);
        let candidates = Compiler::candidates()?;
        let matching = candidates.iter().find(|compiler| Some(&compiler.version) == committed.as_ref());
        let compiler = matching.or(candidates.first()).context(NONE_FOUND)?.clone();
        let kernels = root.join("kernels-ptx");
        let read = |file: &str| {
            let path = kernels.join(file);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let manifest = read("Cargo.toml")?;
        ensure!(manifest.contains(CORE_TYPES), "expected a dependency at {CORE_TYPES} in kernels-ptx/Cargo.toml");
        let core_types = format!("{:?}", root.join("crates/core-types").display().to_string());
        fs::create_dir_all(folder.join("src")).with_context(|| format!("cannot create {}", folder.display()))?;
        for (file, text) in
            [("Cargo.toml", manifest.replace(CORE_TYPES, &core_types)), ("Cargo.lock", read("Cargo.lock")?)]
        {
            let path = folder.join(file);
            // A manifest with another time would have everything compiled again.
            if fs::read_to_string(&path).is_ok_and(|old| old == text) {
                continue;
            }
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Self { compiler, folder })
    }

    /// Release and code generator of the compiler.
    pub(crate) fn version(&self) -> &str {
        &self.compiler.version
    }

    /// Compiles `files`, paths below `src` with their texts, into the module `name` of `kernels`.
    pub(crate) fn build(
        &self,
        name: &str,
        files: &[(&str, String)],
        kernels: &[DeviceKernel],
    ) -> Result<CompiledSample> {
        for (file, text) in files {
            let path = self.folder.join("src").join(file);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let raw = self.compiler.build_crate(&self.folder, None, &FLAGS, &[])?;
        finish(name, &self.compiler.version, &raw, kernels)
    }
}

/// Inserts launch bounds into the compiler's text, describes it, and runs the lints on it.
fn finish(name: &str, compiler: &str, raw: &str, kernels: &[DeviceKernel]) -> Result<CompiledSample> {
    let mut tree = ptx::parse(raw).context("the compiler's PTX")?;
    let records = kernels.iter().map(|kernel| record(&tree, kernel)).collect::<Result<Vec<_>>>()?;
    let specs = records.iter().map(|record| (&*record.name, record.block, record.min_blocks, record.barriers));
    let table = manifest::table(specs);
    rewrite::prepare(&mut tree, &table)?;
    let ptx = ptx::print(&tree);

    let parameters = "(from: *const u32, to: *mut u32, len: u32) {}";
    let declared = kernels.iter().map(|kernel| format!("extern \"ptx-kernel\" fn {}{parameters}\n", kernel.name));
    let signatures = signature::read(&declared.collect::<String>())?;
    let described = Manifest::new(name, compiler, &ptx, &tree, &records.iter().collect::<Vec<_>>(), &signatures)?;

    // Findings have the lines of the printed text.
    let printed = ptx::parse(&ptx).context("the finished PTX")?;
    let findings = lint::check(&printed, &table);
    // Products of words are of indices, not of a field.
    let findings = findings.iter().filter(|finding| finding.lint != Lint::WideProduct).map(ToString::to_string);
    let mismatches = described.parameter_mismatches(&printed);
    let fixed = described.kernels.iter().map(|kernel| kernel.static_shared).max().unwrap_or(0);
    let dynamic = kernels.iter().map(|kernel| u64::from(kernel.dynamic_shared)).max().unwrap_or(0);
    Ok(CompiledSample {
        findings: findings.chain(mismatches).collect(),
        instructions: tree.entries().map(|(_, body)| body.instructions.len()).sum(),
        shared: fixed + dynamic,
        manifest: described.render()?,
        ptx,
    })
}

/// How a kernel is launched.
///
/// Its barriers are counted, since the compiler may unroll loops around them.
fn record(tree: &ptx::ast::Module, kernel: &DeviceKernel) -> Result<Record> {
    let entry = tree.entries().find(|(function, _)| *function.name == *kernel.name);
    let (_, body) = entry.with_context(|| format!("the PTX has no kernel `{}`", kernel.name))?;
    let is_barrier = |instruction: &&ptx::ast::Instruction| {
        matches!(Collective::of(instruction), Some(Collective::Block | Collective::Warps))
    };
    Ok(Record {
        name: kernel.name.clone(),
        block: [kernel.block, 1, 1],
        min_blocks: 1,
        shared: (kernel.dynamic_shared > 0).then_some(DynamicShared::Bytes(kernel.dynamic_shared)),
        barriers: body.instructions.iter().filter(is_barrier).count() as u32,
    })
}

/// NVIDIA's assembler.
#[derive(Clone, Debug)]
pub(crate) struct Assembler {
    ptxas: PathBuf,
    version: String,
}

/// The assembler's figures for a sample: the most of any kernel on any architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assembled {
    /// Registers of a thread.
    pub(crate) registers: u32,
    /// Bytes of a thread that are spilled.
    pub(crate) spill_bytes: u32,
}

impl Assembler {
    /// The assembler of this machine, if there is one.
    pub(crate) fn find(root: &Path) -> Result<Option<Self>> {
        let Some(ptxas) = ptxas::find(root, "ptxas") else { return Ok(None) };
        let version = ptxas::version(&ptxas)?;
        Ok(Some(Self { ptxas, version }))
    }

    /// Its name and the architectures that it assembles for.
    pub(crate) fn describe(&self) -> String {
        format!("ptxas {}, {}", self.version, ptxas::ARCHITECTURES.join(" "))
    }

    /// Assembles a file for every architecture.
    ///
    /// # Errors
    /// If the assembler refuses the file.
    pub(crate) fn assemble(&self, ptx: &Path) -> Result<Assembled> {
        let mut most = Assembled::default();
        for architecture in ptxas::ARCHITECTURES {
            for usage in ptxas::assemble(&self.ptxas, ptx, architecture, Path::new("/dev/null"))? {
                most.registers = most.registers.max(usage.registers);
                most.spill_bytes = most.spill_bytes.max(usage.spill_bytes);
            }
        }
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dyn_smem[];\n\
        .visible .entry sample_a(\n.param .u64 .ptr .align 1 sample_a_param_0,\n\
        .param .u64 .ptr .align 1 sample_a_param_1,\n.param .u32 sample_a_param_2\n)\n\
        {\n.reg .b32 %r<2>;\nbar.sync 0;\nbar.sync 0;\nret;\n}\n";

    fn kernel(name: &str) -> DeviceKernel {
        DeviceKernel { name: name.to_owned(), block: 128, dynamic_shared: 512 }
    }

    #[test]
    fn a_compiled_text_becomes_a_module_with_bounds_and_a_manifest() {
        let sample = finish("sample", "some compiler", RAW, &[kernel("sample_a")]).unwrap();
        assert_eq!(sample.findings, Vec::<String>::new());
        assert!(sample.ptx.contains(".maxntid 128, 1, 1"), "{}", sample.ptx);
        assert_eq!((sample.instructions, sample.shared), (3, 512));
        let manifest: serde_json::Value = serde_json::from_str(&sample.manifest).unwrap();
        assert_eq!(manifest["kernels"][0]["barriers"], 2);
        assert_eq!(manifest["kernels"][0]["params"][1]["kind"], "write");
    }

    #[test]
    fn a_missing_kernel_is_refused_and_a_trap_found() {
        let refused = finish("sample", "some compiler", RAW, &[kernel("sample_b")]).unwrap_err().to_string();
        assert_eq!(refused, "the PTX has no kernel `sample_b`");
        let trapping = RAW.replace("ret;", "trap;\nret;");
        let findings = finish("sample", "some compiler", &trapping, &[kernel("sample_a")]).unwrap().findings;
        assert!(findings.iter().any(|finding| finding.contains("trap")), "{findings:?}");
    }
}
