//! The modules that ship, cut down to a few kernels, as they are or with a fault.

use std::collections::BTreeSet;

use conformance::{Guarded, OpSpec};
use cuda_backend::{AesKernel, CudaConfig, CudaQueue, KernelSource, ModuleText};
use ptx::ast::{FunctionKind, Module};
use sha2::{Digest, Sha256};

/// A module that ships, and the specifications of the op set that it serves.
pub(crate) struct Shipped {
    name: &'static str,
    ptx: &'static str,
    manifest: &'static str,
    pub(crate) specs: fn() -> Vec<OpSpec<CudaQueue>>,
    pub(crate) guarded_specs: fn() -> Vec<OpSpec<Guarded<CudaQueue>>>,
    /// The ways to evaluate keys that it has.
    pub(crate) aes: &'static [AesKernel],
}

macro_rules! shipped {
    ($name:ident, $aes:expr) => {
        Shipped {
            name: stringify!($name),
            ptx: include_str!(concat!("../../../../kernels-ptx/ptx/", stringify!($name), ".ptx")),
            manifest: include_str!(concat!("../../../../kernels-ptx/ptx/", stringify!($name), ".json")),
            specs: conformance::$name::specs,
            guarded_specs: conformance::$name::specs,
            aes: &$aes,
        }
    };
}

pub(crate) const CIRCLE: Shipped = shipped!(circle, [AesKernel::Table]);
pub(crate) const FSS: Shipped = shipped!(fss, AesKernel::ALL);
pub(crate) const LINALG: Shipped = shipped!(linalg, [AesKernel::Table]);

impl Shipped {
    /// The whole module.
    pub(crate) fn parse(&self) -> Module {
        ptx::parse(self.ptx).unwrap()
    }

    /// A queue whose kernels are those of `module`, which is this one with some left out or altered.
    pub(crate) fn open(&self, module: &Module, aes: AesKernel) -> CudaQueue {
        let ptx = ptx::print(module);
        let mut manifest: serde_json::Value = serde_json::from_str(self.manifest).unwrap();
        let digest: String = Sha256::digest(&ptx).iter().map(|byte| format!("{byte:02x}")).collect();
        manifest["sha256"] = digest.into();
        let kernels = manifest["kernels"].as_array_mut().unwrap();
        kernels.retain(|kernel| kernel["name"].as_str().is_some_and(|name| module.function(name).is_some()));
        let text = ModuleText { name: self.name.into(), ptx: ptx.into(), manifest: manifest.to_string().into() };
        let kernels = KernelSource::Texts(vec![text]);
        CudaQueue::open(CudaConfig { kernels, aes, ..CudaConfig::default() }).unwrap()
    }
}

/// `whole` without the kernels that are not among `kernels` and without what only those use. The others stay as they
/// are, with the numbers of their lines.
pub(crate) fn restricted(whole: &Module, kernels: &BTreeSet<String>) -> Module {
    let stays = |kind, name: &str| kind != FunctionKind::Entry || kernels.contains(name);
    let functions = whole.functions.iter().filter(|function| stays(function.kind, &function.name)).cloned().collect();
    let (target, files, globals) = (whole.target.clone(), whole.files.clone(), whole.globals.clone());
    let mut module = Module { target, files, globals, functions, ..*whole };
    ptx::rewrite::drop_unreachable(&mut module);
    module
}
