//! Copies from memory of another rank, in the order of a track's work.
//!
//! The other rank's memory is on the same device or on another.

use std::sync::Arc;

use backend_api::BackendError;
use zeroize::Zeroizing;

use super::transfer::CHUNK_BYTES;
use crate::{
    device::DeviceCtx,
    error::DriverFault,
    ffi::{self, CudaContext, CudaStream, Events},
    mem::{BlockAccess, BlockRegion, Content, PinnedPiece},
    streams::Track,
};

const OP: &str = "copy between ranks";

/// Copies to `target` from memory of the same context.
///
/// # Safety
/// From `source` on there are `target.bytes()` bytes of device memory, which stay alive and
/// unwritten until the track's stream has run this.
pub(crate) unsafe fn copy_within(track: &Track, target: BlockRegion<'_>, source: u64) -> Result<(), BackendError> {
    let _admitted = track.admit(OP, &[(target.block(), BlockAccess::Write)])?;
    // SAFETY: the region is alive until the stream has passed this use of it; the rest is this function's contract.
    unsafe { ffi::copy_on_device(track.stream(), target.address(), source, target.bytes()) }?;
    Ok(())
}

/// Copies to `target` from memory of another device, `owner`'s.
///
/// # Safety
/// As of [`copy_within`].
pub(crate) unsafe fn copy_between(
    track: &Track,
    target: BlockRegion<'_>,
    owner: &CudaContext,
    source: u64,
) -> Result<(), BackendError> {
    let _admitted = track.admit(OP, &[(target.block(), BlockAccess::Write)])?;
    // SAFETY: the region is alive until the stream has passed this use of it; the rest is this function's contract.
    unsafe { ffi::copy_from_peer(track.stream(), target.address(), (owner, source), target.bytes()) }?;
    Ok(())
}

/// A stream that copies device memory to the host, for another device to fetch it there.
#[derive(Debug)]
pub(crate) struct Courier {
    /// Of the device that has the memory, for these copies alone.
    stream: Arc<CudaStream>,
    events: Arc<Events>,
}

impl Courier {
    /// A courier from `owner`.
    pub(crate) fn new(owner: &DeviceCtx) -> Result<Self, DriverFault> {
        Ok(Self { stream: CudaStream::new(owner.context())?, events: Arc::clone(owner.events()) })
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Gives pinned memory back once no copy of the courier uses it, or never.
    fn settle(&self, piece: PinnedPiece) {
        if !self.stream.is_settled() {
            piece.abandon();
        }
    }
}

/// Copies to `target` from memory of another device, through pinned memory of the host.
///
/// The copies run in the order of the track's stream here and of `courier`'s stream there.
///
/// # Safety
/// As of [`copy_within`]; the memory is of the courier's device, and its stream comes after
/// whatever wrote there.
pub(crate) unsafe fn copy_through_host(
    track: &Track,
    target: BlockRegion<'_>,
    courier: &Courier,
    source: u64,
) -> Result<(), BackendError> {
    let mut done = 0;
    while done < target.bytes() {
        let (part, from) = (target.part(done, CHUNK_BYTES as u64), source + done);
        done += part.bytes();
        match track.take_pinned(part.bytes() as usize, Content::Plain)? {
            // SAFETY: this function's contract, of a part.
            Some(piece) => unsafe { pinned(track, part, courier, from, piece) }?,
            // SAFETY: as above.
            None => unsafe { pageable(track, part, courier, from) }?,
        }
    }
    Ok(())
}

/// Copies a part through pinned memory that is as long.
///
/// # Safety
/// As of [`copy_through_host`].
unsafe fn pinned(
    track: &Track,
    target: BlockRegion<'_>,
    courier: &Courier,
    source: u64,
    piece: PinnedPiece,
) -> Result<(), BackendError> {
    let from = &courier.stream;
    let submit = || {
        // SAFETY: the source lives by this function's contract; the piece has no other user, and it
        // is given up until the second copy is done, which comes after the first.
        unsafe { ffi::copy_to_host(from, piece.start(), source, target.bytes()) }?;
        courier.events.order(from, track.stream())?;
        let admitted = track.admit(OP, &[(target.block(), BlockAccess::Write)])?;
        let (address, start) = (target.address(), piece.start().cast_const());
        // SAFETY: the region is alive until the stream has passed this use of it, and the piece as above.
        unsafe { ffi::copy_to_device(track.stream(), address, start, target.bytes()) }?;
        Ok(admitted)
    };
    match submit() {
        Ok(admitted) => Ok(track.retire(piece, admitted)?),
        Err(error) => {
            courier.settle(piece);
            Err(error)
        }
    }
}

/// Copies a part without pinned memory, which waits for both devices.
///
/// # Safety
/// As of [`copy_through_host`].
unsafe fn pageable(track: &Track, target: BlockRegion<'_>, courier: &Courier, source: u64) -> Result<(), BackendError> {
    let bytes = target.bytes();
    let mut staged = Zeroizing::new(vec![0u128; (bytes as usize).div_ceil(size_of::<u128>())]);
    // SAFETY: the source lives by this function's contract; to pageable memory the driver has copied when the call returns.
    unsafe { ffi::copy_to_host(&courier.stream, staged.as_mut_ptr().cast(), source, bytes) }?;
    courier.stream.synchronize()?;
    let admitted = track.admit(OP, &[(target.block(), BlockAccess::Write)])?;
    // SAFETY: the region is alive until the stream has passed this use of it; from pageable memory the driver has copied when the
    // call returns.
    unsafe { ffi::copy_to_device(track.stream(), target.address(), staged.as_ptr().cast(), bytes) }?;
    drop(admitted);
    Ok(track.stream().synchronize()?)
}
