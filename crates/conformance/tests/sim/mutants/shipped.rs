//! The modules that ship, cut down to a few kernels, as they are or with a fault.

use std::collections::BTreeSet;

use conformance::OpSpec;
use cuda_backend::{AesKernel, AirKernel, CudaConfig, CudaQueue, KernelSource, ModuleText};
use ptx::ast::{FunctionKind, Module};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The modules that ship for an op set, as one, and its specifications.
pub(super) struct Shipped {
    pub(super) name: &'static str,
    /// PTX and manifest of each.
    texts: &'static [(&'static str, &'static str)],
    /// How the names of the kernels begin that are altered: the others only take part in specifications.
    begins: &'static str,
    pub(super) specs: fn() -> Vec<OpSpec>,
    /// The ways to evaluate keys that it has.
    pub(super) aes: &'static [AesKernel],
}

macro_rules! shipped {
    ($name:ident, [$($module:literal),*], $specs:expr, $aes:expr) => {
        Shipped {
            name: stringify!($name),
            texts: &[$((
                include_str!(concat!("../../../../../kernels-ptx/ptx/", $module, ".ptx")),
                include_str!(concat!("../../../../../kernels-ptx/ptx/", $module, ".json")),
            )),*],
            begins: "",
            specs: $specs,
            aes: &$aes,
        }
    };
}

pub(super) const AIR: Shipped = shipped!(air, ["air"], conformance::air::specs, [AesKernel::Table]);
pub(super) const ATTENTION: Shipped = shipped!(attention, ["linalg_attention"], attention_specs, [AesKernel::Table]);
pub(super) const CIRCLE: Shipped = shipped!(circle, ["circle"], conformance::circle::specs, [AesKernel::Table]);
pub(super) const CHANNEL: Shipped = shipped!(channel, ["channel"], conformance::channel::specs, [AesKernel::Table]);
pub(super) const CORRECTION: Shipped =
    shipped!(correction, ["correction"], conformance::correction::specs, [AesKernel::Table]);
pub(super) const DEEP: Shipped = shipped!(deep, ["deep"], deep_specs, [AesKernel::Table]);
pub(super) const FACTOR: Shipped = shipped!(factor, ["factor"], factor_specs, [AesKernel::Table]);
pub(super) const FSS: Shipped = shipped!(fss, ["fss", "fss_bitsliced"], conformance::fss::specs, AesKernel::ALL);
pub(super) const LINALG: Shipped = shipped!(
    linalg,
    ["linalg_elementwise", "linalg_gemm", "linalg_gemm_mma", "linalg_norm", "linalg_softmax"],
    linalg_specs,
    [AesKernel::Table]
);
pub(super) const MERKLE: Shipped = shipped!(merkle, ["merkle"], conformance::merkle::specs, [AesKernel::Table]);
pub(super) const OPTIM: Shipped = shipped!(optim, ["optim"], optim_specs, [AesKernel::Table]);
pub(super) const OPEN: Shipped = shipped!(open, ["open"], open_specs, [AesKernel::Table]);
pub(super) const RECURRENT: Shipped =
    shipped!(recurrent, ["recurrent", "recurrent_resident"], recurrent_specs, [AesKernel::Table]);
/// What works in place is compared with what does not, which is of the other module.
pub(super) const TENSOR: Shipped = Shipped {
    begins: "tensor_",
    ..shipped!(tensor, ["tensor", "linalg_elementwise"], conformance::tensor::specs, [AesKernel::Table])
};

/// The specifications of the two passes of attention.
///
/// Cases of plans are left out: they launch kernels of other modules too.
fn attention_specs() -> Vec<OpSpec> {
    let passes = ["linalg.attention", "linalg.attention_backward"];
    conformance::linalg::specs().into_iter().filter(|spec| passes.contains(&spec.op)).collect()
}

/// The specifications of all other ops of linear algebra.
fn linalg_specs() -> Vec<OpSpec> {
    conformance::linalg::specs().into_iter().filter(|spec| !spec.op.starts_with("linalg.attention")).collect()
}

/// The specifications of single ops of the set, which launch no product.
fn factor_specs() -> Vec<OpSpec> {
    let composed = ["factor.svd ", "factor.residual "];
    let is_single = |spec: &OpSpec| composed.iter().all(|prefix| !spec.op.starts_with(prefix));
    conformance::factor::specs().into_iter().filter(is_single).collect()
}

/// The specifications of single ops.
///
/// Cases of whole optimizers are left out: they take many steps.
fn optim_specs() -> Vec<OpSpec> {
    conformance::optim::specs().into_iter().filter(|spec| spec.op != "optim.optimizer").collect()
}

/// The specifications of single ops.
///
/// Cases of plans are left out: they launch kernels of other modules too.
fn recurrent_specs() -> Vec<OpSpec> {
    let ops = ["gru_backward", "gru_forward", "rssm_loss", "rssm_rollout"];
    let of_op = |spec: &OpSpec| ops.iter().any(|op| spec.op.strip_prefix("recurrent.") == Some(op));
    conformance::recurrent::specs().into_iter().filter(of_op).collect()
}

/// The specifications of the ops in module `open`.
fn open_specs() -> Vec<OpSpec> {
    let opens = ["fri.open_columns", "fri.open_groups"];
    conformance::fri::specs().into_iter().filter(|spec| opens.contains(&spec.op)).collect()
}

/// The specifications of the ops in module `deep`: the op set `deep`, folds and last layers.
fn deep_specs() -> Vec<OpSpec> {
    let folds = conformance::fri::specs().into_iter().filter(|spec| ["fri.fold", "fri.last_layer"].contains(&spec.op));
    conformance::deep::specs().into_iter().chain(folds).collect()
}

impl Shipped {
    /// Whether faults are put into this kernel.
    pub(super) fn alters(&self, kernel: &str) -> bool {
        kernel.starts_with(self.begins)
    }

    /// All kernels in one module.
    pub(super) fn parse(&self) -> Module {
        let mut modules = self.texts.iter().map(|(text, _)| ptx::parse(text).unwrap());
        let mut whole = modules.next().unwrap();
        for module in modules {
            for global in module.globals {
                match whole.globals.iter().find(|known| known.name == global.name) {
                    Some(known) => assert_eq!(*known, global, "two variables of one name"),
                    None => whole.globals.push(global),
                }
            }
            assert!(module.functions.iter().all(|function| whole.function(&function.name).is_none()));
            whole.functions.extend(module.functions);
        }
        whole
    }

    /// The manifest of `module`, which is this one with some kernels left out, without the digest of a text.
    pub(super) fn manifest(&self, module: &Module) -> Value {
        let mut manifests = self.texts.iter().map(|(_, text)| serde_json::from_str::<Value>(text).unwrap());
        let mut manifest = manifests.next().unwrap();
        manifest["module"] = self.name.into();
        let kernels = manifest["kernels"].as_array_mut().unwrap();
        kernels.extend(manifests.flat_map(|other| other["kernels"].as_array().unwrap().clone()));
        kernels.retain(|kernel| kernel["name"].as_str().is_some_and(|name| module.function(name).is_some()));
        manifest
    }

    /// The text of `module`, which is one that `manifest` describes, as it is or altered.
    pub(super) fn text(&self, module: &Module, manifest: &Value) -> ModuleText {
        let (ptx, mut manifest) = (ptx::print(module), manifest.clone());
        let digest: String = Sha256::digest(&ptx).iter().map(|byte| format!("{byte:02x}")).collect();
        manifest["sha256"] = digest.into();
        ModuleText { name: self.name.into(), ptx: ptx.into(), manifest: manifest.to_string().into() }
    }
}

/// A queue with the kernels of `text`.
pub(super) fn open(text: ModuleText, aes: AesKernel) -> CudaQueue {
    let kernels = KernelSource::Texts(vec![text]);
    // AIR programs are interpreted by a shipped kernel: code that the driver compiles is not in the modules.
    let air = AirKernel::Interpreted;
    CudaQueue::open(CudaConfig { kernels, aes, air, ..CudaConfig::default() }).unwrap()
}

/// `whole` without the kernels that are not among `kernels` and without what only those use. The others stay as they
/// are, with the numbers of their lines.
pub(super) fn restricted(whole: &Module, kernels: &BTreeSet<String>) -> Module {
    let stays = |kind, name: &str| kind != FunctionKind::Entry || kernels.contains(name);
    let functions = whole.functions.iter().filter(|function| stays(function.kind, &function.name)).cloned().collect();
    let (target, files, globals) = (whole.target.clone(), whole.files.clone(), whole.globals.clone());
    let mut module = Module { target, files, globals, functions, ..*whole };
    ptx::rewrite::drop_unreachable(&mut module);
    module
}
