//! The two sources of device memory.
//!
//! They are the driver's stream-ordered pool, and segments that are cut up and kept by stream.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use super::arena::AddressArena;
use crate::{
    error::DriverFault,
    ffi::{self, CudaContext, CudaStream, MemoryPool},
    sync::lock,
};

/// Blocks start at, and are rounded up to, multiples of this many bytes.
pub(crate) const GRANULE_BYTES: u64 = 512;

/// Blocks up to this many bytes are cut from small segments.
const SMALL_BYTES: u64 = 1 << 20;

/// Length of a small segment.
const SMALL_SEGMENT_BYTES: u64 = 2 << 20;

/// Length of a large segment.
///
/// A longer block has a segment for itself, rounded up to a multiple of a small segment's length.
const LARGE_SEGMENT_BYTES: u64 = 20 << 20;

/// Where device memory comes from.
#[derive(Debug)]
pub(crate) enum DevicePool {
    /// The driver's stream-ordered pool.
    Ordered(MemoryPool),
    /// Segments that are taken from the driver, cut up, and kept.
    Caching(Caching),
}

impl DevicePool {
    /// The driver's pool, keeping up to `keep_bytes` of free memory.
    pub(crate) fn ordered(context: &Arc<CudaContext>, keep_bytes: u64) -> Result<Self, DriverFault> {
        MemoryPool::new(context, keep_bytes).map(Self::Ordered)
    }

    /// A pool of our own.
    pub(crate) fn caching(context: &Arc<CudaContext>) -> Self {
        Self::Caching(Caching { context: Arc::clone(context), homes: Mutex::new(HashMap::new()) })
    }

    /// Takes `bytes` bytes, a multiple of [`GRANULE_BYTES`], for the later work of `home`.
    pub(super) fn take(&self, home: &Arc<CudaStream>, bytes: u64) -> Result<u64, DriverFault> {
        match self {
            Self::Ordered(pool) => ffi::take_ordered(pool, home, bytes),
            Self::Caching(pool) => pool.take(home, bytes),
        }
    }

    /// Gives memory back after the work that `home` holds now.
    ///
    /// # Safety
    /// [`take`](Self::take) gave `address` for `home`, and every use of it is ordered before this
    /// on `home`.
    pub(super) unsafe fn give_back(&self, home: &Arc<CudaStream>, address: u64) {
        match self {
            Self::Ordered(_) => {
                // SAFETY: this function's contract.
                let freed = unsafe { ffi::free_ordered(home, address) };
                if freed.is_err() && home.synchronize().is_ok() {
                    // SAFETY: every use is done. A second refusal leaks the block, which harms nothing else.
                    let _refused = unsafe { ffi::free(home.context(), address) };
                }
            }
            Self::Caching(pool) => pool.give_back(home, address),
        }
    }

    /// Gives unused memory back to the device.
    pub(crate) fn reclaim(&self) -> Result<(), DriverFault> {
        match self {
            Self::Ordered(pool) => pool.trim(),
            Self::Caching(pool) => pool.reclaim(),
        }
    }

    /// Grants device `ordinal` access to the memory of this pool.
    ///
    /// The device may access this one.
    pub(crate) fn allow(&self, ordinal: u32) -> Result<(), DriverFault> {
        match self {
            Self::Ordered(pool) => pool.allow(ordinal),
            // Access to the context is access to all that it takes from the driver.
            Self::Caching(_) => Ok(()),
        }
    }

    /// Bytes of device memory held, in use or not.
    pub(crate) fn held_bytes(&self) -> Result<u64, DriverFault> {
        match self {
            Self::Ordered(pool) => pool.held_bytes(),
            Self::Caching(pool) => Ok(lock(&pool.homes).values().map(|home| home.held_bytes).sum()),
        }
    }
}

/// Segments of device memory, by the stream whose work they serve.
///
/// Memory that a stream gives back is available to the same stream at once.
#[derive(Debug)]
pub(crate) struct Caching {
    context: Arc<CudaContext>,
    homes: Mutex<HashMap<u64, Home>>,
}

#[derive(Debug)]
struct Home {
    stream: Weak<CudaStream>,
    small: AddressArena,
    large: AddressArena,
    held_bytes: u64,
}

impl Home {
    fn new(stream: &Arc<CudaStream>) -> Self {
        Self {
            stream: Arc::downgrade(stream),
            small: AddressArena::new(0),
            large: AddressArena::new(SMALL_BYTES),
            held_bytes: 0,
        }
    }

    fn arena(&mut self, bytes: u64) -> &mut AddressArena {
        if bytes <= SMALL_BYTES { &mut self.small } else { &mut self.large }
    }
}

impl Caching {
    fn take(&self, stream: &Arc<CudaStream>, bytes: u64) -> Result<u64, DriverFault> {
        let mut homes = lock(&self.homes);
        if !homes.contains_key(&stream.id()) {
            self.release_where(&mut homes, |home| home.stream.strong_count() == 0)?;
            homes.retain(|_, home| home.stream.strong_count() > 0 || home.held_bytes > 0);
        }
        let home = homes.entry(stream.id()).or_insert_with(|| Home::new(stream));
        if let Some(address) = home.arena(bytes).take(bytes) {
            return Ok(address);
        }
        let wanted = if bytes <= SMALL_BYTES {
            SMALL_SEGMENT_BYTES
        } else {
            bytes.next_multiple_of(SMALL_SEGMENT_BYTES).max(LARGE_SEGMENT_BYTES)
        };
        // A device that is nearly full may still have room for the block alone.
        let (segment, length) = match ffi::take(&self.context, wanted) {
            Ok(segment) => (segment, wanted),
            Err(fault) if fault.is_out_of_memory() && bytes < wanted => (ffi::take(&self.context, bytes)?, bytes),
            Err(fault) => return Err(fault),
        };
        home.held_bytes += length;
        let arena = home.arena(bytes);
        arena.add_segment(segment, length);
        Ok(arena.take(bytes).unwrap_or(segment))
    }

    fn give_back(&self, stream: &CudaStream, address: u64) {
        if let Some(home) = lock(&self.homes).get_mut(&stream.id()) {
            let _taken = home.small.give_back(address) || home.large.give_back(address);
        }
    }

    fn reclaim(&self) -> Result<(), DriverFault> {
        self.release_where(&mut lock(&self.homes), |_| true)
    }

    fn release_where(&self, homes: &mut HashMap<u64, Home>, which: impl Fn(&Home) -> bool) -> Result<(), DriverFault> {
        let mut outcome = Ok(());
        for home in homes.values_mut().filter(|home| which(home)) {
            for arena in [&mut home.small, &mut home.large] {
                for (address, bytes) in arena.remove_free_segments() {
                    // SAFETY: no block lies in the segment, and the call waits for the work that used one.
                    match unsafe { ffi::free(&self.context, address) } {
                        Ok(()) => home.held_bytes -= bytes,
                        Err(fault) => {
                            arena.add_segment(address, bytes);
                            outcome = Err(fault);
                        }
                    }
                }
            }
        }
        outcome
    }
}

impl Drop for Caching {
    fn drop(&mut self) {
        // A second try, should the driver refuse once; memory that it still refuses to free goes
        // with the context.
        if self.reclaim().is_err() {
            let _refused = self.reclaim();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;

    #[test]
    fn streams_that_ended_leave_no_segment_and_no_entry() {
        let (_session, queue) = rig::bare("");
        let context = queue.track().stream().context();
        let pool = Caching { context: Arc::clone(context), homes: Mutex::new(HashMap::new()) };
        for _ in 0..3 {
            let stream = CudaStream::new(context).unwrap();
            let address = pool.take(&stream, GRANULE_BYTES).unwrap();
            pool.give_back(&stream, address);
        }
        // The last stream's memory is freed when another stream takes some.
        let homes = lock(&pool.homes);
        let held: Vec<u64> = homes.values().map(|home| home.held_bytes).collect();
        assert_eq!(held, [SMALL_SEGMENT_BYTES]);
    }
}
