//! The thread that talks to MPI: it alone does.

use core::{convert::Infallible, mem, time::Duration};
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender},
    },
    thread,
    time::Instant,
};

use backend_api::CollectiveError;
use collective::Call;
use mpi::{
    Tag, Threading,
    environment::Universe,
    point_to_point::MatchedReceiveVec as _,
    request::{Request, StaticScope},
    topology::SimpleCommunicator,
    traits::{Communicator as _, Destination as _, Source as _},
};

use crate::{JoinError, flight::Flight, group::SharedFailure, wire::Notice};

/// Time limit for the other ranks to end when a rank ends.
///
/// They may be computing, and have not yet read the failure.
pub(crate) const FAREWELL: Duration = Duration::from_secs(5);

/// How long the thread sleeps when idle.
pub(crate) const IDLE: Duration = Duration::from_millis(5);

/// The tag of notices; calls use other tags.
const NOTICE: Tag = 0;

/// Which rank this process is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnRank {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

/// An exchange that this rank comes to.
pub(crate) struct ExchangeOrder {
    pub(crate) call: Call,
    pub(crate) words: ExchangeWords,
    pub(crate) reply: Sender<Result<Vec<Vec<u32>>, CollectiveError>>,
}

/// Words to send in an exchange.
pub(crate) enum ExchangeWords {
    /// To every rank the same.
    Same(Vec<u32>),
    /// To each rank its own.
    Each(Vec<Vec<u32>>),
}

impl ExchangeWords {
    pub(crate) fn to(&self, rank: usize) -> &[u32] {
        match self {
            Self::Same(words) => words,
            Self::Each(parts) => &parts[rank],
        }
    }
}

/// Starts MPI, reports this process's rank, and serves orders until none can follow.
///
/// Ends MPI if all ranks have ended.
pub(crate) fn run(
    found: &SyncSender<Result<OwnRank, JoinError>>,
    orders: Receiver<ExchangeOrder>,
    group: Arc<SharedFailure>,
    patience: Duration,
    ending: Sender<Infallible>,
) {
    let begun = begin();
    // The caller still waits, or its patience has run out; then the other ranks' patience will run out too.
    let (Ok(()) | Err(_)) = found.send(begun.as_ref().map(|(_, place)| *place).map_err(JoinError::clone));
    let Ok((universe, place)) = begun else { return };
    let world = universe.world();
    let left = vec![None; place.ranks];
    let mut agent = Agent {
        world: &world,
        place,
        patience,
        orders,
        group,
        completed: 0,
        left,
        notices: Vec::new(),
        is_leaving: false,
        ending: Some(ending),
    };
    agent.serve();
    let all_left = agent.leave(None);
    let Agent { notices, ending, .. } = agent;
    if all_left {
        drop(universe);
    } else {
        // To end MPI would be to wait for the others.
        notices.into_iter().for_each(mem::forget);
        mem::forget(universe);
    }
    drop(ending);
}

fn begin() -> Result<(Universe, OwnRank), JoinError> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled).ok_or(JoinError::Joined)?;
    if threading < Threading::Funneled {
        return Err(JoinError::Thread {
            reason: "this MPI does not support threads (`MPI_THREAD_FUNNELED`)".to_owned(),
        });
    }
    let world = universe.world();
    let place = OwnRank { rank: world.rank() as usize, ranks: world.size() as usize };
    Ok((universe, place))
}

/// State of the thread.
pub(crate) struct Agent<'w> {
    pub(crate) world: &'w SimpleCommunicator,
    pub(crate) place: OwnRank,
    pub(crate) patience: Duration,
    pub(crate) orders: Receiver<ExchangeOrder>,
    pub(crate) group: Arc<SharedFailure>,
    /// How many exchanges this rank has completed.
    pub(crate) completed: u64,
    /// For each rank that said goodbye, how many exchanges it completed.
    pub(crate) left: Vec<Option<u64>>,
    /// Notices still being sent to others.
    notices: Vec<Request<'static, [u32], StaticScope>>,
    /// Whether this rank said goodbye.
    is_leaving: bool,
    /// Dropped when this rank needs to be waited for no longer.
    ending: Option<Sender<Infallible>>,
}

impl Agent<'_> {
    fn serve(&mut self) {
        loop {
            self.listen();
            match self.orders.recv_timeout(IDLE) {
                Ok(order) => self.exchange(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let OwnRank { rank, ranks } = self.place;
        (0..ranks).filter(move |&other| other != rank)
    }

    /// Hears what others say at any time, and tells them what this rank has not told yet.
    pub(crate) fn listen(&mut self) {
        while let Some(found) = self.world.any_process().immediate_matched_probe_with_tag(NOTICE) {
            let (words, status) = found.matched_receive_vec::<u32>();
            match Notice::decode(&words) {
                Some(Notice::Leaving { completed }) => self.left[status.source_rank() as usize] = Some(completed),
                Some(Notice::Failed { completed, why }) => self.group.has_failed(why, completed),
                None => self.group.fail(unreadable(status.source_rank() as usize)),
            }
        }
        if let Some(why) = self.group.to_tell() {
            self.tell(&Notice::Failed { completed: self.completed, why });
        }
        for notice in mem::take(&mut self.notices) {
            self.notices.extend(notice.test().err());
        }
    }

    /// Sends a notice to all others, including ranks that have left.
    ///
    /// Those ranks wait for this rank's notices. A rank sends at most two notices, so their memory
    /// may be leaked: MPI owns it until they arrive, and a rank that hangs may never receive them.
    fn tell(&mut self, notice: &Notice) {
        let words: &'static [u32] = notice.encode().leak();
        for rank in self.others() {
            let process = self.world.process_at_rank(rank as i32);
            self.notices.push(process.immediate_send_with_tag(StaticScope, words, NOTICE));
        }
    }

    /// Announces that this rank leaves and waits for the others to leave, for a limited time.
    ///
    /// `flight` progresses meanwhile. Returns whether all ranks have ended.
    pub(crate) fn leave(&mut self, mut flight: Option<&mut Flight<'_, '_>>) -> bool {
        self.listen();
        if !mem::replace(&mut self.is_leaving, true) {
            self.tell(&Notice::Leaving { completed: self.completed });
        }
        let end = Instant::now() + FAREWELL;
        while !self.all_left() && Instant::now() < end {
            if let Some(flight) = &mut flight {
                flight.poll();
            }
            thread::sleep(Duration::from_millis(1));
            self.listen();
        }
        self.all_left()
    }

    /// Whether all others have left and received this rank's notices.
    fn all_left(&self) -> bool {
        self.notices.is_empty() && self.others().all(|rank| self.left[rank].is_some())
    }

    /// Lets the process end without MPI, since a pending message never completes.
    ///
    /// The process ends with this thread in it.
    pub(crate) fn hang(&mut self) -> ! {
        self.ending = None;
        loop {
            thread::park();
        }
    }
}

/// The error for a message that this version does not define.
pub(crate) fn unreadable(rank: usize) -> CollectiveError {
    CollectiveError::Transport(format!("rank {rank} sent a message that this version does not define"))
}
