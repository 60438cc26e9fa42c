//! The data that a rank sends and receives by NCCL.

use std::sync::Arc;

use backend_api::BackendError;

use crate::{
    ffi::{self, Communicator, NcclFault},
    mem::{BlockAccess, BlockRegion, DeviceBlock},
    streams::Track,
};

/// One part of an exchange. Regions hold whole words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leg<'a> {
    /// Words for another rank.
    Send { to: usize, from: BlockRegion<'a> },
    /// Words of another rank.
    Receive { from: usize, to: BlockRegion<'a> },
    /// Words that all have as the root has them.
    Broadcast { root: usize, region: BlockRegion<'a> },
    /// Words of all ranks, `words` of each; this rank's own are in place.
    AllGather { rank: usize, all: BlockRegion<'a>, words: u64 },
    /// A copy of a rank to itself.
    Copy { from: BlockRegion<'a>, to: BlockRegion<'a> },
}

impl<'a> Leg<'a> {
    fn uses(self) -> [Option<(&'a Arc<DeviceBlock>, BlockAccess)>; 2] {
        let read = |region: BlockRegion<'a>| Some((region.block(), BlockAccess::Read));
        let write = |region: BlockRegion<'a>| Some((region.block(), BlockAccess::Write));
        match self {
            Self::Send { from, .. } => [read(from), None],
            Self::Receive { to, .. } => [write(to), None],
            Self::Broadcast { region, .. } => [write(region), None],
            Self::AllGather { all, .. } => [write(all), None],
            Self::Copy { from, to } => [read(from), write(to)],
        }
    }
}

/// Submits the parts of one exchange together.
///
/// Returns once the library has put them on the stream. `is_done` waits for that.
pub(crate) fn exchange(
    track: &Track,
    op: &'static str,
    comm: &Communicator,
    legs: &[Leg<'_>],
    is_done: impl FnOnce() -> Result<(), NcclFault>,
) -> Result<(), NcclFault> {
    let uses: Vec<_> = legs.iter().flat_map(|leg| leg.uses()).flatten().collect();
    let admitted = track.admit(op, &uses)?;
    let stream = track.stream();
    comm.group(|| {
        legs.iter().try_for_each(|&leg| {
            // SAFETY: regions are alive until the stream has passed this use of them; a view that is written is exclusive.
            unsafe {
                match leg {
                    Leg::Send { to, from } => comm.send(from.address(), from.bytes() / 4, to, stream),
                    Leg::Receive { from, to } => comm.receive(to.address(), to.bytes() / 4, from, stream),
                    Leg::Broadcast { root, region } => {
                        comm.broadcast(region.address(), region.bytes() / 4, root, stream)
                    }
                    Leg::AllGather { rank, all, words } => comm.all_gather(all.address(), words, rank, stream),
                    Leg::Copy { .. } => Ok(()),
                }
            }
        })
    })?;
    is_done()?;
    for &leg in legs {
        if let Leg::Copy { from, to } = leg {
            // SAFETY: as above, and the two are of different views.
            unsafe { ffi::copy_on_device(stream, to.address(), from.address(), to.bytes()) }
                .map_err(BackendError::from)?;
        }
    }
    drop(admitted);
    Ok(())
}
