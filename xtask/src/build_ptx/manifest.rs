//! The file beside each PTX module that tells the host what it holds.

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
    block: [u32; 3],
    min_blocks: u32,
    dynamic_shared: Option<DynamicShared>,
    static_shared: u64,
    barriers: u32,
}

/// One parameter: what the source calls it, and where it lies, in bytes of the parameter block.
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

    /// As [`new`](Self::new), of all kernels of `tree`, of which `record` says how each is launched.
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

    /// What the lints hold the kernels to.
    pub(super) fn table(&self) -> Table {
        table(self.kernels.iter().map(|kernel| (&*kernel.name, kernel.block, kernel.min_blocks, kernel.barriers)))
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

/// Bytes of shared memory with a fixed size that the module gives every kernel, and the kernel itself.
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
    use crate::build_ptx::{canary, differential};

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
