//! The compiled programs of a device, each of one or more modules, by a digest of its source.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use backend_api::BackendError;

use super::{LoadedKernel, ModuleError, ModuleText, module::LazyModule, text::CheckedText};
use crate::{DeviceInfo, ffi::CudaContext, sync::lock};

/// The most modules that are held.
///
/// The programs that were not used for longest make room for another.
const MOST: usize = 512;

/// A digest of a program's source.
pub(crate) type ProgramDigest = [u8; 32];

/// The modules of a program's parts; none if it is too long to be compiled.
type ProgramModules = Arc<[LazyModule]>;

/// Programs that were compiled, or that the driver would not compile.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    state: Mutex<ProgramCache>,
}

#[derive(Debug, Default)]
struct ProgramCache {
    /// The last one that was used comes last.
    held: VecDeque<(ProgramDigest, ProgramModules)>,
    /// Programs evicted while a recording forbade waiting for the device.
    ///
    /// Releasing them waits for the device, so they are released later.
    retired: Vec<ProgramModules>,
    compiled: u64,
}

/// The programs of AIRs that a device holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Number of programs held, including those that are interpreted.
    ///
    /// A program is interpreted if it is too long or the driver did not compile it.
    pub held: usize,
    /// Number of texts made for the driver to compile so far.
    ///
    /// A long program has several texts.
    pub compiled: u64,
    /// Why those that are held and were not compiled are interpreted.
    pub refused: Vec<ModuleError>,
}

impl Programs {
    /// The kernels of the program with this digest, which is compiled if it is not held.
    ///
    /// `None` if it has no texts, or the driver does not take one.
    ///
    /// With `may_wait`, programs that made room are released, which waits for the device.
    ///
    /// # Errors
    /// A passing failure of the driver.
    pub(crate) fn kernels(
        &self,
        (context, info): (&Arc<CudaContext>, &DeviceInfo),
        (digest, kernel): (&ProgramDigest, &str),
        may_wait: bool,
        texts: impl FnOnce() -> Vec<ModuleText>,
    ) -> Result<Option<Vec<Arc<LoadedKernel>>>, BackendError> {
        let module = |text| LazyModule::new(Arc::new(CheckedText::new(text)?), info);
        let modules = self.modules(digest, may_wait, || texts().into_iter().map(module).collect());
        let found =
            modules.and_then(|modules| modules.iter().map(|module| module.kernel(context, info, kernel)).collect());
        let found = found.map(|kernels: Option<Vec<_>>| kernels.filter(|kernels| !kernels.is_empty()));
        found.or_else(|error| if error.is_of_the_text() { Ok(None) } else { Err(error.of_kernel(kernel)) })
    }

    fn modules(
        &self,
        digest: &ProgramDigest,
        may_wait: bool,
        make: impl FnOnce() -> Result<Vec<LazyModule>, ModuleError>,
    ) -> Result<ProgramModules, ModuleError> {
        let mut state = lock(&self.state);
        let known = state.held.iter().position(|(known, _)| known == digest);
        if let Some(known) = known.and_then(|at| state.held.remove(at)) {
            let modules = Arc::clone(&known.1);
            state.held.push_back(known);
            return Ok(modules);
        }
        let modules: ProgramModules = make()?.into();
        state.compiled += modules.len() as u64;
        state.held.push_back((*digest, Arc::clone(&modules)));
        let count = |(_, modules): &(ProgramDigest, ProgramModules)| modules.len().max(1);
        let mut modules_held: usize = state.held.iter().map(count).sum();
        while modules_held > MOST
            && state.held.len() > 1
            && let Some(oldest) = state.held.pop_front()
        {
            modules_held -= count(&oldest);
            state.retired.push(oldest.1);
        }
        let released = if may_wait { std::mem::take(&mut state.retired) } else { Vec::new() };
        drop(state);
        drop(released);
        Ok(modules)
    }

    /// The programs that are held, and the count of compilations.
    pub(crate) fn facts(&self) -> ProgramFacts {
        let state = lock(&self.state);
        let (held, compiled) = (state.held.len(), state.compiled);
        let programs: Vec<_> = state.held.iter().map(|(_, modules)| Arc::clone(modules)).collect();
        drop(state);
        let modules = programs.iter().flat_map(|modules| modules.iter());
        ProgramFacts { held, compiled, refused: modules.filter_map(LazyModule::refusal).collect() }
    }
}
