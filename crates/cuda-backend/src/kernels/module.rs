//! A module of kernels: its text and its compiled form.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{KernelFacts, LoadedKernel, ModuleError, manifest::KernelEntry, text::CheckedText};
use crate::{
    DeviceInfo,
    error::DriverFault,
    ffi::{CudaContext, LoadedModule},
    sync::lock,
};

/// A module, compiled and loaded at the first request for one of its kernels.
#[derive(Debug)]
pub(super) struct LazyModule {
    text: Arc<CheckedText>,
    loaded: Mutex<Option<Loaded>>,
}

/// The outcome for a module.
///
/// A failure that comes from its text is kept, since another try would fail the same way.
type Loaded = Result<Arc<CompiledModule>, ModuleError>;

/// A module's kernels by name.
#[derive(Debug)]
struct CompiledModule {
    kernels: HashMap<String, Arc<LoadedKernel>>,
    took: Duration,
    log: String,
}

/// Properties of a module that the driver compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleFacts {
    /// How long it took to compile and load the PTX, or to find it compiled in its cache.
    pub took: Duration,
    /// What its compiler said; often empty.
    pub log: String,
    /// The kernels, sorted by name.
    pub kernels: Vec<KernelFacts>,
}

impl LazyModule {
    /// Checks a text against the device; compiles nothing.
    pub(super) fn new(text: Arc<CheckedText>, info: &DeviceInfo) -> Result<Self, ModuleError> {
        let CheckedText { name, manifest, .. } = &*text;
        let invalid = |reason| ModuleError::Manifest { module: name.clone(), reason };
        let need = manifest.capability().map_err(invalid)?;
        if info.capability < need {
            return Err(ModuleError::Capability { module: name.clone(), need, found: info.capability });
        }
        Ok(Self { text, loaded: Mutex::new(None) })
    }

    pub(super) fn name(&self) -> &str {
        &self.text.name
    }

    /// The manifest's entries, one for each kernel.
    pub(super) fn entries(&self) -> &[KernelEntry] {
        &self.text.manifest.kernels
    }

    /// Its target architecture and PTX version, for reports.
    pub(super) fn target(&self) -> String {
        format!("{} PTX {}", self.text.manifest.target, self.text.manifest.ptx_version)
    }

    /// Why it cannot be used, if that was found out.
    pub(super) fn refusal(&self) -> Option<ModuleError> {
        lock(&self.loaded).as_ref().and_then(|loaded| loaded.as_ref().err().cloned())
    }

    /// The kernel `name`; `None` if the module has no such kernel.
    pub(super) fn kernel(
        &self,
        context: &Arc<CudaContext>,
        info: &DeviceInfo,
        name: &str,
    ) -> Result<Option<Arc<LoadedKernel>>, ModuleError> {
        Ok(self.load(context, info)?.kernels.get(name).cloned())
    }

    fn load(&self, context: &Arc<CudaContext>, info: &DeviceInfo) -> Loaded {
        let mut loaded = lock(&self.loaded);
        if let Some(outcome) = &*loaded {
            return outcome.clone();
        }
        let outcome = self.compile(context, info).map(Arc::new);
        if outcome.as_ref().err().is_none_or(ModuleError::is_of_the_text) {
            *loaded = Some(outcome.clone());
        }
        outcome
    }

    fn compile(&self, context: &Arc<CudaContext>, info: &DeviceInfo) -> Result<CompiledModule, ModuleError> {
        let CheckedText { name, manifest, ptx } = &*self.text;
        let bytes = ptx.as_bytes().len() as u64;
        let start = Instant::now();
        let (module, log) = LoadedModule::load(context, ptx).map_err(|failure| ModuleError::Load {
            module: name.clone(),
            reason: failure.fault.of_allocation(bytes),
            log: failure.log,
        })?;
        let took = start.elapsed();
        let module = Arc::new(module);
        let mut kernels = HashMap::new();
        for entry in &manifest.kernels {
            let kernel =
                LoadedKernel::find(&module, entry, info).map_err(|unusable| unusable.of(name, &entry.name, bytes))?;
            kernels.insert(entry.name.clone(), Arc::new(kernel));
        }
        Ok(CompiledModule { kernels, took, log })
    }

    /// Compiles the module if necessary, and returns its properties and its kernels'.
    pub(super) fn facts(&self, context: &Arc<CudaContext>, info: &DeviceInfo) -> Result<ModuleFacts, ModuleError> {
        let compiled = self.load(context, info)?;
        let refused = |fault: DriverFault| ModuleError::Load {
            module: self.name().to_owned(),
            reason: fault.into(),
            log: String::new(),
        };
        let facts: Result<Vec<_>, _> = compiled.kernels.values().map(|kernel| kernel.facts()).collect();
        let mut kernels = facts.map_err(refused)?;
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ModuleFacts { took: compiled.took, log: compiled.log.clone(), kernels })
    }
}
