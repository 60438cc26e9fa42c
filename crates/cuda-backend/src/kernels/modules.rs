//! The kernel modules of a device, each compiled when one of its kernels is first asked for.

use std::{
    collections::HashMap,
    ffi::CString,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use backend_api::BackendError;
use cuda_loader::Status;

use super::{Kernel, KernelFacts, KernelSource, ManifestError, ModuleError, ModuleText, manifest::Manifest};
use crate::{
    DeviceInfo,
    error::Fault,
    ffi::{Context, LoadedModule},
    sync::lock,
};

/// All modules of a device. Each is compiled and loaded when one of its kernels is first asked for; one that cannot be
/// does not affect the others.
#[derive(Debug)]
pub(crate) struct Kernels {
    modules: Vec<Module>,
    /// Place of the module of each kernel.
    places: HashMap<String, usize>,
}

#[derive(Debug)]
struct Module {
    name: String,
    manifest: Manifest,
    ptx: CString,
    loaded: Mutex<Option<Loaded>>,
}

/// The outcome for a module. A failure that comes from its text is kept, since another try would fail the same way.
type Loaded = Result<Arc<Compiled>, ModuleError>;

/// A module's kernels by name.
#[derive(Debug)]
struct Compiled {
    kernels: HashMap<String, Arc<Kernel>>,
    took: Duration,
    log: String,
}

/// A module and the outcome of compiling it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleOutcome {
    /// Name of the module.
    pub module: String,
    /// What the driver made of it, or why it cannot be used.
    pub outcome: Result<ModuleFacts, ModuleError>,
}

/// What the driver made of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleFacts {
    /// How long it took to compile and load the PTX, or to find it compiled in its cache.
    pub took: Duration,
    /// What its compiler said; often empty.
    pub log: String,
    /// The kernels, sorted by name.
    pub kernels: Vec<KernelFacts>,
}

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
        let modules: Vec<Module> = source.read()?.into_iter().map(module).collect::<Result<_, _>>()?;
        let mut places = HashMap::new();
        for (place, module) in modules.iter().enumerate() {
            for kernel in &module.manifest.kernels {
                if places.insert(kernel.name.clone(), place).is_some() {
                    let what = "another module has it too";
                    let reason = ManifestError::Kernel { kernel: kernel.name.clone(), what };
                    return Err(ModuleError::Manifest { module: module.name.clone(), reason });
                }
            }
        }
        Ok(Self { modules, places })
    }

    /// What the modules are made for, for reports.
    pub(crate) fn target(&self) -> String {
        self.modules.first().map_or_else(
            || "no kernels".to_owned(),
            |module| format!("{} PTX {}", module.manifest.target, module.manifest.ptx_version),
        )
    }

    /// The kernel `name`.
    pub(crate) fn kernel(
        &self,
        context: &Arc<Context>,
        info: &DeviceInfo,
        name: &str,
    ) -> Result<Arc<Kernel>, BackendError> {
        let unknown = || BackendError::Kernel { kernel: name.to_owned(), reason: "no module has it".to_owned() };
        let module = &self.modules[*self.places.get(name).ok_or_else(unknown)?];
        let compiled = module.load(context, info).map_err(|error| match error {
            ModuleError::Load {
                reason: reason @ (BackendError::DeviceLost { .. } | BackendError::OutOfMemory { .. }),
                ..
            } => reason,
            error => BackendError::Kernel { kernel: name.to_owned(), reason: error.to_string() },
        })?;
        compiled.kernels.get(name).cloned().ok_or_else(unknown)
    }

    /// Compiles and loads, each on a thread of its own, the modules whose names begin with `prefix`; what came of each.
    pub(crate) fn load_all(&self, context: &Arc<Context>, info: &DeviceInfo, prefix: &str) -> Vec<ModuleOutcome> {
        let wanted = self.modules.iter().filter(|module| module.name.starts_with(prefix));
        thread::scope(|scope| {
            let load = |module: &'_ Module| module.facts(context, info);
            let threads: Vec<_> = wanted
                .map(|module| {
                    // Where no thread can be started, this one does it.
                    let spawned = thread::Builder::new().spawn_scoped(scope, move || load(module));
                    (module, spawned)
                })
                .collect();
            let outcome = |(module, spawned): (&Module, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
                let joined = spawned.ok().and_then(|thread| thread.join().ok());
                ModuleOutcome { module: module.name.clone(), outcome: joined.unwrap_or_else(|| load(module)) }
            };
            threads.into_iter().map(outcome).collect()
        })
    }
}

/// Whether an error comes from the text itself, and not from a passing state of the device.
fn is_of_the_text(error: &ModuleError) -> bool {
    const CODES: [Status; 6] = [
        Status::INVALID_IMAGE,
        Status::NO_BINARY_FOR_GPU,
        Status::INVALID_PTX,
        Status::JIT_COMPILER_NOT_FOUND,
        Status::UNSUPPORTED_PTX_VERSION,
        Status::JIT_COMPILATION_DISABLED,
    ];
    match error {
        ModuleError::Load { reason: BackendError::Driver { code, .. }, .. } => CODES.contains(&Status(*code)),
        ModuleError::Load { .. } => false,
        _ => true,
    }
}

impl Module {
    fn load(&self, context: &Arc<Context>, info: &DeviceInfo) -> Loaded {
        let mut loaded = lock(&self.loaded);
        if let Some(outcome) = &*loaded {
            return outcome.clone();
        }
        let outcome = self.compile(context, info).map(Arc::new);
        if outcome.as_ref().err().is_none_or(is_of_the_text) {
            *loaded = Some(outcome.clone());
        }
        outcome
    }

    fn compile(&self, context: &Arc<Context>, info: &DeviceInfo) -> Result<Compiled, ModuleError> {
        let bytes = self.ptx.as_bytes().len() as u64;
        let start = Instant::now();
        let (module, log) = LoadedModule::load(context, &self.ptx).map_err(|failure| ModuleError::Load {
            module: self.name.clone(),
            reason: failure.fault.of_allocation(bytes),
            log: failure.log,
        })?;
        let took = start.elapsed();
        let module = Arc::new(module);
        let mut kernels = HashMap::new();
        for entry in &self.manifest.kernels {
            let kernel =
                Kernel::find(&module, entry, info).map_err(|unusable| unusable.of(&self.name, &entry.name, bytes))?;
            kernels.insert(entry.name.clone(), Arc::new(kernel));
        }
        Ok(Compiled { kernels, took, log })
    }

    fn facts(&self, context: &Arc<Context>, info: &DeviceInfo) -> Result<ModuleFacts, ModuleError> {
        let compiled = self.load(context, info)?;
        let refused =
            |fault: Fault| ModuleError::Load { module: self.name.clone(), reason: fault.into(), log: String::new() };
        let facts: Result<Vec<_>, _> = compiled.kernels.values().map(|kernel| kernel.facts()).collect();
        let mut kernels = facts.map_err(refused)?;
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ModuleFacts { took: compiled.took, log: compiled.log.clone(), kernels })
    }
}
