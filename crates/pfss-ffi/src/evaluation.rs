//! Handles of evaluations of descriptors, which the caller drives from exchange to exchange.
//!
//! # Safety
//! As said [at the top](crate#safety).

use std::sync::Arc;

use pfss::{Pending, Shares, Step, Task};
use runtime::AnyQueue;

use crate::{
    Backend, Keys,
    arrays::check_calls,
    memory::{array, check, copy_of, exclusive, free, put, put_handle, shared},
    shares::{additive, packed, unless_masked, wipe},
    status::{CallFailure, Status, guard},
    stream::{arrays_of_thread, shares_of},
};

/// A descriptor's evaluation by one party: bits have to be opened, or all is computed.
pub struct Evaluation {
    queue: Arc<AnyQueue>,
    /// None after a step that failed.
    step: Option<Step>,
    /// Whether output words come under masks.
    masked_outputs: bool,
}

impl Evaluation {
    fn pending(&self) -> Result<&Pending, CallFailure> {
        match &self.step {
            Some(Step::Open(pending)) => Ok(pending),
            _ => Err(CallFailure::state("no opening of bits is pending")),
        }
    }

    fn shares(&self) -> Result<&Shares, CallFailure> {
        match &self.step {
            Some(Step::Done(shares)) => Ok(shares),
            _ => Err(CallFailure::state("no shares: the bits were not opened")),
        }
    }

    /// The output words, under masks or not.
    fn words(&self, masked: bool) -> Result<&[u64], CallFailure> {
        let words = &self.shares()?.words;
        unless_masked(self.masked_outputs, masked)?;
        Ok(words)
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        if let Some(Step::Done(shares)) = &mut self.step {
            wipe(shares);
        }
    }
}

/// Starts an evaluation of a descriptor on the public masked inputs `hatx`.
///
/// There is one input for each element of the keys. Keys of gates by name are evaluated in batches.
/// A call that is refused for its arguments or for a capture leaves the keys unchanged. After that
/// they are spent, whether it succeeds or not, and the process refuses to evaluate another copy of
/// them. `hatx` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluate(
    backend: *mut Backend,
    keys: *mut Keys,
    hatx: *const u64,
    count: usize,
    evaluation: *mut *mut Evaluation,
) -> Status {
    guard(|| {
        let arrays = arrays_of_thread()?;
        // SAFETY: the caller's promise.
        let (backend, mut keys, hatx) =
            unsafe { (shared("backend", backend)?, exclusive("keys", keys)?, arrays.input("hatx", hatx, count)?) };
        check("evaluation", evaluation, 1)?; // before the keys are spent
        let gate = keys.gate()?;
        if gate.program().is_none() {
            let expected = format!("expected keys of a program, got {}; evaluate them in a batch", gate.kind());
            return Err(CallFailure::new(Status::TREFOIL_PFSS_PROGRAM, expected));
        }
        let masked_outputs = gate.masks_outputs();
        CallFailure::unless_len("masked inputs", keys.count()?, count)?;
        check_calls(&backend.queue)?;
        let step = Some(keys.take()?.eval(&*backend.queue, Task::Suf, &hatx)?);
        let queue = Arc::clone(&backend.queue);
        // SAFETY: the caller's promise.
        unsafe { put_handle("evaluation", Evaluation { queue, step, masked_outputs }, evaluation) }
    })
}

/// How many words of masked bits have to be sent and received now; 0 when all is computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_pending(evaluation: *mut Evaluation, words: *mut usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let evaluation = unsafe { exclusive("evaluation", evaluation) }?;
        let pending = match evaluation.step {
            Some(Step::Done(_)) => 0,
            _ => evaluation.pending()?.masked_bits().len(),
        };
        // SAFETY: the caller's promise.
        unsafe { put("words", pending, words) }
    })
}

/// This party's masked bits, to be sent to the other party.
///
/// They are rows of `ceil(count / 32)` words, with element `e` in bit `e % 32` of word `e / 32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_masked_bits(
    evaluation: *mut Evaluation,
    bits: *mut u32,
    words: usize,
) -> Status {
    let (from, to) = (("evaluation", evaluation), ("words of masked bits", bits, words));
    // SAFETY: the caller's promise.
    unsafe { copy_of(from, to, |evaluation| Ok(evaluation.pending()?.masked_bits())) }
}

/// Takes in the other party's masked bits and goes on to the next opening, or to the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_resume(
    evaluation: *mut Evaluation,
    peer_bits: *const u32,
    words: usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut evaluation, peer) =
            unsafe { (exclusive("evaluation", evaluation)?, array("peer_bits", peer_bits, words)?) };
        CallFailure::unless_len("words of masked bits", evaluation.pending()?.masked_bits().len(), words)?;
        check_calls(&evaluation.queue)?;
        if let Some(Step::Open(pending)) = evaluation.step.take() {
            evaluation.step = Some(pending.finish(&*evaluation.queue, peer)?);
        }
        Ok(())
    })
}

/// Additive shares of the masked output words `y + r_out` modulo `2^n`.
///
/// They are `[count][words]`: word `i` of element `e` is at `e * words + i`. The keys are of a gate
/// with masked outputs. The shares are meant to be opened: the sum of both parties' shares is the
/// `hatx` of the next gate. `haty` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_haty_share(evaluation: *mut Evaluation, haty: *mut u64, len: usize) -> Status {
    let (from, to) = (("evaluation", evaluation), ("shares of words", haty, len));
    // SAFETY: the caller's promise.
    unsafe { shares_of(from, to, |evaluation| evaluation.words(true)) }
}

/// Additive shares of the output words `y` themselves modulo `2^n`.
///
/// They are in the order of `trefoil_pfss_haty_share`. The keys are of a gate without masked
/// outputs. Do not open the shares unless both parties may know `y`. The array may be in memory of
/// the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_y_share(evaluation: *mut Evaluation, y: *mut u64, len: usize) -> Status {
    let (from, to) = (("evaluation", evaluation), ("shares of words", y, len));
    // SAFETY: the caller's promise.
    unsafe { shares_of(from, to, |evaluation| evaluation.words(false)) }
}

/// Additive shares of the output bits as 0 or 1 modulo `2^n`, `[count][bools]`.
///
/// The keys have additive bits. The bits are never masked; do not open them unless both parties may
/// know the bits. `bools` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bool_share(evaluation: *mut Evaluation, bools: *mut u64, len: usize) -> Status {
    let (from, to) = (("evaluation", evaluation), ("shares of bits", bools, len));
    // SAFETY: the caller's promise.
    unsafe { shares_of(from, to, |evaluation| additive(evaluation.shares()?)) }
}

/// XOR shares of the output bits, `[bools][ceil(count / 32)]` words.
///
/// Element `e` is in bit `e % 32` of word `e / 32`. The keys have XOR-shared bits. The bits are
/// never masked; do not open them unless both parties may know the bits. `bools` may be in memory
/// of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bool_share_packed(
    evaluation: *mut Evaluation,
    bools: *mut u32,
    words: usize,
) -> Status {
    let (from, to) = (("evaluation", evaluation), ("words of bits", bools, words));
    // SAFETY: the caller's promise.
    unsafe { shares_of(from, to, |evaluation| packed(evaluation.shares()?)) }
}

/// Wipes and frees an evaluation, finished or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_free(evaluation: *mut Evaluation) {
    // SAFETY: the caller's promise.
    unsafe { free(evaluation) };
}
