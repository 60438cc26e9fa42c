//! A rank's communicator, its pending exchanges, and its end.

use std::{
    sync::{Arc, Mutex, MutexGuard, TryLockError},
    thread,
    time::{Duration, Instant},
};

use backend_api::CollectiveError;
use collective::Transport;

use crate::{
    DeviceCtx,
    error::DriverFault,
    ffi::{Communicator, CudaEvent, NcclFault},
    streams::Track,
    submit::{Leg, exchange},
    sync::{LONGEST_SLEEP, lock, pause},
};

/// Grace period after a failure of the group.
///
/// It bounds how long exchanges that all ranks have submitted may take to run through once the
/// group has failed, and how long a communicator may take to end in peace.
const GRACE: Duration = Duration::from_secs(1);

/// How long NCCL may take to have done what was called.
const PATIENCE: Duration = Duration::from_mins(10);

/// State shared by the threads of a rank: the caller and the watcher.
pub(super) struct RankLink<T> {
    pub(super) transport: T,
    pub(super) device: Arc<DeviceCtx>,
    state: Mutex<LinkState>,
}

#[derive(Debug)]
struct LinkState {
    /// There until the group ends.
    comm: Option<Communicator>,
    /// After the last exchange that all ranks have submitted.
    last: Option<CudaEvent>,
}

impl<T: Transport> RankLink<T> {
    pub(super) fn new(transport: T, device: &Arc<DeviceCtx>, comm: Communicator) -> Self {
        let state = Mutex::new(LinkState { comm: Some(comm), last: None });
        Self { transport, device: Arc::clone(device), state }
    }

    /// Waits until the library has done what was called.
    ///
    /// # Errors
    /// What failed, here or on another rank.
    pub(super) fn wait(transport: &T, comm: &Communicator) -> Result<(), NcclFault> {
        let start = Instant::now();
        while !comm.is_ready()? {
            let waited = start.elapsed();
            if transport.failure().is_some() || waited > PATIENCE {
                let (status, text) =
                    (cuda_loader::nccl::Status::IN_PROGRESS, "timed out waiting for other ranks".to_owned());
                return Err(NcclFault::Refused { call: "an operation of NCCL", status, text });
            }
            pause(waited);
        }
        Ok(())
    }

    /// Submits an exchange, and returns the event after it.
    pub(super) fn submit(
        &self,
        track: &Track,
        op: &'static str,
        legs: &[Leg<'_>],
    ) -> Result<CudaEvent, CollectiveError> {
        let state = lock(&self.state);
        let Some(comm) = &state.comm else {
            let own = CollectiveError::GaveUp { rank: self.transport.rank() };
            return Err(self.transport.failure().unwrap_or(own));
        };
        let submitted = exchange(track, op, comm, legs, || Self::wait(&self.transport, comm));
        let event = submitted.and_then(|()| Ok(self.device.events().record(track.stream())?));
        event.map_err(|fault| Self::reason(&self.transport, fault))
    }

    /// The reason why this rank failed.
    ///
    /// It is the device's error, or else the failure of an earlier rank, or else the library's
    /// error.
    pub(super) fn reason(transport: &T, fault: NcclFault) -> CollectiveError {
        match fault {
            NcclFault::Device(error) => error.into(),
            refused @ NcclFault::Refused { .. } => transport.failure().unwrap_or_else(|| refused.into()),
        }
    }

    /// Notes that all ranks have submitted the exchange before `event`.
    pub(super) fn confirm(&self, event: CudaEvent) {
        if let Some(before) = lock(&self.state).last.replace(event) {
            self.device.events().give_back(before);
        }
    }

    /// Ends the communicator, since the group has failed.
    pub(super) fn end(&self, why: &CollectiveError) {
        self.end_with(lock(&self.state), why);
    }

    fn end_with(&self, mut state: MutexGuard<'_, LinkState>, why: &CollectiveError) {
        let Some(comm) = state.comm.take() else { return };
        if let Some(last) = state.last.take() {
            let runs_through = within_grace(|| last.is_complete().or_else(is_lost));
            if !runs_through {
                let cause = format!("an exchange between devices did not complete and was aborted: {why}");
                self.device.context().disown(cause);
            }
        }
        // Dropped without being finalized, it aborts pending operations.
        drop(comm);
    }

    /// Ends the communicator if an exchange is pending and the group or NCCL has failed.
    pub(super) fn look(&self) {
        // Whoever holds the state looks by itself.
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let (Some(comm), Some(_)) = (&state.comm, &state.last) else { return };
        let why = self.transport.failure().or_else(|| Some(comm.is_ready().err()?.into()));
        if let Some(why) = why {
            self.transport.fail(CollectiveError::GaveUp { rank: self.transport.rank() });
            self.end_with(state, &why);
        }
    }

    /// Waits until the last exchange has run through. `false` if it has not, and never will.
    pub(super) fn is_settled(&self) -> bool {
        loop {
            // The lock is free between looks, so that the thread that watches can end what waits for ever.
            let state = lock(&self.state);
            let (Some(last), true) = (&state.last, state.comm.is_some()) else { return state.comm.is_some() };
            match last.is_complete() {
                Ok(true) => return true,
                Err(DriverFault::Lost(_)) => return false,
                Ok(false) | Err(DriverFault::Refused { .. }) => {}
            }
            drop(state);
            thread::sleep(LONGEST_SLEEP);
        }
    }

    /// Ends the communicator in peace: its work is done.
    pub(super) fn part(&self) {
        let mut state = lock(&self.state);
        let Some(comm) = state.comm.take() else { return };
        let finalized = comm.finalize().and_then(|()| {
            let mut failure = None;
            let done = within_grace(|| match comm.is_ready() {
                Ok(ready) => Ok(ready),
                Err(fault) => {
                    failure = Some(fault);
                    Ok(true)
                }
            });
            failure.map_or(Ok(done), Err)
        });
        if finalized.is_ok_and(|done| done) {
            comm.destroy();
        }
        if let Some(last) = state.last.take() {
            self.device.events().give_back(last);
        }
    }
}

/// A device that is lost runs nothing any more.
fn is_lost(fault: DriverFault) -> Result<bool, DriverFault> {
    match fault {
        DriverFault::Lost(_) => Ok(true),
        DriverFault::Refused { .. } => Err(fault),
    }
}

/// Asks until the answer is yes, for as long as there is grace.
///
/// A question that is refused is asked again.
fn within_grace(mut is_done: impl FnMut() -> Result<bool, DriverFault>) -> bool {
    let start = Instant::now();
    loop {
        if is_done().unwrap_or(false) {
            return true;
        }
        let waited = start.elapsed();
        if waited > GRACE {
            return false;
        }
        pause(waited);
    }
}
