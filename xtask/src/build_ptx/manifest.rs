//! The manifest next to each PTX module, which describes its kernels to the host.

use anyhow::{Context, Result, ensure};
use ptx::{KernelSpec, Table, ast};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    signature::{Kind, Parameter, Signatures},
    table::{DynamicShared, Record},
};

/// `ptx/MODULE.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    module: String,
    target: String,
    ptx_version: String,
    /// Release and code generator; another pair gives other text.
    pub(super) compiler: String,
    /// Of the PTX file.
    sha256: String,
    /// Sorted by name.
    pub(super) kernels: Vec<Kernel>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    pub(super) name: String,
    params: Vec<Param>,
    pub(super) block: [u32; 3],
    pub(super) min_blocks: u32,
    pub(super) dynamic_shared: Option<DynamicShared>,
    pub(super) static_shared: u64,
    pub(super) barriers: u32,
}

/// One parameter: its name in the source, and where it lies, in bytes of the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Param {
    name: String,
    kind: Kind,
    r#type: String,
    offset: u64,
    size: u64,
    align: u64,
}

impl Manifest {
    /// Describes `text`, the finished PTX of `tree`.
    pub(super) fn new(
        module: &str,
        compiler: &str,
        text: &str,
        tree: &ast::Module,
        records: &[&Record],
        signatures: &Signatures,
    ) -> Result<Self> {
        let (major, minor) = tree.version;
        let mut kernels = Vec::new();
        for record in records {
            let function = tree.function(&record.name);
            let function = function.with_context(|| format!("the PTX has no kernel `{}`", record.name))?;
            let declared = signatures.get(&record.name);
            let declared = declared.with_context(|| format!("the source has no kernel `{}`", record.name))?;
            let params = function.param_layout();
            ensure!(
                params.len() == declared.len(),
                "kernel `{}` has {} parameters in the source and {} in the PTX",
                record.name,
                declared.len(),
                params.len()
            );
            let params = params.into_iter().zip(declared.iter().cloned());
            kernels.push(Kernel {
                name: record.name.clone(),
                params: params
                    .map(|(place, Parameter { name, kind, r#type })| Param {
                        name,
                        kind,
                        r#type,
                        offset: place.offset,
                        size: place.size,
                        align: place.align,
                    })
                    .collect(),
                block: record.block,
                min_blocks: record.min_blocks,
                dynamic_shared: record.shared,
                static_shared: static_shared(tree, function),
                barriers: record.barriers,
            });
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            module: module.to_owned(),
            target: tree.target.join(", "),
            ptx_version: format!("{major}.{minor}"),
            compiler: compiler.to_owned(),
            sha256: sha256(text),
            kernels,
        })
    }

    /// As [`new`](Self::new), of all kernels of `tree`; `record` states how each is launched.
    pub(super) fn of_all(
        module: &str,
        compiler: &str,
        text: &str,
        tree: &ast::Module,
        record: fn(&str) -> Record,
        signatures: &Signatures,
    ) -> Result<Self> {
        let records: Vec<_> = tree.entries().map(|(kernel, _)| record(&kernel.name)).collect();
        Self::new(module, compiler, text, tree, &records.iter().collect::<Vec<_>>(), signatures)
    }

    /// The manifest in the committed file's text.
    pub(super) fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("not a manifest")
    }

    /// The parameters that it states.
    #[cfg(test)]
    fn signatures(&self) -> Signatures {
        let parameters = |kernel: &Kernel| kernel.params.iter().cloned().map(Parameter::from).collect();
        self.kernels.iter().map(|kernel| (kernel.name.clone(), parameters(kernel))).collect()
    }

    /// The text of the file.
    pub(super) fn render(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Refuses a PTX text that the manifest does not describe.
    pub(super) fn expect(&self, ptx: &str) -> Result<()> {
        let got = sha256(ptx);
        ensure!(got == self.sha256, "expected PTX with SHA-256 {}, got {got}", self.sha256);
        Ok(())
    }

    /// The parameters that `tree`, the PTX of this manifest, declares differently.
    pub(super) fn parameter_mismatches(&self, tree: &ast::Module) -> Vec<String> {
        self.kernels.iter().flat_map(|kernel| kernel.parameter_mismatches(tree)).collect()
    }

    /// The kernel declarations that the lints check.
    pub(super) fn table(&self) -> Table {
        table(self.kernels.iter().map(|kernel| (&*kernel.name, kernel.block, kernel.min_blocks, kernel.barriers)))
    }
}

impl Kernel {
    fn parameter_mismatches(&self, tree: &ast::Module) -> Vec<String> {
        let Some(function) = tree.function(&self.name) else { return Vec::new() }; // the lints tell of it
        let places = function.param_layout();
        if places.len() != self.params.len() {
            let (stated, found) = (self.params.len(), places.len());
            return vec![format!(
                "kernel `{}` has {stated} parameters in the manifest and {found} in the PTX",
                self.name
            )];
        }
        let pairs = self.params.iter().zip(places);
        let wrong = pairs.filter(|(param, place)| {
            (param.offset, param.size, param.align) != (place.offset, place.size, place.align)
        });
        let finding = |(param, place): (&Param, ast::ParamLayout)| {
            let stated = format!("{} bytes at {}, aligned to {}", param.size, param.offset, param.align);
            let found = format!("{} bytes at {}, aligned to {}", place.size, place.offset, place.align);
            format!(
                "kernel `{}`: parameter `{}` is {stated} in the manifest and {found} in the PTX",
                self.name, param.name
            )
        };
        wrong.map(finding).collect()
    }
}

/// The lints' table of kernels given by name, block, blocks per multiprocessor and barriers.
pub(super) fn table<'a>(kernels: impl Iterator<Item = (&'a str, [u32; 3], u32, u32)>) -> Table {
    let spec = |(name, block, min_blocks, barriers): (&str, _, _, _)| KernelSpec {
        name: name.to_owned(),
        block,
        min_blocks,
        barriers,
    };
    Table { kernels: kernels.map(spec).collect() }
}

/// Bytes of shared memory with a fixed size.
///
/// They are the memory that the module gives every kernel, and the memory of the kernel itself.
fn static_shared(tree: &ast::Module, function: &ast::Function) -> u64 {
    let own = function.body.iter().flat_map(|body| &body.variables);
    let shared = tree.globals.iter().chain(own).filter(|variable| variable.space == ast::Space::Shared);
    shared.map(ast::Variable::bytes).sum()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
impl From<Param> for Parameter {
    fn from(Param { name, kind, r#type, .. }: Param) -> Self {
        Self { name, kind, r#type }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_ptx::trials::{canary, differential};

    #[test]
    fn a_manifest_with_other_parameters_than_the_ptx_is_found() {
        let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n\
                   .visible .entry scale(\n.param .u64 .ptr .align 1 scale_param_0,\n\
                   .param .align 8 .b8 scale_param_1[24],\n.param .u32 scale_param_2\n)\n{\nret;\n}\n";
        let param = |name: &str, offset, size, align| Param {
            name: name.to_owned(),
            kind: Kind::Value,
            r#type: "u64".to_owned(),
            offset,
            size,
            align,
        };
        let params = [param("x", 0, 8, 8), param("sizes", 8, 24, 8), param("len", 32, 4, 4)];
        let mismatches = |params: &[Param]| {
            let kernel = Kernel {
                name: "scale".to_owned(),
                params: params.to_vec(),
                block: [32, 1, 1],
                min_blocks: 1,
                dynamic_shared: None,
                static_shared: 0,
                barriers: 0,
            };
            kernel.parameter_mismatches(&ptx::parse(ptx).unwrap())
        };
        assert_eq!(mismatches(&params), Vec::<String>::new());
        let fewer = "kernel `scale` has 2 parameters in the manifest and 3 in the PTX";
        assert_eq!(mismatches(&params[..2]), [fewer]);
        let [x, _, len] = params;
        let smaller = "kernel `scale`: parameter `sizes` is 16 bytes at 8, aligned to 8 in the manifest and \
                       24 bytes at 8, aligned to 8 in the PTX";
        assert_eq!(mismatches(&[x, param("sizes", 8, 16, 8), len]), [smaller]);
    }

    #[test]
    fn the_committed_manifests_of_trials_describe_the_texts_beside_them() {
        let describe = |module, ptx, json, record| {
            let committed = Manifest::parse(json).unwrap();
            let tree = ptx::parse(ptx).unwrap();
            let signatures = committed.signatures();
            let made = Manifest::of_all(module, &committed.compiler, ptx, &tree, record, &signatures).unwrap();
            assert_eq!(made.render().unwrap(), json, "{module}");
        };
        macro_rules! file {
            ($path:literal) => {
                include_str!(concat!("../../../kernels-ptx/ptx/", $path))
            };
        }
        describe("canary", file!("canary/guarded.ptx"), file!("canary/guarded.json"), canary::record);
        let (ptx, json) = (file!("differential/programs.ptx"), file!("differential/programs.json"));
        describe("differential", ptx, json, differential::record);
    }
}
