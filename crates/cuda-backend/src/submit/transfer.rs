//! Copies between host and device through pinned memory, and within the device.
//!
//! All run in the order of a track's work.

use std::collections::VecDeque;

use backend_api::{BackendError, Element};
use zeroize::Zeroizing;

use super::host_copy::{copy_bytes, copy_elements};
use crate::{
    ffi,
    mem::{BlockAccess, BlockRegion, Content, InFlight, PinnedPiece},
    streams::Track,
};

/// Bytes that one copy moves.
///
/// Longer copies are cut up, so that the host fills one piece while the device empties another.
pub(super) const CHUNK_BYTES: usize = 4 << 20;

/// Maximum number of copies to the host in flight.
const READS_AHEAD: usize = 2;

/// Copies `parts`, one after the other, to a region of their length.
///
/// The host may reuse its memory at once.
pub(crate) fn upload(
    track: &Track,
    target: BlockRegion<'_>,
    parts: &[&[u8]],
    content: Content,
) -> Result<(), BackendError> {
    let mut parts = parts.iter().copied().filter(|part| !part.is_empty());
    let mut rest: &[u8] = &[];
    let mut done = 0u64;
    while done < target.bytes() {
        let chunk = target.part(done, CHUNK_BYTES as u64);
        done += chunk.bytes();
        let mut missing = chunk.bytes() as usize;
        let sources = core::iter::from_fn(|| {
            if rest.is_empty() {
                rest = parts.next()?;
            }
            let (source, left) = rest.split_at(rest.len().min(missing));
            rest = left;
            missing -= source.len();
            (!source.is_empty()).then_some(source)
        });
        match track.take_pinned(chunk.bytes() as usize, content)? {
            Some(piece) => staged(track, chunk, piece, sources)?,
            None => pageable(track, chunk, sources)?,
        }
    }
    Ok(())
}

/// Copies `sources` to a region of their length through pinned memory that is as long.
fn staged<'a>(
    track: &Track,
    target: BlockRegion<'_>,
    mut piece: PinnedPiece,
    sources: impl Iterator<Item = &'a [u8]>,
) -> Result<(), BackendError> {
    let mut free = piece.bytes_mut();
    for source in sources {
        let (taken, left) = free.split_at_mut(source.len());
        copy_bytes(source, taken);
        free = left;
    }
    let admitted = track.admit("write", &[(target.block(), BlockAccess::Write)])?;
    // SAFETY: the region is alive until the stream has passed this use of it, and pinned memory is given up until the copy is
    // done.
    unsafe { ffi::copy_to_device(track.stream(), target.address(), piece.start().cast_const(), target.bytes()) }?;
    Ok(track.retire(piece, admitted)?)
}

/// Copies `sources` to a region of their length without pinned memory.
fn pageable<'a>(
    track: &Track,
    target: BlockRegion<'_>,
    sources: impl Iterator<Item = &'a [u8]>,
) -> Result<(), BackendError> {
    track.permit_waiting("write")?;
    let mut done = 0;
    for source in sources {
        let part = target.part(done, source.len() as u64);
        done += part.bytes();
        let admitted = track.admit("write", &[(part.block(), BlockAccess::Write)])?;
        // SAFETY: the region is alive until the stream has passed this use of it; from pageable memory the driver has copied
        // when the call returns.
        unsafe { ffi::copy_to_device(track.stream(), part.address(), source.as_ptr(), part.bytes()) }?;
        drop(admitted);
    }
    Ok(track.stream().synchronize()?)
}

/// Copies a region to elements on the host, which are as long, and checks every bit pattern.
pub(crate) fn download<T: Element>(
    track: &Track,
    source: BlockRegion<'_>,
    host: &mut [T],
    content: Content,
) -> Result<(), BackendError> {
    track.permit_waiting("read")?;
    let mut arrivals = Arrivals { track, host, arrived: 0, under_way: VecDeque::new() };
    let chunk_bytes = (CHUNK_BYTES / size_of::<T>()).max(1) * size_of::<T>();
    let mut start = 0u64;
    while start < source.bytes() {
        let part = source.part(start, chunk_bytes as u64);
        start += part.bytes();
        arrivals.leave(READS_AHEAD - 1)?;
        match track.take_pinned(part.bytes() as usize, content)? {
            Some(piece) => arrivals.under_way.push_back(depart(track, part, piece)?),
            None => {
                arrivals.leave(0)?;
                arrivals.pageable(part)?;
            }
        }
    }
    arrivals.leave(0)
}

/// A copy to the host in flight.
struct Departed {
    copy: InFlight,
    at: u64,
}

fn depart(track: &Track, part: BlockRegion<'_>, piece: PinnedPiece) -> Result<Departed, BackendError> {
    let admitted = track.admit("read", &[(part.block(), BlockAccess::Read)])?;
    let at = admitted.at;
    // SAFETY: the region is alive until the stream has passed this use of it, and the host does not touch the piece before
    // the event after the copy.
    unsafe { ffi::copy_to_host(track.stream(), piece.start(), part.address(), part.bytes()) }?;
    drop(admitted);
    Ok(Departed { copy: piece.in_flight(track.stream())?, at })
}

/// Elements that arrive on the host part by part.
struct Arrivals<'a, T> {
    track: &'a Track,
    host: &'a mut [T],
    /// Elements that have arrived.
    arrived: usize,
    under_way: VecDeque<Departed>,
}

impl<T: Element> Arrivals<'_, T> {
    /// Waits until at most `most` copies are in flight.
    fn leave(&mut self, most: usize) -> Result<(), BackendError> {
        while self.under_way.len() > most
            && let Some(Departed { copy, at }) = self.under_way.pop_front()
        {
            let mut piece = copy.wait()?;
            self.track.stream().note_completed(at);
            self.take(piece.bytes_mut())?;
        }
        Ok(())
    }

    /// Copies a part without pinned memory.
    fn pageable(&mut self, part: BlockRegion<'_>) -> Result<(), BackendError> {
        let bytes = part.bytes() as usize;
        let mut staged = Zeroizing::new(vec![0u128; bytes.div_ceil(size_of::<u128>())]);
        let admitted = self.track.admit("read", &[(part.block(), BlockAccess::Read)])?;
        // SAFETY: the region is alive; to pageable memory the driver has copied when the call returns.
        unsafe { ffi::copy_to_host(self.track.stream(), staged.as_mut_ptr().cast(), part.address(), part.bytes()) }?;
        drop(admitted);
        self.track.stream().synchronize()?;
        self.take(&bytemuck::cast_slice(&staged[..])[..bytes])
    }

    /// Takes in the next elements.
    fn take(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        let start = self.arrived;
        self.arrived += bytes.len() / size_of::<T>();
        copy_elements(bytes, &mut self.host[start..self.arrived])
            .map_err(|index| BackendError::Corrupt { index: start + index, type_name: core::any::type_name::<T>() })
    }
}

/// Copies a region of the device to another of the same length.
pub(crate) fn copy(track: &Track, target: BlockRegion<'_>, source: BlockRegion<'_>) -> Result<(), BackendError> {
    let _admitted =
        track.admit("copy", &[(source.block(), BlockAccess::Read), (target.block(), BlockAccess::Write)])?;
    // SAFETY: both regions are alive until the stream has passed this use of them; a view that is written is exclusive, so
    // they do not overlap.
    unsafe { ffi::copy_on_device(track.stream(), target.address(), source.address(), target.bytes()) }?;
    Ok(())
}

/// Fills a region with zero bytes.
pub(crate) fn fill_zero(track: &Track, target: BlockRegion<'_>) -> Result<(), BackendError> {
    let _admitted = track.admit("clear", &[(target.block(), BlockAccess::Write)])?;
    // SAFETY: the region is alive until the stream has passed this use of it.
    unsafe { ffi::fill_bytes(track.stream(), target.address(), 0, target.bytes()) }?;
    Ok(())
}
