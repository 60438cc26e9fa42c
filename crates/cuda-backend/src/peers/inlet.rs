//! The way in for what another rank has.

use std::sync::Arc;

use backend_api::BackendError;

use super::board::Offer;
use crate::{
    CudaQueue, Link, Route,
    error::DriverFault,
    ffi::{CudaContext, CudaStream},
    mem::BlockRegion,
    submit::{Courier, copy_between, copy_through_host, copy_within},
};

/// The way in from one rank to another.
#[derive(Debug)]
pub(super) struct Inlet {
    owner: Arc<CudaContext>,
    way: CopyWay,
}

#[derive(Debug)]
enum CopyWay {
    Device,
    Peer,
    Host(Courier),
}

impl Inlet {
    /// The way from `owner` along the route of `link`.
    pub(super) fn new(owner: &CudaQueue, link: &Link) -> Result<Self, DriverFault> {
        let way = match link.route {
            Route::Device => CopyWay::Device,
            Route::Peer => CopyWay::Peer,
            Route::Host(_) => CopyWay::Host(Courier::new(owner.device())?),
        };
        Ok(Self { owner: Arc::clone(owner.device().context()), way })
    }

    /// Whether the device that has the bytes is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.owner.lost().is_some()
    }

    /// The courier's stream that the copies use besides the reader's, if there is one.
    pub(super) fn stream(&self) -> Option<&Arc<CudaStream>> {
        match &self.way {
            CopyWay::Device | CopyWay::Peer => None,
            CopyWay::Host(courier) => Some(courier.stream()),
        }
    }

    /// Copies the bytes of `offer` from `start` on to `target`, in the order of `q`.
    ///
    /// The holder of the offer keeps it until the copies are done, or publishes the point after
    /// them.
    ///
    /// # Errors
    /// The device's error. Copies that were submitted before may still run.
    pub(super) fn bring(
        &self,
        q: &CudaQueue,
        offer: &Offer,
        start: u64,
        target: BlockRegion<'_>,
    ) -> Result<(), BackendError> {
        let (track, source) = (q.track(), offer.address + start);
        let end = start.saturating_add(target.bytes());
        if end > offer.bytes {
            let (expected, got) = (end as usize, offer.bytes as usize);
            return Err(BackendError::Length { op: "copy between ranks", view: "the offer of a rank", expected, got });
        }
        offer.ready.hold_back(self.stream().unwrap_or(track.stream()))?;
        match &self.way {
            // SAFETY: the offer has `target.bytes()` bytes from there on, in this context, and its
            // rank neither frees nor writes them before the point where this rank has read them, or
            // before this rank reports that no copy runs any more.
            CopyWay::Device => unsafe { copy_within(track, target, source) },
            // SAFETY: as above; the bytes are of `owner`'s device.
            CopyWay::Peer => unsafe { copy_between(track, target, &self.owner, source) },
            // SAFETY: as above; the courier is of `owner`'s device, and waits until the bytes are there.
            CopyWay::Host(courier) => unsafe { copy_through_host(track, target, courier, source) },
        }
    }
}
