//! Handles of evaluations of descriptors, which the caller drives from exchange to exchange.
//!
//! # Safety
//! As said [at the top](crate#safety).

use std::sync::Arc;

use pfss::{MaskedKeys, PendingOnDevice, Shares, Step, StepOnDevice, Task, suf::BoolMode};
use runtime::AnyQueue;

use crate::{
    Backend, Keys,
    arrays::{ResultWords, check_calls},
    memory::{array, check, copy_of, exclusive, free, put, put_handle, shared},
    resident::ResidentShares,
    shares::{NOT_ADDITIVE, NOT_PACKED, additive, packed, unless_masked, wipe},
    status::{CallFailure, Status, guard},
    stream::{arrays_of_thread, shares_of, words_of},
};

/// A descriptor's evaluation by one party: bits have to be opened, or all is computed.
pub struct Evaluation {
    queue: Arc<AnyQueue>,
    /// None after a step that failed.
    step: Option<EvaluationStep>,
    /// Whether output words come under masks.
    masked_outputs: bool,
    /// The form of output bits.
    bools: BoolMode,
}

/// How far an evaluation is.
///
/// Descriptors whose words stay in device memory have no output bits.
enum EvaluationStep {
    OnHost(Step),
    OpenOnDevice(PendingOnDevice),
    DoneOnDevice(ResidentShares<1>),
}

impl EvaluationStep {
    /// The first step of a descriptor whose words stay in device memory.
    fn on_device(queue: &Arc<AnyQueue>, keys: MaskedKeys, hatx: &[u64]) -> Result<Self, CallFailure> {
        // Before an opening the gate has no words: it is passed on in their place.
        let made = ResidentShares::new(queue, |queue| match keys.eval_on_device(queue, Task::Suf, hatx) {
            Ok(StepOnDevice::Done(words)) => Ok([words]),
            Ok(StepOnDevice::Open(pending)) => Err(Ok(pending)),
            Err(error) => Err(Err(error)),
        });
        match made {
            Ok(words) => Ok(Self::DoneOnDevice(words)),
            Err(Ok(pending)) => Ok(Self::OpenOnDevice(pending)),
            Err(Err(error)) => Err(error.into()),
        }
    }
}

impl Evaluation {
    /// This party's masked bits, which are to be exchanged.
    fn pending(&self) -> Result<&[u32], CallFailure> {
        match &self.step {
            Some(EvaluationStep::OnHost(Step::Open(pending))) => Ok(pending.masked_bits()),
            Some(EvaluationStep::OpenOnDevice(pending)) => Ok(pending.masked_bits()),
            _ => Err(CallFailure::state("no opening of bits is pending")),
        }
    }

    /// The output words, under masks or not.
    fn words(&self, masked: bool) -> Result<ResultWords<'_>, CallFailure> {
        let words = match &self.step {
            Some(EvaluationStep::OnHost(Step::Done(shares))) => ResultWords::Host(&shares.words),
            Some(EvaluationStep::DoneOnDevice(words)) => ResultWords::Device(words),
            _ => return Err(unopened()),
        };
        unless_masked(self.masked_outputs, masked)?;
        Ok(words)
    }

    /// The output bits that `take` reads from shares.
    ///
    /// Shares without bits have the form `expected`.
    fn bools<'a, T>(
        &'a self,
        take: impl FnOnce(&'a Shares) -> Result<&'a [T], CallFailure>,
        (expected, other): (BoolMode, &str),
    ) -> Result<&'a [T], CallFailure> {
        match &self.step {
            Some(EvaluationStep::OnHost(Step::Done(shares))) => take(shares),
            Some(EvaluationStep::DoneOnDevice(_)) if self.bools == expected => Ok(&[]),
            Some(EvaluationStep::DoneOnDevice(_)) => Err(CallFailure::state(other)),
            _ => Err(unopened()),
        }
    }
}

fn unopened() -> CallFailure {
    CallFailure::state("no shares: the bits were not opened")
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        if let Some(EvaluationStep::OnHost(Step::Done(shares))) = &mut self.step {
            wipe(shares);
        }
    }
}

/// Starts an evaluation of a descriptor on the public masked inputs `hatx`.
///
/// There is one input for each element of the keys. Keys of gates by name are evaluated in batches.
/// A call that is refused for its arguments or for a capture leaves the keys unchanged. After that
/// they are spent, whether it succeeds or not, and the process refuses to evaluate another copy of
/// them. `hatx` may be in memory of the thread's device. If that device evaluates, the output words
/// of descriptors without output bits stay there until they are read.
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
            unsafe { (shared("backend", backend)?, exclusive("keys", keys)?, arrays.find("hatx", hatx, count)?) };
        // SAFETY: the caller's promise.
        let x_hat = unsafe { hatx.read() }?;
        check("evaluation", evaluation, 1)?; // before the keys are spent
        let gate = keys.gate()?;
        let Some(program) = gate.program() else {
            let expected = format!("expected keys of a program, got {}; evaluate them in a batch", gate.kind());
            return Err(CallFailure::new(Status::TREFOIL_PFSS_PROGRAM, expected));
        };
        let (masked_outputs, bools) = (gate.masks_outputs(), program.modes().bools);
        let on_device = hatx.is_on(&backend.queue) && Task::Suf.runs_on_device(gate);
        CallFailure::unless_len("masked inputs", keys.count()?, count)?;
        check_calls(&backend.queue)?;
        let queue = Arc::clone(&backend.queue);
        let step = if on_device {
            EvaluationStep::on_device(&queue, keys.take()?, &x_hat)?
        } else {
            EvaluationStep::OnHost(keys.take()?.eval(&*queue, Task::Suf, &x_hat)?)
        };
        let started = Evaluation { queue, step: Some(step), masked_outputs, bools };
        // SAFETY: the caller's promise.
        unsafe { put_handle("evaluation", started, evaluation) }
    })
}

/// How many words of masked bits have to be sent and received now; 0 when all is computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_pending(evaluation: *mut Evaluation, words: *mut usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let evaluation = unsafe { exclusive("evaluation", evaluation) }?;
        let pending = match evaluation.step {
            Some(EvaluationStep::OnHost(Step::Done(_)) | EvaluationStep::DoneOnDevice(_)) => 0,
            _ => evaluation.pending()?.len(),
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
    unsafe { copy_of(from, to, Evaluation::pending) }
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
        CallFailure::unless_len("words of masked bits", evaluation.pending()?.len(), words)?;
        check_calls(&evaluation.queue)?;
        evaluation.step = match evaluation.step.take() {
            Some(EvaluationStep::OnHost(Step::Open(pending))) => {
                Some(EvaluationStep::OnHost(pending.finish(&*evaluation.queue, peer)?))
            }
            Some(EvaluationStep::OpenOnDevice(pending)) => {
                let words = ResidentShares::new(&evaluation.queue, |queue| {
                    pending.finish(queue, peer, &[]).map(|words| [words])
                })?;
                Some(EvaluationStep::DoneOnDevice(words))
            }
            done => done,
        };
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
    unsafe { words_of(from, to, |evaluation| evaluation.words(true)) }
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
    unsafe { words_of(from, to, |evaluation| evaluation.words(false)) }
}

/// Additive shares of the output bits as 0 or 1 modulo `2^n`, `[count][bools]`.
///
/// The keys have additive bits. The bits are never masked; do not open them unless both parties may
/// know the bits. `bools` may be in memory of the thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_bool_share(evaluation: *mut Evaluation, bools: *mut u64, len: usize) -> Status {
    let (from, to) = (("evaluation", evaluation), ("shares of bits", bools, len));
    // SAFETY: the caller's promise.
    unsafe { shares_of(from, to, |evaluation| evaluation.bools(additive, (BoolMode::Additive, NOT_ADDITIVE))) }
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
    unsafe { shares_of(from, to, |evaluation| evaluation.bools(packed, (BoolMode::XorPacked, NOT_PACKED))) }
}

/// Wipes and frees an evaluation, finished or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_evaluation_free(evaluation: *mut Evaluation) {
    // SAFETY: the caller's promise.
    unsafe { free(evaluation) };
}
