//! One operation of one rank, split into sends and receives.

use cuda_loader::{ffi::CUstream, nccl::Status};

use crate::driver::{
    counters::Report,
    entry::DriverCall,
    handle::{ApiHandle, Id},
    state::What,
};

/// The operation that a call requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperationKind {
    Send { peer: i32 },
    Receive { peer: i32 },
    Broadcast { root: i32 },
    AllGather,
}

/// A call: elements at `from` to be sent, at `to` to be received.
#[derive(Clone, Copy, Debug)]
pub(super) struct NcclCall {
    pub(super) kind: OperationKind,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) count: usize,
    pub(super) data_type: i32,
    pub(super) comm: Id,
    pub(super) stream: CUstream,
}

/// An operation that has been found valid.
#[derive(Clone, Debug)]
pub(super) struct NcclOperation {
    pub(super) comm: Id,
    pub(super) stream: Id,
    pub(super) legs: Vec<Leg>,
}

/// What goes to one rank or comes from one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) sends: bool,
    /// The other rank; it may be this one.
    pub(super) peer: usize,
    pub(super) is_collective: bool,
    pub(super) address: u64,
    pub(super) what: What,
}

fn element_bytes(data_type: i32) -> Result<u64, Status> {
    match data_type {
        0 | 1 | 10 | 11 => Ok(1),
        6 | 9 => Ok(2),
        2 | 3 | 7 => Ok(4),
        4 | 5 | 8 => Ok(8),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

impl NcclCall {
    /// Takes the call apart.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a communicator, rank, type or address that is none;
    /// `UNHANDLED_CUDA_ERROR` for a stream that is not of the communicator's device.
    pub(super) fn operation(&self, entry: &mut DriverCall) -> Result<NcclOperation, Status> {
        let driver = entry.driver();
        let comm = driver.comms.get(&self.comm).ok_or(Status::INVALID_ARGUMENT)?;
        let (own, context, device) = (comm.rank, comm.context, comm.device);
        let ranks = driver.cliques.get(&comm.clique).map_or(0, |clique| clique.members.len());
        let is_own = driver.streams.get(&self.stream.id()).is_some_and(|stream| stream.context == context);
        if !is_own {
            return Err(Status::UNHANDLED_CUDA_ERROR);
        }
        let bytes = element_bytes(self.data_type)?.checked_mul(self.count as u64).ok_or(Status::INVALID_ARGUMENT)?;
        let peer = |peer: i32| usize::try_from(peer).ok().filter(|&peer| peer < ranks).ok_or(Status::INVALID_ARGUMENT);
        let legs = if bytes == 0 { Vec::new() } else { self.legs(own, ranks, bytes, peer)? };
        for leg in &legs {
            let end = leg.address.saturating_add(bytes);
            let found = driver.memory.find(leg.address);
            if !found.is_some_and(|found| found.device == Some(device) && end <= found.base + found.bytes) {
                let reason = format!("{:#x}..{end:#x} is not memory of device {device}", leg.address);
                driver.report(Report::Address { call: leg.what.name, reason });
                return Err(Status::INVALID_ARGUMENT);
            }
        }
        Ok(NcclOperation { comm: self.comm, stream: self.stream.id(), legs })
    }

    fn legs(
        &self,
        own: usize,
        ranks: usize,
        bytes: u64,
        rank: impl Fn(i32) -> Result<usize, Status>,
    ) -> Result<Vec<Leg>, Status> {
        let leg = |sends: bool, peer: usize, address: u64, name: &'static str, root: i32| Leg {
            sends,
            peer,
            is_collective: !matches!(self.kind, OperationKind::Send { .. } | OperationKind::Receive { .. }),
            address,
            what: What { name, root, bytes },
        };
        let others = (0..ranks).filter(|&rank| rank != own);
        Ok(match self.kind {
            OperationKind::Send { peer } => vec![leg(true, rank(peer)?, self.from, "ncclSend", 0)],
            OperationKind::Receive { peer } => vec![leg(false, rank(peer)?, self.to, "ncclSend", 0)],
            OperationKind::Broadcast { root } if rank(root)? == own => {
                let mut legs: Vec<Leg> = others.map(|peer| leg(true, peer, self.from, "ncclBroadcast", root)).collect();
                if self.from != self.to {
                    legs.push(leg(true, own, self.from, "ncclBroadcast", root));
                    legs.push(leg(false, own, self.to, "ncclBroadcast", root));
                }
                legs
            }
            OperationKind::Broadcast { root } => vec![leg(false, rank(root)?, self.to, "ncclBroadcast", root)],
            OperationKind::AllGather => {
                let place = |rank: usize| self.to.wrapping_add(rank as u64 * bytes);
                let is_in_place = self.from == place(own);
                let both = (0..ranks).filter(|&peer| peer != own || !is_in_place).flat_map(|peer| {
                    let sent = leg(true, peer, self.from, "ncclAllGather", 0);
                    [sent, leg(false, peer, place(peer), "ncclAllGather", 0)]
                });
                both.collect()
            }
        })
    }
}
