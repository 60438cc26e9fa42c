//! The bridge's functions with a context of the caller's.

use core::ffi::c_int;
use std::sync::Arc;

use super::{
    buffer::KeyBuffer,
    calls::{Words, evaluate, keygen, next_keys, seed_of},
    context::SigmaContext,
    peer::{SigmaPeer, SigmaStats},
    request::{Function, Request},
};
use crate::{
    Backend,
    memory::{check, exclusive, free, put_handle, shared},
    status::{Status, guard},
};

/// Opens a context on a backend.
///
/// `seed` is 32 secret bytes from which keys are made, or null with `len` 0 for bytes from the
/// operating system. Contexts that make the two parties' keys apart need the same seed: whoever has
/// it and the masks of the inputs has both parties' keys. Contexts that evaluate need none. The
/// backend may be freed before the context.
///
/// # Safety
/// As said [at the top](crate#safety).
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
        let (backend, seed) = unsafe { (shared("backend", backend)?, seed_of(seed, len)?) };
        // SAFETY: the caller's promise.
        unsafe { put_handle("context", SigmaContext::new(Arc::clone(&backend.queue), seed), context) }
    })
}

/// Makes keys from the first deal on again.
///
/// The same calls with the same masks then make the same deals, for the other party too. For other
/// masks, open a context with another seed: masks that repeat by chance would show in equal keys.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_reset_keygen(context: *mut SigmaContext) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { exclusive("context", context) }?.reset_keygen();
        Ok(())
    })
}

/// Drops and wipes keys that were consumed and not evaluated.
///
/// SUF's call goes back to the first keys instead, to evaluate them again.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_reset_eval(context: *mut SigmaContext) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { exclusive("context", context) }?.reset_eval();
        Ok(())
    })
}

/// Reads the keys at the cursor into the context, and moves the cursor behind them.
///
/// Their bytes in the buffer are wiped.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_consume_key(context: *mut SigmaContext) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { exclusive("context", context) }?.consume())
}

/// Wipes all keys of the context, and keys that it wrote to its buffer and did not read.
///
/// These are wiped in their places, whatever the caller has put there since. The context then has
/// no buffer.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_clear(context: *mut SigmaContext) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { exclusive("context", context) }?.clear();
        Ok(())
    })
}

/// Sets the buffer of keys: `capacity` bytes from `*cursor` on.
///
/// Keys are written and read at `*cursor`, which moves on; the caller may move it within the buffer
/// at any time, and have other bytes between keys.
///
/// # Safety
/// As said [at the top](crate#safety). `*cursor` and the buffer stay valid and unused by other
/// threads until another buffer is set, or the context is cleared or freed. Where keys are read,
/// bytes are initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_set_keybuf_ptr(
    context: *mut SigmaContext,
    cursor: *mut *mut u8,
    capacity: usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut context, buffer) = unsafe { (exclusive("context", context)?, KeyBuffer::new(cursor, capacity)?) };
        context.set_buffer(buffer);
        Ok(())
    })
}

/// Wipes the keys that were consumed and the seed, and frees a context.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_free(context: *mut SigmaContext) {
    // SAFETY: the caller's promise.
    unsafe { free(context) };
}

/// Makes keys of GeLU or SiLU for `n` inputs, and appends them to the buffer.
///
/// `party` is the one whose keys they are, 0 or 1. `silu` selects SiLU. `bw` is the number of bits
/// of the ring of inputs and outputs, `scale` the number of fraction bits of both, 8 to 20. Inputs
/// satisfy `|x| < 2^12`, or `|x| < 2^(27 - scale)` above 15 fraction bits, and `bw` is at least
/// `scale + 14`, or 29. `input_mask` holds the masks of the inputs, and `output_mask` gets the
/// masks of the outputs.
///
/// If the buffer has too little room, or anything else is refused, nothing is written.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_keygen_activation(
    context: *mut SigmaContext,
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
        let mut context = unsafe { exclusive("context", context) }?;
        // SAFETY: the caller's promise.
        unsafe { keygen(&mut context, party, request, words) }
    })
}

/// Evaluates GeLU or SiLU on `n` masked inputs, with the next keys.
///
/// These are the oldest keys that were consumed and not evaluated, or else those at the cursor.
/// They must have been made for the same party, function, parameters and `n`; keys for another
/// call stay where they are. Keys are evaluated once, also if the evaluation fails.
///
/// `input_masked` holds the open inputs `x + r` modulo `2^bw`, equal for both parties, and
/// `output_masked` gets the open outputs `y + r_out`. `stats` gets the bytes and rounds of this
/// call added, or is null.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_eval_activation(
    context: *mut SigmaContext,
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
        let take = |party, request, words| {
            // SAFETY: the caller's promise.
            let mut context = unsafe { exclusive("context", context) }?;
            next_keys(&mut context, party, request, words)
        };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// Makes keys of `exp(-x)` of `x >= 0`, as `trefoil_pfss_sigma_keygen_activation`.
///
/// Inputs are integers below `2^(bw - 2)`, or any positive ones with 64 bits, and `bw` is at least
/// `scale + 7`. The result is 0 from 16 on.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_keygen_nexp(
    context: *mut SigmaContext,
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
        let mut context = unsafe { exclusive("context", context) }?;
        // SAFETY: the caller's promise.
        unsafe { keygen(&mut context, party, request, words) }
    })
}

/// Evaluates `exp(-x)` of `x >= 0`, as `trefoil_pfss_sigma_eval_activation`.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_eval_nexp(
    context: *mut SigmaContext,
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
        let take = |party, request, words| {
            // SAFETY: the caller's promise.
            let mut context = unsafe { exclusive("context", context) }?;
            next_keys(&mut context, party, request, words)
        };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// Makes keys of `1 / x` of `1 <= x <= nmax`, as `trefoil_pfss_sigma_keygen_activation`.
///
/// `nmax` is at most 4096, and `bw` at least `scale + 3 + log2(nmax)`, rounded up, or `scale + 4`.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_keygen_inverse(
    context: *mut SigmaContext,
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
        let mut context = unsafe { exclusive("context", context) }?;
        // SAFETY: the caller's promise.
        unsafe { keygen(&mut context, party, request, words) }
    })
}

/// Evaluates `1 / x` of `1 <= x <= nmax`, as `trefoil_pfss_sigma_eval_activation`.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_eval_inverse(
    context: *mut SigmaContext,
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
        let take = |party, request, words| {
            // SAFETY: the caller's promise.
            let mut context = unsafe { exclusive("context", context) }?;
            next_keys(&mut context, party, request, words)
        };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}

/// Makes keys of `1 / sqrt(x / extradiv)`, as `trefoil_pfss_sigma_keygen_activation`.
///
/// Inputs satisfy `1/16 <= x / extradiv <= 256`, and `bw` is at least
/// `scale + 11 + log2(extradiv)`, rounded up.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_keygen_rsqrt(
    context: *mut SigmaContext,
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
        let mut context = unsafe { exclusive("context", context) }?;
        // SAFETY: the caller's promise.
        unsafe { keygen(&mut context, party, request, words) }
    })
}

/// Evaluates `1 / sqrt(x / extradiv)`, as `trefoil_pfss_sigma_eval_activation`.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_sigma_eval_rsqrt(
    context: *mut SigmaContext,
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
        let take = |party, request, words| {
            // SAFETY: the caller's promise.
            let mut context = unsafe { exclusive("context", context) }?;
            next_keys(&mut context, party, request, words)
        };
        // SAFETY: the caller's promise.
        unsafe { evaluate(take, peer, party, request, words, stats) }
    })
}
