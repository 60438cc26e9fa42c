//! Opening, setting up and clearing contexts: the caller's and the process's.
//!
//! # Safety
//! As said [at the top](crate#safety).

use core::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use std::sync::Arc;

use pfss::DealerSeed;

use super::{
    buffer::KeyBuffer,
    context::SigmaContext,
    place::{CallContext, in_both_places, replace_process},
};
use crate::{
    Backend,
    memory::{array, check, free, put_handle, shared},
    status::{CallFailure, Status, guard},
};

/// Whether SIGMA's softmax takes these functions.
static SOFTMAX: AtomicBool = AtomicBool::new(true);
/// Whether SIGMA's norms take these functions.
static LAYERNORM: AtomicBool = AtomicBool::new(true);

/// Defines calls without parameters, on a context of the caller's and on the process's.
macro_rules! context_calls {
    ($($(#[$doc:meta])* $call:ident, $global:ident => $work:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $call(context: *mut SigmaContext) -> Status {
            let work = $work;
            // SAFETY: the caller's promise.
            guard(|| unsafe { CallContext::Caller(context).with(work) })
        }

        #[doc = concat!("As `", stringify!($call), "`, with the process's context.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $global() -> Status {
            let work = $work;
            // SAFETY: there is no handle.
            guard(|| unsafe { CallContext::Process.with(work) })
        }
    )*};
}

context_calls! {
    /// Makes keys from the first deal on again.
    ///
    /// The same calls with the same masks then make the same deals, for the other party too. For
    /// other masks, open a context with another seed: masks that repeat by chance would show in
    /// equal keys.
    trefoil_pfss_sigma_reset_keygen, suf_sigma_reset_keygen => |context: &mut SigmaContext| {
        context.reset_keygen();
        Ok(())
    };
    /// Drops and wipes keys that were consumed and not evaluated.
    ///
    /// SUF's call goes back to the first keys instead, to evaluate them again.
    trefoil_pfss_sigma_reset_eval, suf_sigma_reset_eval => |context: &mut SigmaContext| {
        context.reset_eval();
        Ok(())
    };
    /// Reads the keys at the cursor into the context, and moves the cursor behind them.
    ///
    /// Their bytes in the buffer are wiped.
    trefoil_pfss_sigma_consume_key, suf_sigma_consume_key => SigmaContext::consume;
}

/// Opens a context on a backend.
///
/// `seed` is 32 secret bytes from which keys are made, or null with `len` 0 for bytes from the
/// operating system. Contexts that make the two parties' keys apart need the same seed: whoever has
/// it and the masks of the inputs has both parties' keys. Contexts that evaluate need none. The
/// backend may be freed before the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_open(
    backend: *mut Backend,
    seed: *const u8,
    len: usize,
    context: *mut *mut SigmaContext,
) -> Status {
    guard(|| {
        check("context", context, 1)?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("context", open(backend, seed, len)?, context) }
    })
}

/// Opens the process's context, as `trefoil_pfss_sigma_open`, and clears the one before.
///
/// Without this call, the first call opens the backend named in the environment, and a seed from
/// the operating system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_open_global(backend: *mut Backend, seed: *const u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        replace_process(Some(unsafe { open(backend, seed, len) }?));
        Ok(())
    })
}

/// A context on a backend, with the caller's seed, or the system's for null and no bytes.
///
/// # Safety
/// As said at the top of the crate.
unsafe fn open(backend: *mut Backend, seed: *const u8, len: usize) -> Result<SigmaContext, CallFailure> {
    // SAFETY: the caller's promise.
    let backend = unsafe { shared("backend", backend) }?;
    let seed = if seed.is_null() && len == 0 {
        DealerSeed::from_os()?
    } else {
        CallFailure::unless_len("bytes of the seed", DealerSeed::BYTES, len)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("seed", seed.cast::<[u8; DealerSeed::BYTES]>(), 1) }?;
        DealerSeed::from_bytes(&bytes[0])
    };
    SigmaContext::new(Arc::clone(&backend.queue), seed)
}

/// Wipes all keys of the context, and keys that it wrote to its buffer and did not read.
///
/// These are wiped in their places, whatever the caller has put there since. The context then has
/// no buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_clear(context: *mut SigmaContext) -> Status {
    let clear = |context: &mut SigmaContext| {
        context.clear();
        Ok(())
    };
    // SAFETY: the caller's promise.
    guard(|| unsafe { CallContext::Caller(context).with(clear) })
}

/// As `trefoil_pfss_sigma_clear`, and closes the process's context.
///
/// The next call opens another one, with another seed.
#[unsafe(no_mangle)]
pub extern "C" fn suf_sigma_clear() -> Status {
    guard(|| {
        replace_process(None);
        Ok(())
    })
}

/// Wipes the keys that were consumed and the seed, and frees a context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_free(context: *mut SigmaContext) {
    // SAFETY: the caller's promise.
    unsafe { free(context) };
}

in_both_places! {
    /// Sets the buffer of keys: `capacity` bytes from `*cursor` on.
    ///
    /// Keys are written and read at `*cursor`, which moves on; the caller may move it within the
    /// buffer at any time, and have other bytes between keys.
    ///
    /// # Safety
    /// As said [at the top](crate#safety). `*cursor` and the buffer stay valid and unused by other
    /// threads until another buffer is set, or the context is cleared or freed. Where keys are
    /// read, bytes are initialised.
    trefoil_pfss_sigma_set_keybuf_ptr,
    ///
    /// # Safety
    /// As `trefoil_pfss_sigma_set_keybuf_ptr`.
    suf_sigma_set_keybuf_ptr,
    (cursor: *mut *mut u8, capacity: usize) |place| guard(|| {
        let buffer = KeyBuffer::new(cursor, capacity)?;
        place.with(|context| {
            context.set_buffer(buffer);
            Ok(())
        })
    })
}

in_both_places! {
    /// Sets the stream in whose order arrays in device memory are read and written.
    ///
    /// `stream` is a `CUstream` or `cudaStream_t` of the primary context of the context's device.
    /// Null, which is also the stream of a new context, is the legacy default stream. A backend on
    /// the processor has no streams, and takes null alone.
    ///
    /// # Safety
    /// As said [at the top](crate#safety). The stream lives until another is set or the context is
    /// freed, and as long as a call on the context runs.
    trefoil_pfss_sigma_set_stream,
    ///
    /// # Safety
    /// As `trefoil_pfss_sigma_set_stream`.
    trefoil_pfss_sigma_set_stream_global,
    (stream: *mut c_void) |place| guard(|| place.with(|context| context.set_stream(stream)))
}

/// Sets whether SIGMA's softmax and norms take these functions.
///
/// SUF reads this from variables of the environment, and takes none if they are not set.
#[unsafe(no_mangle)]
pub extern "C" fn trefoil_pfss_sigma_enable(softmax: bool, layernorm: bool) {
    SOFTMAX.store(softmax, Relaxed);
    LAYERNORM.store(layernorm, Relaxed);
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
