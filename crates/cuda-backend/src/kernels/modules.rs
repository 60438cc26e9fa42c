//! The kernel modules of a device, each compiled at the first request for one of its kernels.

use std::{collections::HashMap, sync::Arc, thread};

use backend_api::BackendError;

use super::{
    KernelSource, LoadedKernel, ManifestError, ModuleError,
    module::{LazyModule, ModuleFacts},
};
use crate::{DeviceInfo, ffi::CudaContext};

/// All modules of a device.
///
/// Each is compiled and loaded at the first request for one of its kernels. A module that fails to
/// load does not affect the others.
#[derive(Debug)]
pub(crate) struct Kernels {
    modules: Vec<LazyModule>,
    /// Place of the module of each kernel.
    places: HashMap<String, usize>,
}

/// A module and the outcome of compiling it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleOutcome {
    /// Name of the module.
    pub module: String,
    /// The properties of the compiled module, or the reason it cannot be used.
    pub outcome: Result<ModuleFacts, ModuleError>,
}

impl Kernels {
    /// Reads and checks the texts; compiles nothing.
    pub(crate) fn read(source: &KernelSource, info: &DeviceInfo) -> Result<Self, ModuleError> {
        let modules =
            source.read()?.into_iter().map(|text| LazyModule::new(text, info)).collect::<Result<Vec<_>, _>>()?;
        let mut places = HashMap::new();
        for (place, module) in modules.iter().enumerate() {
            for kernel in module.entries() {
                if places.insert(kernel.name.clone(), place).is_some() {
                    let what = "another module has a kernel of this name";
                    let reason = ManifestError::Kernel { kernel: kernel.name.clone(), what };
                    return Err(ModuleError::Manifest { module: module.name().to_owned(), reason });
                }
            }
        }
        Ok(Self { modules, places })
    }

    /// Target architecture and PTX version of the modules, for reports.
    pub(crate) fn target(&self) -> String {
        self.modules.first().map_or_else(|| "no kernels".to_owned(), LazyModule::target)
    }

    /// The kernel `name`.
    pub(crate) fn kernel(
        &self,
        context: &Arc<CudaContext>,
        info: &DeviceInfo,
        name: &str,
    ) -> Result<Arc<LoadedKernel>, BackendError> {
        let unknown = || BackendError::Kernel {
            kernel: name.to_owned(),
            reason: "no loaded module has a kernel of this name".to_owned(),
        };
        let module = &self.modules[*self.places.get(name).ok_or_else(unknown)?];
        let kernel = module.kernel(context, info, name).map_err(|error| error.of_kernel(name))?;
        kernel.ok_or_else(unknown)
    }

    /// Compiles and loads the modules whose names begin with `prefix`, each on a separate thread.
    ///
    /// Returns the outcome of each.
    pub(crate) fn load_all(&self, context: &Arc<CudaContext>, info: &DeviceInfo, prefix: &str) -> Vec<ModuleOutcome> {
        let wanted = self.modules.iter().filter(|module| module.name().starts_with(prefix));
        thread::scope(|scope| {
            let load = |module: &'_ LazyModule| module.facts(context, info);
            let threads: Vec<_> = wanted
                .map(|module| {
                    // Where no thread can be started, this one does it.
                    let spawned = thread::Builder::new().spawn_scoped(scope, move || load(module));
                    (module, spawned)
                })
                .collect();
            let outcome = |(module, spawned): (&LazyModule, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| {
                let joined = spawned.ok().and_then(|thread| thread.join().ok());
                ModuleOutcome { module: module.name().to_owned(), outcome: joined.unwrap_or_else(|| load(module)) }
            };
            threads.into_iter().map(outcome).collect()
        })
    }
}
