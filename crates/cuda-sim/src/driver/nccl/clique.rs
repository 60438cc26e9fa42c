//! How ranks come together and part.

use cuda_loader::nccl::{Status, UniqueId};

use crate::driver::{
    counters::Report,
    entry::DriverCall,
    handle::{Id, fresh},
    state::{Clique, Communicator, Driver, PROGRESS},
};

/// The arguments of a rank that joins.
pub(super) struct JoinArguments {
    pub(super) id: UniqueId,
    pub(super) ranks: i32,
    pub(super) rank: i32,
    pub(super) non_blocking: bool,
}

/// The number that the bytes of a unique id begin with.
fn number(id: &UniqueId) -> u64 {
    let bytes: [u8; 8] = std::array::from_fn(|at| id.internal[at] as u8);
    u64::from_le_bytes(bytes)
}

impl Driver {
    pub(super) fn unique_id(&mut self) -> UniqueId {
        let number = fresh() as u64;
        self.cliques.insert(number, Clique::default());
        let mut id = UniqueId::default();
        for (byte, value) in id.internal.iter_mut().zip(number.to_le_bytes()) {
            *byte = value as std::ffi::c_char;
        }
        id
    }

    /// The status of a communicator.
    ///
    /// `IN_PROGRESS` until all ranks have come, or the reason why it cannot be used.
    pub(super) fn standing(&self, comm: Id) -> Result<(), Status> {
        let comm = self.comms.get(&comm).ok_or(Status::INVALID_ARGUMENT)?;
        comm.error.ok()?;
        let clique = self.cliques.get(&comm.clique).ok_or(Status::INTERNAL_ERROR)?;
        if let Some(refused) = clique.refused {
            return Err(refused);
        }
        if clique.members.iter().any(Option::is_none) {
            return Err(Status::IN_PROGRESS);
        }
        Ok(())
    }

    /// Ends a communicator.
    ///
    /// Its operations end as they are. Operations that wait for it get the error that it is gone.
    pub(super) fn part(&mut self, id: Id, aborted: bool) -> Result<(), Status> {
        let comm = self.comms.remove(&id).ok_or(Status::INVALID_ARGUMENT)?;
        for leave in comm.leaves {
            if let Some(task) = self.queue.get_mut(leave) {
                task.unmet = 0;
            }
        }
        let Some(clique) = self.cliques.get_mut(&comm.clique) else { return Ok(()) };
        let own = comm.rank;
        let mut told: Vec<Id> = Vec::new();
        for ((from, to, _), lane) in &mut clique.lanes {
            if *from == own || *to == own {
                let halves = lane.sent.drain(..).chain(lane.awaited.drain(..));
                told.extend(halves.map(|half| half.comm).filter(|&other| other != id));
            }
        }
        if aborted {
            told.extend(clique.members.iter().flatten().filter(|&&other| other != id));
        }
        let members = clique.members.clone();
        for other in told {
            if let Some(other) = self.comms.get_mut(&other)
                && other.error == Status::SUCCESS
            {
                other.error = Status::REMOTE_ERROR;
            }
        }
        if members.iter().flatten().all(|member| !self.comms.contains_key(member)) {
            self.cliques.remove(&comm.clique);
        }
        PROGRESS.notify_all();
        Ok(())
    }
}

/// Makes the communicator of a rank in the current context.
pub(super) fn join(entry: &mut DriverCall, place: &JoinArguments) -> Result<Id, Status> {
    let &JoinArguments { id, ranks, rank, non_blocking } = place;
    let lost = |_| Status::UNHANDLED_CUDA_ERROR;
    entry.check().map_err(lost)?;
    let (context, device) = (entry.context().map_err(lost)?, entry.device().map_err(lost)?);
    let rank = usize::try_from(rank).ok().filter(|_| rank < ranks).ok_or(Status::INVALID_ARGUMENT)?;
    let driver = entry.driver();
    let number = number(&id);
    // No rank can be reached by an id that was never created.
    let clique = driver.cliques.get_mut(&number).ok_or(Status::SYSTEM_ERROR)?;
    if clique.members.is_empty() {
        clique.members = vec![None; ranks as usize];
    }
    if clique.members.len() != ranks as usize || clique.members[rank].is_some() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let other = |member: &Id| driver.comms.get(member).is_some_and(|other| other.device == device);
    if clique.members.iter().flatten().any(other) {
        clique.refused = Some(Status::INVALID_USAGE);
        let why = format!("two ranks of a communicator are on device {device}");
        driver.reports.push(Report::Nccl(why));
    }
    let comm = fresh();
    clique.members[rank] = Some(comm);
    let communicator = Communicator {
        clique: number,
        rank,
        context,
        device,
        non_blocking,
        error: Status::SUCCESS,
        busy: u32::from(non_blocking),
        finalized: false,
        leaves: Vec::new(),
    };
    driver.comms.insert(comm, communicator);
    PROGRESS.notify_all();
    Ok(comm)
}

/// Waits until all ranks have come to each of these communicators.
pub(super) fn complete(entry: &mut DriverCall, comms: &[Id]) -> Result<(), Status> {
    let outcome =
        |driver: &Driver| comms.iter().map(|&comm| driver.standing(comm)).find(Result::is_err).unwrap_or(Ok(()));
    let came = entry.await_others(|driver| outcome(driver) != Err(Status::IN_PROGRESS));
    if came { outcome(entry.driver()) } else { Err(Status::SYSTEM_ERROR) }
}
