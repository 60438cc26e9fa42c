//! The programs that a device has compiled, each a module of its own, by a digest of what it is made of.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use backend_api::BackendError;

use super::{Kernel, ModuleError, ModuleText, module::Module};
use crate::{DeviceInfo, ffi::Context, sync::lock};

/// The most programs that are held. The one that was not used for longest makes room for another.
const MOST: usize = 512;

/// A digest of what a program is made of.
pub(crate) type ProgramDigest = [u8; 32];

/// Programs that were compiled, or that the driver would not compile.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last one that was used comes last.
    held: VecDeque<(ProgramDigest, Arc<Module>)>,
    /// Programs that made room while a recording forbade waiting for the device, as their release does.
    retired: Vec<Arc<Module>>,
    compiled: u64,
}

/// The programs of AIRs that a device holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// How many are held, the ones that the driver would not compile too.
    pub held: usize,
    /// How many were given to the driver to compile, so far.
    pub compiled: u64,
    /// Why those that are held and were not compiled are interpreted.
    pub refused: Vec<ModuleError>,
}

impl Programs {
    /// The kernel of the program with this digest, which is compiled if it is not held. `None` if the driver does not take
    /// its text.
    ///
    /// With `may_wait`, programs that made room are released, which waits for the device.
    ///
    /// # Errors
    /// A passing failure of the driver.
    pub(crate) fn kernel(
        &self,
        (context, info): (&Arc<Context>, &DeviceInfo),
        (digest, kernel): (&ProgramDigest, &str),
        may_wait: bool,
        text: impl FnOnce() -> ModuleText,
    ) -> Result<Option<Arc<Kernel>>, BackendError> {
        let module = self.module(digest, may_wait, || Module::new(text(), info));
        let found = module.and_then(|module| module.kernel(context, info, kernel));
        found.or_else(|error| if error.is_of_the_text() { Ok(None) } else { Err(error.of_kernel(kernel)) })
    }

    fn module(
        &self,
        digest: &ProgramDigest,
        may_wait: bool,
        make: impl FnOnce() -> Result<Module, ModuleError>,
    ) -> Result<Arc<Module>, ModuleError> {
        let mut state = lock(&self.state);
        let known = state.held.iter().position(|(known, _)| known == digest);
        if let Some(known) = known.and_then(|at| state.held.remove(at)) {
            let module = Arc::clone(&known.1);
            state.held.push_back(known);
            return Ok(module);
        }
        let module = Arc::new(make()?);
        state.compiled += 1;
        state.held.push_back((*digest, Arc::clone(&module)));
        if state.held.len() > MOST
            && let Some((_, oldest)) = state.held.pop_front()
        {
            state.retired.push(oldest);
        }
        let released = if may_wait { std::mem::take(&mut state.retired) } else { Vec::new() };
        drop(state);
        drop(released);
        Ok(module)
    }

    /// What is held.
    pub(crate) fn facts(&self) -> ProgramFacts {
        let state = lock(&self.state);
        let (held, compiled) = (state.held.len(), state.compiled);
        let modules: Vec<_> = state.held.iter().map(|(_, module)| Arc::clone(module)).collect();
        drop(state);
        ProgramFacts { held, compiled, refused: modules.iter().filter_map(|module| module.refusal()).collect() }
    }
}
