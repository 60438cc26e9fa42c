//! How the operations of ranks meet on their streams.

use std::sync::Arc;

use cuda_loader::nccl::Status;

use super::operation::{Leg, NcclOperation};
use crate::driver::{
    counters::Report,
    entry::DriverCall,
    spec::Link,
    state::{
        Driver, PROGRESS, TransferSide,
        queue::{QueuedTask, VectorClock},
        transfer::{Copy, CopyLocation},
        work::{Carry, ExchangeRanges, WorkUnit},
    },
};

/// Enqueues operations of one group on their streams.
///
/// Operations of one communicator on one stream are merged into one.
///
/// # Errors
/// Why a communicator cannot be used; then none is put anywhere.
pub(super) fn launch(entry: &mut DriverCall, operations: Vec<NcclOperation>) -> Result<(), Status> {
    let mut pieces: Vec<NcclOperation> = Vec::new();
    for operation in operations {
        check(entry.driver(), &operation)?;
        match pieces.iter_mut().find(|piece| (piece.comm, piece.stream) == (operation.comm, operation.stream)) {
            Some(piece) => piece.legs.extend(operation.legs),
            None => pieces.push(operation),
        }
    }
    for piece in pieces.into_iter().filter(|piece| !piece.legs.is_empty()) {
        place(entry, piece);
    }
    PROGRESS.notify_all();
    entry.settle();
    Ok(())
}

fn check(driver: &Driver, operation: &NcclOperation) -> Result<(), Status> {
    match driver.standing(operation.comm) {
        // The call before has to be done.
        Err(Status::IN_PROGRESS) => return Err(Status::INVALID_ARGUMENT),
        other => other?,
    }
    let comm = &driver.comms[&operation.comm];
    if comm.non_blocking && comm.busy > 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    if comm.finalized {
        return Err(Status::INVALID_USAGE);
    }
    let members = driver.cliques.get(&comm.clique).map_or(&[][..], |clique| &clique.members);
    if members.iter().flatten().any(|member| !driver.comms.contains_key(member)) {
        return Err(Status::REMOTE_ERROR);
    }
    let stream = driver.streams.get(&operation.stream).ok_or(Status::UNHANDLED_CUDA_ERROR)?;
    if stream.capture.is_some() {
        return Err(Status::INVALID_USAGE);
    }
    let is_lost = driver.contexts.get(&comm.context).is_none_or(|context| context.lost.is_some());
    if is_lost { Err(Status::UNHANDLED_CUDA_ERROR) } else { Ok(()) }
}

/// Enqueues the beginning and the end of an operation on its stream.
///
/// The transfers between them are stored for other ranks to find.
fn place(entry: &mut DriverCall, piece: NcclOperation) {
    let effect = entry.effect;
    let driver = entry.driver();
    let NcclOperation { comm, stream, legs } = piece;
    let ranges = |sends: bool| {
        let ends = legs.iter().filter(|leg| leg.sends == sends);
        let mut ranges: Vec<_> = ends.map(|leg| leg.address..leg.address + leg.what.bytes).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup();
        ranges
    };
    let exchange = WorkUnit::Exchange(Arc::new(ExchangeRanges { reads: ranges(true), writes: ranges(false) }));
    let arrive = driver.submit(stream, WorkUnit::Nothing, None);
    let clock = driver.clock_of(stream);
    let leave = driver.submit(stream, exchange, effect);
    let number = driver.clock_of(stream).count(stream);
    if let Some(task) = driver.queue.get_mut(leave) {
        task.unmet = legs.len();
    }
    let Some(communicator) = driver.comms.get_mut(&comm) else { return };
    communicator.busy = u32::from(communicator.non_blocking);
    communicator.leaves.push(leave);
    let (own, clique) = (communicator.rank, communicator.clique);
    let (device, context) = (communicator.device, communicator.context);
    for Leg { sends, peer, is_collective, address, what } in legs {
        let (who, clock) = ((stream, number), clock.clone());
        let half = TransferSide { comm, what, address, device, context, stream, arrive, leave, who, clock };
        let Some(clique) = driver.cliques.get_mut(&clique) else { return };
        let (from, to) = if sends { (own, peer) } else { (peer, own) };
        let lane = clique.lanes.entry((from, to, is_collective)).or_default();
        let other = if sends { lane.awaited.pop_front() } else { lane.sent.pop_front() };
        match other {
            Some(other) if sends => driver.meet(&half, &other),
            Some(other) => driver.meet(&other, &half),
            None if sends => lane.sent.push_back(half),
            None => lane.awaited.push_back(half),
        }
    }
}

impl Driver {
    /// Copies data from a sending rank to its receiver.
    ///
    /// Both have reached the operation on their streams.
    fn meet(&mut self, sent: &TransferSide, awaited: &TransferSide) {
        if sent.what != awaited.what {
            let (sent_what, awaited_what) = (sent.what, awaited.what);
            self.report(Report::Nccl(format!(
                "{} of {} bytes (root {}) meets {} of {} bytes (root {})",
                sent_what.name,
                sent_what.bytes,
                sent_what.root,
                awaited_what.name,
                awaited_what.bytes,
                awaited_what.root
            )));
            for comm in [sent.comm, awaited.comm] {
                if let Some(comm) = self.comms.get_mut(&comm) {
                    comm.error = Status::INVALID_USAGE;
                }
            }
            return;
        }
        let bytes = sent.what.bytes;
        let mut copy = Copy::flat(CopyLocation::Device(awaited.address), CopyLocation::Device(sent.address), bytes);
        if sent.device != awaited.device {
            copy.dropped = self.spec.link(awaited.device, sent.device) == Link::Dropped;
            *self.counters.nccl_bytes.entry((sent.device, awaited.device)).or_default() += bytes;
        }
        let mut clock = awaited.clock.clone();
        clock.join(&sent.clock);
        let carry = Carry { copy, comm: awaited.comm, source_context: sent.context, leave: awaited.leave };
        let work = WorkUnit::Carry(Arc::new(carry));
        let after = vec![sent.arrive, awaited.arrive];
        let task = self.queue.push(QueuedTask::new(awaited.context, awaited.stream, work, after, clock, awaited.who));
        for (half, other) in [(sent, awaited), (awaited, sent)] {
            if let Some(leave) = self.queue.get_mut(half.leave) {
                leave.after.push(task);
                leave.unmet = leave.unmet.saturating_sub(1);
            }
            self.learn_on(half, &other.clock);
        }
    }

    /// Orders the work after an operation on its stream.
    ///
    /// It comes after everything that the other side came after.
    fn learn_on(&mut self, half: &TransferSide, clock: &VectorClock) {
        if let Some(stream) = self.streams.get_mut(&half.stream) {
            stream.clock.join(clock);
        }
        let later = |task: &QueuedTask| task.who.0 == half.who.0 && task.who.1 >= half.who.1;
        for task in self.queue.pending_mut().filter(|task| later(task)) {
            task.clock.join(clock);
        }
    }
}
