//! Where the context of a call is: with the caller, or in the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pfss::DealerSeed;
use runtime::{Domain, open_for};

use super::context::SigmaContext;
use crate::{
    memory::exclusive,
    status::{CallFailure, Status},
};

/// The process's context, opened by the first call that needs it.
static CONTEXT: Mutex<Option<SigmaContext>> = Mutex::new(None);

/// The context of a call.
#[derive(Clone, Copy)]
pub(super) enum CallContext {
    /// The handle of a context of the caller's.
    Caller(*mut SigmaContext),
    /// The process's context.
    Process,
}

impl CallContext {
    /// Calls `work` with the context; the process's is opened if there is none.
    ///
    /// # Safety
    /// As said at the top of the crate, for a handle.
    pub(super) unsafe fn with<T>(
        self,
        work: impl FnOnce(&mut SigmaContext) -> Result<T, CallFailure>,
    ) -> Result<T, CallFailure> {
        match self {
            Self::Caller(handle) => {
                // SAFETY: the caller's promise.
                let mut context = unsafe { exclusive("context", handle) }?;
                work(&mut context)
            }
            Self::Process => {
                let mut held = lock();
                let context = match &mut *held {
                    Some(context) => context,
                    none => {
                        let opened = open_for(Domain::Pfss, None);
                        let (queue, _) =
                            opened.map_err(|error| CallFailure::new(Status::TREFOIL_PFSS_BACKEND, error))?;
                        none.insert(SigmaContext::new(Arc::new(queue), DealerSeed::from_os()?)?)
                    }
                };
                work(context)
            }
        }
    }
}

/// Defines an unsafe call on a context of the caller's, and the same on the process's.
macro_rules! in_both_places {
    (
        $(#[$doc:meta])* $call:ident, $(#[$global_doc:meta])* $global:ident,
        ($($name:ident: $type:ty),*) |$place:ident| $work:expr
    ) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $call(
            context: *mut $crate::compat::sigma::context::SigmaContext,
            $($name: $type),*
        ) -> $crate::status::Status {
            let $place = $crate::compat::sigma::place::CallContext::Caller(context);
            // SAFETY: the caller's promise.
            unsafe { $work }
        }

        #[doc = concat!("As `", stringify!($call), "`, with the process's context.")]
        $(#[$global_doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $global($($name: $type),*) -> $crate::status::Status {
            let $place = $crate::compat::sigma::place::CallContext::Process;
            // SAFETY: the caller's promise.
            unsafe { $work }
        }
    };
}
pub(super) use in_both_places;

/// Clears the process's context, and puts another one or none in its place.
pub(super) fn replace_process(context: Option<SigmaContext>) {
    let mut held = lock();
    if let Some(before) = held.as_mut() {
        before.clear();
    }
    *held = context;
}

fn lock() -> MutexGuard<'static, Option<SigmaContext>> {
    // a call changes the context only after all else has succeeded
    CONTEXT.lock().unwrap_or_else(PoisonError::into_inner)
}
