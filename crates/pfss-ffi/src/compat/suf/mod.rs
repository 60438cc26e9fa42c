//! The calls of SUF's batch, interval and packed classes, one key for each input.
//!
//! SUF's functions take constants that the caller has shifted by a mask, and have them in the clear
//! in both parties' keys. Here constants are of the input itself, and public; the mask is drawn by
//! the dealer, a fresh one for each input. `include/suf_compat.hpp` has SUF's classes on top.
//!
//! # Safety
//! As said [at the top](crate#safety).

mod form;

use std::sync::Arc;

use bytemuck::NoUninit;
use pfss::{Gate, Shares};
use runtime::AnyQueue;
use zeroize::{Zeroize, Zeroizing};

pub use form::SufKeys;
use form::{PublicFunction, interval_lut};

use crate::{
    Backend, Bytes, DealerHandle,
    arrays::{CallerArray, ResultWords, check_calls},
    keys::mask_inputs,
    memory::{BothPlaces, array, exclusive, free, in_turn, put_handle, shared},
    shares::{packed, wipe},
    status::{CallFailure, Status, guard},
    stream::arrays_of_thread,
};

/// Deals `count` keys of a form and its gate for both parties.
///
/// # Safety
/// As said [at the top](crate#safety), for handles and places.
unsafe fn deal(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    count: usize,
    [party_0, party_1]: [*mut *mut Bytes; 2],
    form: impl FnOnce() -> Result<(PublicFunction, Gate), CallFailure>,
) -> Status {
    guard(|| {
        let (form, gate) = form()?;
        // SAFETY: the caller's promise.
        let (mut dealer, backend) = unsafe { (in_turn("dealer", dealer)?, shared("backend", backend)?) };
        let places = BothPlaces::new(party_0, party_1)?;
        let keys = form.bytes(dealer.dealer.deal(&*backend.queue, &gate, count)?).map(Bytes::of);
        // SAFETY: the caller's promise.
        unsafe { places.put(keys) }
    })
}

/// Evaluates keys on the masked inputs `hatx` and fills `outs`, which `what` names.
///
/// `width` is the number of elements for each input. `fill` spends the keys.
///
/// # Safety
/// As said [at the top](crate#safety), for handles and arrays.
unsafe fn evaluate<T>(
    (backend, keys): (*mut Backend, *mut SufKeys),
    (hatx, count): (*const u64, usize),
    (what, outs, len): (&'static str, *mut T, usize),
    width: impl FnOnce(&SufKeys) -> Result<usize, CallFailure>,
    fill: impl FnOnce(&mut SufKeys, &Arc<AnyQueue>, &[u64], CallerArray<T>) -> Result<(), CallFailure>,
) -> Status {
    guard(|| {
        let arrays = arrays_of_thread()?;
        // SAFETY: the caller's promise.
        let (backend, mut keys, hatx) =
            unsafe { (shared("backend", backend)?, exclusive("keys", keys)?, arrays.input("hatx", hatx, count)?) };
        // everything is looked at before the keys are spent
        keys.check_inputs(count)?;
        CallFailure::unless_len(what, count.saturating_mul(width(&keys)?), len)?;
        let outs = arrays.find("outs", outs, len)?;
        check_calls(&backend.queue)?;
        fill(&mut keys, &backend.queue, &hatx, outs)
    })
}

/// [`evaluate`] with elements that `collect` takes from the shares, in host memory.
///
/// # Safety
/// As [`evaluate`].
unsafe fn evaluate_bits<T: NoUninit + Zeroize>(
    handles: (*mut Backend, *mut SufKeys),
    hatx: (*const u64, usize),
    outs: (&'static str, *mut T, usize),
    width: impl FnOnce(&SufKeys) -> Result<usize, CallFailure>,
    collect: impl FnOnce(&SufKeys, &Shares) -> Result<Zeroizing<Vec<T>>, CallFailure>,
) -> Status {
    let fill = |keys: &mut SufKeys, queue: &Arc<AnyQueue>, hatx: &[u64], outs: CallerArray<T>| {
        let mut shares = keys.eval(queue, hatx)?;
        let elements = collect(keys, &shares);
        wipe(&mut shares);
        // SAFETY: the caller's promise.
        unsafe { outs.fill(&elements?) }
    };
    // SAFETY: the caller's promise.
    unsafe { evaluate(handles, hatx, outs, width, fill) }
}

/// SUF's `gen_dcf` for `count` inputs: keys of `payload` if `x < alpha`, else of zeros.
///
/// `x` has `in_bits` bits, 1 to 64, and `alpha` as well. `alpha` and the payload of `len` bytes are
/// public, and part of both parties' keys. Each input has a key with a fresh mask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_gen_dcf(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    in_bits: u32,
    alpha: u64,
    payload: *const u8,
    len: usize,
    count: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    // SAFETY: the caller's promise.
    let form = || unsafe {
        let payload = array("payload", payload, len)?.to_vec();
        PublicFunction::Dcf { alpha, payload }.with_comparison(in_bits)
    };
    // SAFETY: the caller's promise.
    unsafe { deal(dealer, backend, count, [party_0, party_1], form) }
}

/// SUF's `gen_packed_lt` for `count` inputs: keys of `x < t` for each threshold `t`.
///
/// `x` has `in_bits` bits, 1 to 64, and so do the thresholds, which are public and part of both
/// parties' keys. One tree answers all thresholds of an input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_gen_packed_lt(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    in_bits: u32,
    thresholds: *const u64,
    len: usize,
    count: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    // SAFETY: the caller's promise.
    let form = || unsafe {
        let thresholds = array("thresholds", thresholds, len)?.to_vec();
        PublicFunction::PackedLt { thresholds }.with_comparison(in_bits)
    };
    // SAFETY: the caller's promise.
    unsafe { deal(dealer, backend, count, [party_0, party_1], form) }
}

/// SUF's `gen_interval_lut` for `count` inputs: keys of the words of the interval of `x`.
///
/// Interval `i` is `cutpoints[i] <= x < cutpoints[i + 1]` and has `out_words` words of 64 bits from
/// `payload[i * out_words]` on, 16 at most. Cut points ascend from 0 to `2^in_bits`, which is
/// written as 0 if `in_bits` is 64. They and the payload are public. Inputs are below `2^in_bits`,
/// and are shared and opened modulo `2^64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_gen_interval_lut(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    in_bits: u32,
    out_words: usize,
    cutpoints: *const u64,
    cutpoints_len: usize,
    payload: *const u64,
    payload_len: usize,
    count: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    // SAFETY: the caller's promise.
    let form = || unsafe {
        let cutpoints = array("cutpoints", cutpoints, cutpoints_len)?;
        let gate = interval_lut(in_bits, out_words, cutpoints, array("payload", payload, payload_len)?)?;
        Ok((PublicFunction::IntervalLut { words: out_words }, gate))
    };
    // SAFETY: the caller's promise.
    unsafe { deal(dealer, backend, count, [party_0, party_1], form) }
}

/// Reads keys from the bytes that one of the three calls above gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_keys_read(bytes: *const u8, len: usize, keys: *mut *mut SufKeys) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let read = SufKeys::read(unsafe { array("bytes", bytes, len) }?)?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("keys", read, keys) }
    })
}

/// Masks this party's input shares, one for each key, as `trefoil_pfss_keys_mask_inputs`.
///
/// More inputs than keys are refused: one mask for many values reveals their differences. `x` and
/// `masked` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_keys_mask_inputs(
    keys: *mut SufKeys,
    x: *const u64,
    count: usize,
    masked: *mut u64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { mask_inputs(keys, x, count, masked, |keys| keys.for_inputs(count)) }
}

/// SUF's `eval_dcf_many_u64`: XOR shares of the payload or zeros, `[count][payload]`.
///
/// `hatx` are the opened masked inputs, one for each key. SUF's broadcast, one key for all inputs,
/// is refused: one mask for many values reveals their differences. A call that is refused for its
/// arguments or for a capture leaves the keys unchanged; any other spends them. Nothing has to be
/// exchanged. `hatx` and `outs` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_eval_dcf_many(
    backend: *mut Backend,
    keys: *mut SufKeys,
    hatx: *const u64,
    count: usize,
    outs: *mut u8,
    len: usize,
) -> Status {
    let width = |keys: &SufKeys| Ok(keys.payload()?.len());
    let collect = |keys: &SufKeys, shares: &Shares| {
        // The payload is public, so that each share of the bit selects it by itself.
        let (payload, bits) = (keys.payload()?, packed(shares)?);
        let select = |e: usize| 0u8.wrapping_sub(((bits[e / 32] >> (e % 32)) & 1) as u8);
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        (0..count).for_each(|e| bytes.extend(payload.iter().map(|byte| byte & select(e))));
        Ok(bytes)
    };
    // SAFETY: the caller's promise.
    unsafe { evaluate_bits((backend, keys), (hatx, count), ("bytes of shares", outs, len), width, collect) }
}

/// SUF's `eval_packed_lt_many`: XOR shares of bit masks, `[count][ceil(thresholds / 64)]`.
///
/// Threshold `t` is in bit `t % 64` of word `t / 64`. Otherwise as
/// `trefoil_pfss_suf_eval_dcf_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_eval_packed_lt_many(
    backend: *mut Backend,
    keys: *mut SufKeys,
    hatx: *const u64,
    count: usize,
    outs: *mut u64,
    len: usize,
) -> Status {
    let width = |keys: &SufKeys| Ok(keys.thresholds()?.div_ceil(64));
    let collect = |keys: &SufKeys, shares: &Shares| {
        // Rows of elements become bits of thresholds.
        let (words, bits, row) = (width(keys)?, packed(shares)?, count.div_ceil(32));
        let mut masks = Zeroizing::new(vec![0u64; len]);
        for t in 0..keys.thresholds()? {
            for e in 0..count {
                let bit = (bits[t * row + e / 32] >> (e % 32)) & 1;
                masks[e * words + t / 64] |= u64::from(bit) << (t % 64);
            }
        }
        Ok(masks)
    };
    // SAFETY: the caller's promise.
    unsafe { evaluate_bits((backend, keys), (hatx, count), ("words of bit masks", outs, len), width, collect) }
}

/// SUF's `eval_interval_lut_many_u64`: additive shares of words, `[count][out_words]`.
///
/// They are modulo `2^64`. Otherwise as `trefoil_pfss_suf_eval_dcf_many`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_eval_interval_lut_many(
    backend: *mut Backend,
    keys: *mut SufKeys,
    hatx: *const u64,
    count: usize,
    outs: *mut u64,
    len: usize,
) -> Status {
    let fill = |keys: &mut SufKeys, queue: &Arc<AnyQueue>, hatx: &[u64], outs: CallerArray<u64>| {
        if outs.is_on(queue) && keys.runs_on_device() {
            let words = keys.eval_on_device(queue, hatx)?;
            // SAFETY: the caller's promise.
            return unsafe { outs.fill_words(ResultWords::Device(&words)) };
        }
        let words = Zeroizing::new(keys.eval(queue, hatx)?.words);
        // SAFETY: the caller's promise.
        unsafe { outs.fill(&words) }
    };
    // SAFETY: the caller's promise.
    unsafe { evaluate((backend, keys), (hatx, count), ("shares of words", outs, len), SufKeys::words, fill) }
}

/// Wipes and frees keys of SUF's calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_suf_keys_free(keys: *mut SufKeys) {
    // SAFETY: the caller's promise.
    unsafe { free(keys) };
}
