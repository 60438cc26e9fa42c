use std::{
    collections::HashMap,
    ffi::CString,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use backend_api::BackendError;
use thiserror::Error;

use super::{
    KernelSource, ManifestError, ModuleText,
    manifest::{DynamicShared, Entry, Manifest, Parameter},
};
use crate::{
    DeviceCtx, DeviceInfo,
    error::Fault,
    ffi::{Function, FunctionFacts, LoadedModule},
    sync::lock,
};

/// Shared bytes, static and dynamic, that a block may have without its kernel asking for them.
const PLAIN_SHARED_BYTES: u32 = 48 << 10;

/// Why a module of kernels cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// A file of the folder cannot be read.
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// The manifest is not what it should be, or the PTX is not the one it describes.
    #[error("module `{module}`: {reason}")]
    Manifest {
        /// The module.
        module: String,
        /// What is wrong.
        reason: ManifestError,
    },
    /// The device is of a lower compute capability than the module is made for.
    #[error("module `{module}` needs compute capability {}.{}, the device has {}.{}", need.0, need.1, found.0, found.1)]
    Capability {
        /// The module.
        module: String,
        /// What the module needs.
        need: (u32, u32),
        /// What the device has.
        found: (u32, u32),
    },
    /// The driver did not compile or load the PTX.
    #[error("module `{module}` was not loaded: {reason}{}", log_lines(.log))]
    Load {
        /// The module.
        module: String,
        /// What the driver answered.
        reason: BackendError,
        /// What its compiler said; may be empty.
        log: String,
    },
    /// The PTX lacks a kernel of the manifest.
    #[error("module `{module}` lacks kernel `{kernel}`")]
    Missing {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// The device cannot run a kernel with the blocks it is made for.
    #[error("kernel `{kernel}` does not fit the device: {reason}")]
    Unfit {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
}

fn log_lines(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

/// A kernel, ready to launch.
#[derive(Debug)]
pub(crate) struct Kernel {
    function: Function,
    entry: Entry,
    /// Keeps the function loaded.
    _module: Arc<LoadedModule>,
}

impl Kernel {
    pub(crate) fn function(&self) -> Function {
        self.function
    }

    /// Where each parameter lies among the packed ones.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.entry.params
    }

    /// Bytes of all parameters.
    pub(crate) fn parameter_bytes(&self) -> usize {
        self.entry.parameter_bytes()
    }

    /// Threads of a block along x, y and z.
    pub(crate) fn block(&self) -> [u32; 3] {
        self.entry.block
    }

    /// Dynamic shared bytes of a launch that asks for `wanted`, or why it cannot have them.
    pub(crate) fn dynamic_shared(&self, wanted: Option<u32>) -> Result<u32, String> {
        match (self.entry.dynamic_shared, wanted) {
            (None, None) => Ok(0),
            (Some(DynamicShared::Bytes(bytes)), None) => Ok(bytes),
            (Some(DynamicShared::UpTo { up_to }), Some(bytes)) if bytes <= up_to => Ok(bytes),
            (Some(DynamicShared::UpTo { up_to }), Some(bytes)) => {
                Err(format!("{bytes} bytes of dynamic shared memory are asked for, {up_to} are possible"))
            }
            (Some(DynamicShared::UpTo { .. }), None) => Err("the launch must say how much shared memory".to_owned()),
            (_, Some(_)) => Err("the launch may not say how much shared memory".to_owned()),
        }
    }
}

/// All modules of a device. Each is compiled and loaded when one of its kernels is first asked for.
#[derive(Debug)]
pub(crate) struct Kernels {
    modules: Vec<Module>,
}

#[derive(Debug)]
struct Module {
    name: String,
    manifest: Manifest,
    ptx: CString,
    loaded: Mutex<Option<Loaded>>,
}

/// The kernels by name, or why there are none. A failure stays: the text does not get better.
type Loaded = Result<Arc<HashMap<String, Arc<Kernel>>>, ModuleError>;

impl Kernels {
    /// Reads and checks the texts; compiles nothing.
    pub(crate) fn read(source: &KernelSource, info: &DeviceInfo) -> Result<Self, ModuleError> {
        let module = |text: ModuleText| {
            let name = text.name.into_owned();
            let invalid = |reason| ModuleError::Manifest { module: name.clone(), reason };
            let manifest = Manifest::read(&name, &text.manifest, &text.ptx).map_err(invalid)?;
            let need = manifest.capability().map_err(invalid)?;
            if info.capability < need {
                return Err(ModuleError::Capability { module: name, need, found: info.capability });
            }
            let zero = |_| ManifestError::Syntax("the PTX contains a zero byte".to_owned());
            let ptx = CString::new(text.ptx.into_owned()).map_err(zero).map_err(invalid)?;
            Ok(Module { name, manifest, ptx, loaded: Mutex::new(None) })
        };
        Ok(Self { modules: source.read()?.into_iter().map(module).collect::<Result<_, _>>()? })
    }

    /// What the modules are made for, for reports.
    pub(crate) fn target(&self) -> String {
        self.modules.first().map_or_else(
            || "no kernels".to_owned(),
            |module| format!("{} PTX {}", module.manifest.target, module.manifest.ptx_version),
        )
    }

    /// The kernel `name`, of the module with whose name it begins.
    pub(crate) fn kernel(&self, device: &DeviceCtx, name: &'static str) -> Result<Arc<Kernel>, BackendError> {
        let prefix = name.split_once('_').map_or(name, |(prefix, _)| prefix);
        let unknown = || BackendError::Kernel { kernel: name, reason: "no module has it".to_owned() };
        let module = self.modules.iter().find(|module| module.name == prefix).ok_or_else(unknown)?;
        let kernels = module.load(device).map_err(|error| match error {
            ModuleError::Load {
                reason: reason @ (BackendError::DeviceLost { .. } | BackendError::OutOfMemory { .. }),
                ..
            } => reason,
            error => BackendError::Kernel { kernel: name, reason: error.to_string() },
        })?;
        kernels.get(name).cloned().ok_or_else(unknown)
    }

    /// Compiles and loads every module.
    pub(crate) fn load_all(&self, device: &DeviceCtx) -> Result<(), ModuleError> {
        self.modules.iter().try_for_each(|module| module.load(device).map(drop))
    }
}

impl Module {
    fn load(&self, device: &DeviceCtx) -> Loaded {
        let mut loaded = lock(&self.loaded);
        if let Some(outcome) = &*loaded {
            return outcome.clone();
        }
        let outcome = self.compile(device).map(Arc::new);
        // A refusal for a reason of the moment is no property of the text.
        let passing = matches!(
            &outcome,
            Err(ModuleError::Load { reason: BackendError::DeviceLost { .. } | BackendError::OutOfMemory { .. }, .. })
        );
        if !passing {
            *loaded = Some(outcome.clone());
        }
        outcome
    }

    fn compile(&self, device: &DeviceCtx) -> Result<HashMap<String, Arc<Kernel>>, ModuleError> {
        let failed = |fault: Fault, log: String| ModuleError::Load {
            module: self.name.clone(),
            reason: fault.of_allocation(self.ptx.as_bytes().len() as u64),
            log,
        };
        let module = LoadedModule::load(device.context(), &self.ptx)
            .map(Arc::new)
            .map_err(|failure| failed(failure.fault, failure.log))?;
        let mut kernels = HashMap::new();
        for entry in &self.manifest.kernels {
            let found = module.function(&entry.name).map_err(|fault| failed(fault, String::new()))?;
            let missing = || ModuleError::Missing { module: self.name.clone(), kernel: entry.name.clone() };
            let (function, facts) = found.ok_or_else(missing)?;
            let Shared { fixed, dynamic } = fit(entry, facts, device.info())
                .map_err(|reason| ModuleError::Unfit { kernel: entry.name.clone(), reason })?;
            if fixed.saturating_add(dynamic) > PLAIN_SHARED_BYTES {
                module.allow_dynamic_shared(function, dynamic).map_err(|fault| failed(fault, String::new()))?;
            }
            let kernel = Kernel { function, entry: entry.clone(), _module: Arc::clone(&module) };
            kernels.insert(entry.name.clone(), Arc::new(kernel));
        }
        Ok(kernels)
    }
}

/// Shared bytes of a block.
struct Shared {
    /// Those that the kernel takes whatever the launch asks for.
    fixed: u32,
    /// The most that launches ask for.
    dynamic: u32,
}

/// The most shared bytes of a kernel's blocks, or why they do not fit the device.
fn fit(entry: &Entry, facts: FunctionFacts, info: &DeviceInfo) -> Result<Shared, String> {
    let threads: u32 = entry.block.iter().product();
    let possible = facts.max_threads.min(info.max_block_threads);
    if threads > possible {
        let registers = facts.registers;
        return Err(format!("blocks of {threads} threads, {possible} are possible with {registers} registers each"));
    }
    let dynamic = match entry.dynamic_shared {
        None => 0,
        Some(DynamicShared::Bytes(bytes) | DynamicShared::UpTo { up_to: bytes }) => bytes,
    };
    let fixed = facts.static_shared.max(entry.static_shared);
    let shared = u64::from(dynamic) + u64::from(fixed);
    if shared > u64::from(info.max_shared_bytes) {
        return Err(format!("{shared} bytes of shared memory to a block, {} are possible", info.max_shared_bytes));
    }
    Ok(Shared { fixed, dynamic })
}
