//! Runs of plans, which the caller drives from message to message.
//!
//! A session computes on a separate thread and waits there for each message of the other party,
//! so that no code of the caller runs inside the library. Between two calls that thread waits.
//!
//! # Safety
//! As said [at the top](crate#safety).

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

use pfss::{Channel, ChannelError, OpenedWeights, Party, PfssError, Session};
use runtime::AnyQueue;
use zeroize::Zeroizing;

use super::{PlanHandle, computation::Computation};
use crate::{
    Backend,
    arrays::{CallerArray, Input, ResultWords, check_calls},
    memory::{array, check, copy_of, exclusive, free, put, put_handle, shared},
    resident::ResidentShares,
    status::{CallFailure, Status, guard},
    stream::{arrays_of_thread, words_of},
};

/// This party's shares of inputs or of a result.
pub(super) type ShareWords = Zeroizing<Vec<u64>>;

/// One party's run of a plan: a message has to be exchanged, or all is computed.
pub struct RunHandle {
    queue: Arc<AnyQueue>,
    state: RunState,
    /// This party's messages, from the thread.
    messages: Receiver<Vec<u8>>,
    /// The other party's messages, to the thread. None once the run is freed.
    answers: Option<Sender<Vec<u8>>>,
    /// The thread. None once it has ended.
    worker: Option<JoinHandle<Result<RunResult, PfssError>>>,
}

enum RunState {
    /// This party's message of the round.
    Round(Vec<u8>),
    Done(RunResult),
    Failed,
}

/// The result of a run.
pub(super) enum RunResult {
    /// This party's shares.
    Words(ShareWords),
    /// This party's shares, in device memory.
    OnDevice(ResidentShares<1>),
    /// Weights that were opened under their mask.
    Weights(Arc<OpenedWeights>),
}

/// The session's end of a run.
pub(super) struct Relay {
    party: Party,
    messages: Sender<Vec<u8>>,
    answers: Receiver<Vec<u8>>,
}

impl Channel for Relay {
    fn party(&self) -> Party {
        self.party
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.messages.send(message.to_vec()).map_err(|_| ChannelError::Lost { doing: "sending" })
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        let answer = self.answers.recv().map_err(|_| ChannelError::Lost { doing: "receiving" })?;
        if answer.len() == len {
            Ok(answer)
        } else {
            Err(ChannelError::Length { expected: len, got: answer.len() as u64 })
        }
    }
}

impl RunHandle {
    /// Starts a run of a plan on inputs in host memory, and waits for its first message.
    fn of_plan(
        queue: Arc<AnyQueue>,
        computation: Arc<Computation>,
        keys: &[u8],
        inputs: [Input<'_>; 2],
    ) -> Result<Self, CallFailure> {
        // Everything that can be refused is refused before the keys are used.
        computation.check_inputs(inputs.each_ref().map(|input| input.len()))?;
        let keys = computation.read(keys)?;
        let party = keys.party()?;
        let inputs: [ShareWords; 2] = inputs.map(Input::into_words);
        Self::start(queue, party, move |session, queue| {
            let [x, y] = [&inputs[0][..], &inputs[1][..]];
            computation.run(session, queue, keys, [x, y]).map(|words| RunResult::Words(ShareWords::new(words)))
        })
    }

    /// [`of_plan`](Self::of_plan) on inputs in device memory, where the result stays.
    ///
    /// # Safety
    /// As [`CallerArray::shares`], for both inputs.
    unsafe fn on_device(
        queue: Arc<AnyQueue>,
        computation: Arc<Computation>,
        keys: &[u8],
        inputs: [CallerArray<u64>; 2],
    ) -> Result<Self, CallFailure> {
        computation.check_inputs(inputs.each_ref().map(CallerArray::len))?;
        let keys = computation.read(keys)?;
        let (party, ring) = (keys.party()?, computation.ring());
        let copied = ResidentShares::new(&queue, |queue| {
            let [x, y] = &inputs;
            // SAFETY: the caller's promise.
            unsafe { Ok::<_, CallFailure>([x.shares(queue, party, ring)?, y.shares(queue, party, ring)?]) }
        })?;
        Self::start(queue, party, move |session, _| {
            let words = copied.map(|[x, y]| Ok([computation.run_on_device(session, keys, [x, y])?]));
            words.map(RunResult::OnDevice)
        })
    }

    /// Starts `work` on a queue in a session of `party`, and waits for its first message.
    pub(super) fn start(
        queue: Arc<AnyQueue>,
        party: Party,
        work: impl FnOnce(&mut Session<Relay>, &AnyQueue) -> Result<RunResult, PfssError> + Send + 'static,
    ) -> Result<Self, CallFailure> {
        // The session has the other ends of both channels.
        let (to_caller, messages) = channel();
        let (answers, from_caller) = channel();
        let relay = Relay { party, messages: to_caller, answers: from_caller };
        check_calls(&queue)?; // before the keys are spent
        let on = Arc::clone(&queue);
        let in_session = move || work(&mut Session::new(relay), &on);
        let worker = thread::Builder::new().name("pfss run".to_owned()).spawn(in_session);
        let worker = worker.map_err(|error| CallFailure::new(Status::TREFOIL_PFSS_INTERNAL, error))?;
        let (answers, worker) = (Some(answers), Some(worker));
        let mut run = Self { queue, state: RunState::Failed, messages, answers, worker };
        run.advance()?;
        Ok(run)
    }

    /// Waits for the next message, or for the end.
    fn advance(&mut self) -> Result<(), CallFailure> {
        self.state = RunState::Failed;
        if let Ok(message) = self.messages.recv() {
            self.state = RunState::Round(message);
            return Ok(());
        }
        // The session has ended: the thread has a result, or the reason why there is none.
        let outcome = match self.worker.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended?,
            _ => return Err(CallFailure::new(Status::TREFOIL_PFSS_INTERNAL, "the run ended without a result")),
        };
        self.state = RunState::Done(outcome);
        Ok(())
    }

    /// This party's message of the round; none if all is computed.
    fn message(&self) -> Result<Option<&[u8]>, CallFailure> {
        match &self.state {
            RunState::Round(message) => Ok(Some(message)),
            RunState::Done(_) => Ok(None),
            RunState::Failed => Err(CallFailure::state("the run failed earlier")),
        }
    }

    /// The result, once all is computed.
    pub(super) fn outcome(&self) -> Result<&RunResult, CallFailure> {
        if let RunState::Done(outcome) = &self.state {
            return Ok(outcome);
        }
        self.message()?; // names an earlier failure
        Err(CallFailure::state("no result: a message is due"))
    }

    /// The shares of the result, once all is computed.
    fn words(&self) -> Result<ResultWords<'_>, CallFailure> {
        match self.outcome()? {
            RunResult::Words(words) => Ok(ResultWords::Host(words)),
            RunResult::OnDevice(words) => Ok(ResultWords::Device(words)),
            RunResult::Weights(_) => {
                Err(CallFailure::state("no shares: the run opened weights; use `trefoil_pfss_run_weights`"))
            }
        }
    }

    /// This party's message of the round that is open.
    fn due(&self) -> Result<&[u8], CallFailure> {
        self.message()?.ok_or_else(|| CallFailure::state("no message is due: all is computed"))
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.answers = None; // ends a session that waits for a message
        if let Some(worker) = self.worker.take() {
            worker.join().ok();
        }
    }
}

/// Starts one party's run of a plan with its keys, on its shares of the inputs.
///
/// The numbers of elements of `x` and `y` are in the plan's information; `y` may be null if it has
/// none. Keys of another plan and wrong numbers of elements are refused with the keys unchanged.
/// After that the keys are spent, whether the run succeeds or not, and the process refuses them.
/// Backend and plan may be freed before the run. `x` and `y` may be in memory of the thread's
/// device; the call copies them, within the device if that computes, where the result then stays
/// until it is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_start(
    backend: *mut Backend,
    plan: *mut PlanHandle,
    keys: *const u8,
    keys_len: usize,
    x: *const u64,
    x_len: usize,
    y: *const u64,
    y_len: usize,
    run: *mut *mut RunHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (backend, plan) = unsafe { (shared("backend", backend)?, shared("plan", plan)?) };
        let arrays = arrays_of_thread()?;
        // SAFETY: the caller's promise.
        let keys = unsafe { array("keys", keys, keys_len) }?;
        let inputs = [arrays.find("x", x, x_len)?, arrays.find("y", y, y_len)?];
        let (queue, computation) = (Arc::clone(&backend.queue), Arc::clone(&plan.computation));
        // The run is refused before the keys are spent.
        let started = if computation.runs_on_device() && inputs.iter().any(|input| input.is_on(&queue)) {
            check("run", run, 1)?;
            // SAFETY: the caller's promise.
            unsafe { RunHandle::on_device(queue, computation, keys, inputs) }?
        } else {
            let [x, y] = &inputs;
            // SAFETY: the caller's promise.
            let inputs = unsafe { [x.read()?, y.read()?] };
            check("run", run, 1)?;
            RunHandle::of_plan(queue, computation, keys, inputs)?
        };
        // SAFETY: the caller's promise.
        unsafe { put_handle("run", started, run) }
    })
}

/// How many bytes have to be sent and received in the round; 0 when all is computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_pending(run: *mut RunHandle, bytes: *mut usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let run = unsafe { exclusive("run", run) }?;
        let len = run.message()?.map_or(0, <[u8]>::len);
        // SAFETY: the caller's promise.
        unsafe { put("bytes", len, bytes) }
    })
}

/// This party's message of the round, to be sent to the other party.
///
/// It has the length of `trefoil_pfss_run_pending`. It holds masked values and a digest of
/// everything public so far, and nothing else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_masked(run: *mut RunHandle, bytes: *mut u8, len: usize) -> Status {
    // SAFETY: the caller's promise.
    unsafe { copy_of(("run", run), ("bytes of the message", bytes, len), |run| run.due()) }
}

/// Takes in the other party's message of the round.
///
/// The call computes up to the next message, or to the end.
///
/// A message of another length is refused, and the round stays open. After any other failure, such
/// as a message of another step, the run never gives results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_absorb(run: *mut RunHandle, peer: *const u8, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut run, peer) = unsafe { (exclusive("run", run)?, array("peer", peer, len)?) };
        CallFailure::unless_len("bytes of the message", run.due()?.len(), len)?;
        check_calls(&run.queue)?;
        if let Some(answers) = &run.answers {
            answers.send(peer.to_vec()).ok(); // a session that has ended gives its reason when the thread is joined
        }
        run.advance()
    })
}

/// Additive shares of the result, modulo `2^out_n` of the plan's information.
///
/// `len` is `outputs` of that information. The result of a product by opened weights has the rows
/// of its keys and the columns of the weights, modulo `2^n` of the weights.
///
/// Do not open the shares unless both parties may know the result. `y` may be in memory of the
/// thread's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_y_share(run: *mut RunHandle, y: *mut u64, len: usize) -> Status {
    // SAFETY: the caller's promise.
    unsafe { words_of(("run", run), ("shares of words", y, len), |run| run.words()) }
}

/// Wipes and frees a run, finished or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_run_free(run: *mut RunHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(run) };
}
