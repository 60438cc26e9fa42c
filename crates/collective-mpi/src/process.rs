//! A rank that is this process.

use core::{convert::Infallible, fmt, time::Duration};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
};

use backend_api::CollectiveError;
use collective::{Call, Message, Transport};

use crate::{
    JoinError,
    agent::{self, ExchangeOrder, ExchangeWords, FAREWELL, OwnRank},
    group::SharedFailure,
};

/// A rank that is a process.
///
/// A dedicated thread makes all MPI calls, so that notices of others are received while this rank
/// computes, and waits can end.
///
/// When dropped, it notifies all other ranks that it has left, waits up to five seconds until they
/// have ended too, and then ends MPI, which waits for all. A process that has not received every
/// rank's notice, or has pending words of a failed exchange that another rank never receives, ends
/// without ending MPI, and `mpirun` ends the others.
pub struct Mpi {
    place: OwnRank,
    group: Arc<SharedFailure>,
    /// There until it is dropped.
    orders: Option<Sender<ExchangeOrder>>,
    /// Closed when the thread is done.
    ended: Mutex<Receiver<Infallible>>,
}

impl Mpi {
    /// Joins as the rank that MPI assigns, together with all other started processes.
    ///
    /// A call waits for a missing rank as long as `patience`, and a second longer if it waits for
    /// several ranks.
    ///
    /// # Errors
    /// See [`JoinError`]: a process joins once, and needs all others. If MPI itself cannot start,
    /// it reports that and ends the process.
    pub fn join(patience: Duration) -> Result<Self, JoinError> {
        let group = Arc::new(SharedFailure::default());
        let (orders, received) = mpsc::channel();
        let (found, place) = mpsc::sync_channel(1);
        let (ending, ended) = mpsc::channel();
        let own = Arc::clone(&group);
        let run = move || agent::run(&found, received, own, patience, ending);
        let started = thread::Builder::new().name("mpi".to_owned()).spawn(run);
        started.map_err(|error| JoinError::Thread { reason: error.to_string() })?;
        let place = place.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => JoinError::Late { seconds: patience.as_secs() },
            RecvTimeoutError::Disconnected => {
                JoinError::Thread { reason: "it ended before MPI was initialised".to_owned() }
            }
        })??;
        Ok(Self { place, group, orders: Some(orders), ended: Mutex::new(ended) })
    }
}

impl Transport for Mpi {
    type Received = Vec<u32>;

    fn rank(&self) -> usize {
        self.place.rank
    }

    fn ranks(&self) -> usize {
        self.place.ranks
    }

    fn exchange(&self, call: &Call, message: Message<'_>) -> Result<Vec<Vec<u32>>, CollectiveError> {
        let words = match message {
            Message::Same(words) => ExchangeWords::Same(words.to_vec()),
            Message::Each(parts) => ExchangeWords::Each(parts.iter().map(|part| part.to_vec()).collect()),
        };
        let (reply, answer) = mpsc::channel();
        let order = ExchangeOrder { call: call.clone(), words, reply };
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        match answer.recv() {
            Ok(came) if sent => came,
            _ => Err(CollectiveError::Transport("the MPI thread ended".to_owned())),
        }
    }

    fn failure(&self) -> Option<CollectiveError> {
        self.group.failure()
    }

    fn fail(&self, why: CollectiveError) {
        self.group.fail(why);
    }
}

impl Drop for Mpi {
    /// Others that wait for this rank, or will, fail.
    fn drop(&mut self) {
        // The thread takes this as its end, and announces that it leaves.
        self.orders = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It comes with the thread's end; ending MPI takes the others' goodbyes and some time more.
        let (Ok(_) | Err(_)) = ended.recv_timeout(3 * FAREWELL);
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnRank { rank, ranks } = self.place;
        f.debug_struct("Mpi").field("rank", &rank).field("ranks", &ranks).finish_non_exhaustive()
    }
}
