//! SUF's own names, with one context for the process.

use core::ffi::c_int;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use pfss::{DealerSeed, Party};
use runtime::{Domain, open_for};

use super::{
    buffer::KeyBuffer,
    calls::{Words, evaluate, keygen, next_keys, seed_of},
    context::{Evaluation, SigmaContext},
    peer::{SigmaPeer, SigmaStats},
    request::{Function, Request},
};
use crate::{
    Backend,
    memory::shared,
    status::{CallFailure, Status, guard},
};

/// The process's context, opened by the first call that needs it.
static CONTEXT: Mutex<Option<SigmaContext>> = Mutex::new(None);

/// Whether SIGMA's softmax takes these functions.
static SOFTMAX: AtomicBool = AtomicBool::new(true);
/// Whether SIGMA's norms take these functions.
static LAYERNORM: AtomicBool = AtomicBool::new(true);

fn lock() -> MutexGuard<'static, Option<SigmaContext>> {
    // a call changes the context only after all else has succeeded
    CONTEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `work` with the process's context, which is opened if there is none.
fn with<T>(work: impl FnOnce(&mut SigmaContext) -> Result<T, CallFailure>) -> Result<T, CallFailure> {
    let mut held = lock();
    let context = match &mut *held {
        Some(context) => context,
        none => {
            let opened = open_for(Domain::Pfss, None);
            let (queue, _) = opened.map_err(|error| CallFailure::new(Status::TREFOIL_PFSS_BACKEND, error))?;
            none.insert(SigmaContext::new(Arc::new(queue), DealerSeed::from_os()?))
        }
    };
    work(context)
}

/// The next keys of the process's context, which is free again afterwards.
fn take(party: Party, request: Request, words: Words) -> Result<Evaluation, CallFailure> {
    with(|context| next_keys(context, party, request, words))
}

/// Opens the process's context, as `trefoil_pfss_sigma_open`, and clears the one before.
///
/// Without this call, the first call opens the backend named in the environment, and a seed from
/// the operating system.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_open_global(backend: *mut Backend, seed: *const u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (backend, seed) = unsafe { (shared("backend", backend)?, seed_of(seed, len)?) };
        let opened = SigmaContext::new(Arc::clone(&backend.queue), seed);
        if let Some(mut before) = lock().replace(opened) {
            before.clear();
        }
        Ok(())
    })
}

/// Whether SIGMA's softmax takes these functions: yes, unless they were disabled.
#[unsafe(no_mangle)]
pub extern "C" fn suf_softmax_enabled() -> bool {
    SOFTMAX.load(Relaxed)
}

/// Whether SIGMA's norms take these functions: yes, unless they were disabled.
#[unsafe(no_mangle)]
pub extern "C" fn suf_layernorm_enabled() -> bool {
    LAYERNORM.load(Relaxed)
}

/// Sets whether SIGMA's softmax and norms take these functions.
///
/// SUF reads this from variables of the environment, and takes none if they are not set.
#[unsafe(no_mangle)]
pub extern "C" fn trefoil_pfss_sigma_enable(softmax: bool, layernorm: bool) {
    SOFTMAX.store(softmax, Relaxed);
    LAYERNORM.store(layernorm, Relaxed);
}

/// As `trefoil_pfss_sigma_reset_keygen`, with the process's context.
#[unsafe(no_mangle)]
pub extern "C" fn suf_sigma_reset_keygen() -> Status {
    guard(|| {
        with(|context| {
            context.reset_keygen();
            Ok(())
        })
    })
}

/// As `trefoil_pfss_sigma_reset_eval`, with the process's context.
#[unsafe(no_mangle)]
pub extern "C" fn suf_sigma_reset_eval() -> Status {
    guard(|| {
        with(|context| {
            context.reset_eval();
            Ok(())
        })
    })
}

/// As `trefoil_pfss_sigma_consume_key`, with the process's context.
#[unsafe(no_mangle)]
pub extern "C" fn suf_sigma_consume_key() -> Status {
    guard(|| with(SigmaContext::consume))
}

/// As `trefoil_pfss_sigma_clear`, and closes the process's context.
///
/// The next call opens another one, with another seed.
#[unsafe(no_mangle)]
pub extern "C" fn suf_sigma_clear() -> Status {
    guard(|| {
        if let Some(mut context) = lock().take() {
            context.clear();
        }
        Ok(())
    })
}

/// As `trefoil_pfss_sigma_set_keybuf_ptr`, with the process's context.
///
/// # Safety
/// As `trefoil_pfss_sigma_set_keybuf_ptr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_set_keybuf_ptr(cursor: *mut *mut u8, capacity: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { KeyBuffer::new(cursor, capacity) }?;
        with(|context| {
            context.set_buffer(buffer);
            Ok(())
        })
    })
}

/// As `trefoil_pfss_sigma_keygen_activation`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_keygen_activation(
    party: c_int,
    bw: c_int,
    scale: c_int,
    silu: bool,
    input_mask: *const u64,
    n: usize,
    output_mask: *mut u64,
) -> Status {
    guard(|| {
        let request = Request::new(Function::activation(silu), bw, scale)?;
        let words = Words { input: input_mask, n, output: output_mask };
        // SAFETY: the caller's promise.
        with(|context| unsafe { keygen(context, party, request, words) })
    })
}

/// As `trefoil_pfss_sigma_eval_activation`, with the process's context.
///
/// The context is free during the exchanges.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_eval_activation(
    peer: *const SigmaPeer,
    party: c_int,
    bw: c_int,
    scale: c_int,
    silu: bool,
    input_masked: *const u64,
    n: usize,
    output_masked: *mut u64,
    stats: *mut SigmaStats,
) -> Status {
    guard(|| {
        let request = Request::new(Function::activation(silu), bw, scale)?;
        let words = Words { input: input_masked, n, output: output_masked };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// As `trefoil_pfss_sigma_keygen_nexp`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_keygen_nexp(
    party: c_int,
    bw: c_int,
    scale: c_int,
    input_mask: *const u64,
    n: usize,
    output_mask: *mut u64,
) -> Status {
    guard(|| {
        let request = Request::new(Function::NegExp, bw, scale)?;
        let words = Words { input: input_mask, n, output: output_mask };
        // SAFETY: the caller's promise.
        with(|context| unsafe { keygen(context, party, request, words) })
    })
}

/// As `trefoil_pfss_sigma_eval_nexp`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_eval_nexp(
    peer: *const SigmaPeer,
    party: c_int,
    bw: c_int,
    scale: c_int,
    input_masked: *const u64,
    n: usize,
    output_masked: *mut u64,
    stats: *mut SigmaStats,
) -> Status {
    guard(|| {
        let request = Request::new(Function::NegExp, bw, scale)?;
        let words = Words { input: input_masked, n, output: output_masked };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// As `trefoil_pfss_sigma_keygen_inverse`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_keygen_inverse(
    party: c_int,
    bw: c_int,
    scale: c_int,
    nmax: c_int,
    input_mask: *const u64,
    n: usize,
    output_mask: *mut u64,
) -> Status {
    guard(|| {
        let request = Request::new(Function::inverse(nmax)?, bw, scale)?;
        let words = Words { input: input_mask, n, output: output_mask };
        // SAFETY: the caller's promise.
        with(|context| unsafe { keygen(context, party, request, words) })
    })
}

/// As `trefoil_pfss_sigma_eval_inverse`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_eval_inverse(
    peer: *const SigmaPeer,
    party: c_int,
    bw: c_int,
    scale: c_int,
    nmax: c_int,
    input_masked: *const u64,
    n: usize,
    output_masked: *mut u64,
    stats: *mut SigmaStats,
) -> Status {
    guard(|| {
        let request = Request::new(Function::inverse(nmax)?, bw, scale)?;
        let words = Words { input: input_masked, n, output: output_masked };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// As `trefoil_pfss_sigma_keygen_rsqrt`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_keygen_rsqrt(
    party: c_int,
    bw: c_int,
    scale: c_int,
    extradiv: c_int,
    input_mask: *const u64,
    n: usize,
    output_mask: *mut u64,
) -> Status {
    guard(|| {
        let request = Request::new(Function::rsqrt(extradiv)?, bw, scale)?;
        let words = Words { input: input_mask, n, output: output_mask };
        // SAFETY: the caller's promise.
        with(|context| unsafe { keygen(context, party, request, words) })
    })
}

/// As `trefoil_pfss_sigma_eval_rsqrt`, with the process's context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suf_sigma_eval_rsqrt(
    peer: *const SigmaPeer,
    party: c_int,
    bw: c_int,
    scale: c_int,
    extradiv: c_int,
    input_masked: *const u64,
    n: usize,
    output_masked: *mut u64,
    stats: *mut SigmaStats,
) -> Status {
    guard(|| {
        let request = Request::new(Function::rsqrt(extradiv)?, bw, scale)?;
        let words = Words { input: input_masked, n, output: output_masked };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}
