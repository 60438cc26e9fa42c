//! The pool of pinned host memory that copies go through.
//!
//! It wipes secrets before it hands memory out again.
//!
//! Pinned memory stays pinned until the pool is dropped. `cuMemFreeHost` waits for the work of the
//! context in practice (NCCL issue 48), and "any CUDA API call may block or synchronize" (CUDA
//! Driver API, "API synchronization behavior"). That work may be the caller's, and may wait for the
//! very thread that copies: a host function for an answer, a collective for the next launch. So no
//! copy unpins memory, nor waits for a copy on a stream of the caller. At the limit it takes a
//! longer idle piece, waits for another copy of its size class, or does without pinned memory: the
//! driver may then wait for the copy's own stream. Below the limit it may wait for pinning.

use core::{
    mem,
    sync::atomic::{AtomicU64, Ordering, compiler_fence},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use backend_api::{Budget, Reservation};

use crate::{
    error::DriverFault,
    ffi::{CudaContext, CudaEvent, CudaStream, Events, HostMemory},
    sync::lock,
};

/// The smallest size class.
const SMALLEST_BYTES: usize = 4 << 10;

/// Number of size classes: powers of two up to 64 MiB.
const CLASSES: usize = 15;

/// Smaller pieces are cut from slabs of this many bytes.
const SLAB_BYTES: usize = 64 << 10;
/// Size classes above a request's own that it may take idle pieces from, at the limit.
///
/// The pieces are up to 16 times as long.
const LONGER_CLASSES: usize = 4;

/// Counters and contents of the pool of pinned host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinnedCounts {
    /// Requests served from idle memory of their size class.
    pub hits: u64,
    /// Requests that found none.
    ///
    /// At the limit of the pool, they are served from a longer piece, wait or do without.
    pub misses: u64,
    /// Calls that pinned memory.
    pub pin_calls: u64,
    /// Bytes pinned now.
    pub live_bytes: u64,
    /// The most bytes that were ever pinned at once.
    pub peak_bytes: u64,
    /// Requests that waited because the pool was at its limit.
    ///
    /// They waited for a copy through memory of their size class.
    pub waits: u64,
    /// Requests served without pinned memory.
    ///
    /// Either the driver pinned no more, or the pool was at its limit: without an idle piece that
    /// is long enough, and without a copy of their size class in flight on a stream of the backend.
    pub pageable_fallbacks: u64,
}

/// The kind of data that a copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Data that may stay in the backend's memory.
    Plain,
    /// Data that is wiped from it.
    Secret,
}

/// Pinned host memory that copies go through.
///
/// A piece is given out again only when the event after its last copy has passed; if that moved a
/// secret, it is wiped before.
#[derive(Debug)]
pub(crate) struct PinnedPool {
    context: Arc<CudaContext>,
    events: Arc<Events>,
    budget: Budget,
    classes: [Mutex<SizeClass>; CLASSES],
    hits: AtomicU64,
    misses: AtomicU64,
    pin_calls: AtomicU64,
    waits: AtomicU64,
    pageable_fallbacks: AtomicU64,
}

#[derive(Debug, Default)]
struct SizeClass {
    idle: Vec<SlabPart>,
    pending: VecDeque<(SlabPart, CudaEvent)>,
}

#[derive(Debug)]
struct Slab {
    memory: HostMemory,
    _reserved: Reservation,
}

/// A part of a slab that has one owner.
#[derive(Debug)]
struct SlabPart {
    slab: Arc<Slab>,
    start: usize,
    class: usize,
    /// Requested bytes, from the start.
    asked: usize,
    /// The kind of data they were requested for.
    content: Content,
    /// Whether the last copy is on a stream of the caller.
    is_callers: bool,
}

impl SlabPart {
    fn start(&self) -> *mut u8 {
        debug_assert!(self.start + (SMALLEST_BYTES << self.class) <= self.slab.memory.bytes());
        self.slab.memory.start().wrapping_add(self.start)
    }

    /// The requested bytes.
    ///
    /// # Safety
    /// No copy uses them.
    unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range lies in its slab, was zeroed when it was pinned and has this value as its only owner; the rest
        // is this function's contract.
        unsafe { core::slice::from_raw_parts_mut(self.start(), self.asked) }
    }

    /// Zeroes the bytes left by a copy of a secret.
    ///
    /// # Safety
    /// No copy uses the memory.
    unsafe fn wipe(&mut self) {
        if self.content == Content::Secret {
            // SAFETY: this function's contract.
            unsafe { self.bytes_mut() }.fill(0);
            // The driver, which gave out the memory, may read it at any later call: these stores are not dead. The fence keeps
            // them before whatever gives the memory away.
            compiler_fence(Ordering::SeqCst);
            self.content = Content::Plain;
        }
    }
}

impl PinnedPool {
    /// A pool of at most `limit_bytes`.
    pub(crate) fn new(context: &Arc<CudaContext>, events: &Arc<Events>, limit_bytes: u64) -> Arc<Self> {
        let count = AtomicU64::default;
        Arc::new(Self {
            context: Arc::clone(context),
            events: Arc::clone(events),
            budget: Budget::new(limit_bytes),
            classes: Default::default(),
            hits: count(),
            misses: count(),
            pin_calls: count(),
            waits: count(),
            pageable_fallbacks: count(),
        })
    }

    /// What happened so far.
    pub(crate) fn counts(&self) -> PinnedCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PinnedCounts {
            hits: read(&self.hits),
            misses: read(&self.misses),
            pin_calls: read(&self.pin_calls),
            live_bytes: self.budget.live_bytes(),
            peak_bytes: self.budget.peak_bytes(),
            waits: read(&self.waits),
            pageable_fallbacks: read(&self.pageable_fallbacks),
        }
    }

    /// A piece of at least `bytes` bytes, at most 64 MiB; `None` if the copy must do without.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        bytes: usize,
        content: Content,
    ) -> Result<Option<PinnedPiece>, DriverFault> {
        let class = (bytes.max(1).div_ceil(SMALLEST_BYTES)).next_power_of_two().trailing_zeros() as usize;
        let Some(shelf) = self.classes.get(class) else { return Ok(None) };
        let idle = {
            let mut locked = lock(shelf);
            self.collect(&mut locked)?;
            locked.idle.pop()
        };
        let memory = match idle {
            Some(memory) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Some(memory)
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                self.pin(class, shelf)?
            }
        };
        Ok(memory.map(|memory| PinnedPiece {
            memory: Some(SlabPart { asked: bytes, content, is_callers: false, ..memory }),
            pool: Arc::clone(self),
        }))
    }

    /// Wipes every piece of a secret whose copy is done.
    pub(crate) fn settle(&self) -> Result<(), DriverFault> {
        self.classes.iter().try_for_each(|shelf| self.collect(&mut lock(shelf)))
    }

    /// Moves pieces whose copies are done to the idle ones.
    fn collect(&self, shelf: &mut SizeClass) -> Result<(), DriverFault> {
        for _ in 0..shelf.pending.len() {
            let Some((mut memory, event)) = shelf.pending.pop_front() else { break };
            match event.is_complete() {
                Ok(true) => {
                    // SAFETY: its copy is done.
                    unsafe { memory.wipe() };
                    self.events.give_back(event);
                    shelf.idle.push(memory);
                }
                Ok(false) => shelf.pending.push_back((memory, event)),
                Err(fault) => {
                    shelf.pending.push_front((memory, event));
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// Memory for a class without idle pieces.
    ///
    /// At the limit of the pool, or if the driver pins no more, it is a longer piece, or one whose
    /// copy is waited for. No class is locked while this thread pins or waits.
    fn pin(&self, class: usize, shelf: &Mutex<SizeClass>) -> Result<Option<SlabPart>, DriverFault> {
        let length = (SMALLEST_BYTES << class).max(SLAB_BYTES);
        if let Ok(reserved) = self.budget.reserve(length as u64) {
            match HostMemory::pin(&self.context, length) {
                Ok(memory) => {
                    self.pin_calls.fetch_add(1, Ordering::Relaxed);
                    return Ok(cut(class, shelf, Slab { memory, _reserved: reserved }));
                }
                Err(fault) if fault.is_out_of_memory() => {}
                Err(fault) => return Err(fault),
            }
        }
        match self.longer_idle(class)? {
            Some(memory) => Ok(Some(memory)),
            None => self.wait_for_one(shelf),
        }
    }

    /// The shortest idle piece of the few classes above `class`.
    ///
    /// Longer pieces are left to longer copies, and a class that another thread has locked is left
    /// out.
    fn longer_idle(&self, class: usize) -> Result<Option<SlabPart>, DriverFault> {
        for shelf in self.classes.iter().skip(class + 1).take(LONGER_CLASSES) {
            if let Ok(mut shelf) = shelf.try_lock() {
                self.collect(&mut shelf)?;
                if let Some(memory) = shelf.idle.pop() {
                    return Ok(Some(memory));
                }
            }
        }
        Ok(None)
    }

    /// A piece that another thread has given back, or the oldest one in flight, after its copy.
    ///
    /// `None` if there is neither.
    fn wait_for_one(&self, shelf: &Mutex<SizeClass>) -> Result<Option<SlabPart>, DriverFault> {
        let mut locked = lock(shelf);
        if let Some(memory) = locked.idle.pop() {
            return Ok(Some(memory));
        }
        // Not for a copy on a stream of the caller: the work before it may wait for this thread.
        let oldest = locked.pending.iter().position(|(memory, _)| !memory.is_callers);
        let Some((mut memory, event)) = oldest.and_then(|at| locked.pending.remove(at)) else {
            self.pageable_fallbacks.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        drop(locked);
        self.waits.fetch_add(1, Ordering::Relaxed);
        if let Err(fault) = event.wait() {
            lock(shelf).pending.push_front((memory, event));
            return Err(fault);
        }
        // SAFETY: its copy is done.
        unsafe { memory.wipe() };
        self.events.give_back(event);
        Ok(Some(memory))
    }

    /// Takes back memory that no copy uses.
    ///
    /// # Safety
    /// No copy uses it.
    unsafe fn put_idle(&self, mut memory: SlabPart) {
        // SAFETY: this function's contract.
        unsafe { memory.wipe() };
        if let Some(shelf) = self.classes.get(memory.class) {
            lock(shelf).idle.push(memory);
        }
    }
}

/// Cuts a slab into pieces of `class`, and returns one; the others are idle on the `shelf`.
fn cut(class: usize, shelf: &Mutex<SizeClass>, slab: Slab) -> Option<SlabPart> {
    let (slab, length) = (Arc::new(slab), (SMALLEST_BYTES << class).max(SLAB_BYTES));
    let piece = |start| SlabPart {
        slab: Arc::clone(&slab),
        start,
        class,
        asked: 0,
        content: Content::Plain,
        is_callers: false,
    };
    let mut pieces: Vec<_> = (0..length).step_by(SMALLEST_BYTES << class).map(piece).collect();
    let first = pieces.pop();
    lock(shelf).idle.append(&mut pieces);
    first
}

impl Drop for PinnedPool {
    fn drop(&mut self) {
        for class in &self.classes {
            let pending = mem::take(&mut lock(class).pending);
            for (mut memory, event) in pending {
                let waited = if memory.is_callers { event.wait_for_callers_work() } else { event.wait() };
                if waited.is_ok() {
                    // SAFETY: its copy is done.
                    unsafe { memory.wipe() };
                } else if self.context.lost().is_none() {
                    // Memory that a copy may still use is never given back.
                    mem::forget(memory);
                }
            }
        }
    }
}

/// Pinned memory that no copy uses, so that the host may. Dropping it gives it back at once.
#[derive(Debug)]
pub(crate) struct PinnedPiece {
    memory: Option<SlabPart>,
    pool: Arc<PinnedPool>,
}

impl PinnedPiece {
    /// Its first byte; null after it was retired.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.as_ref().map_or(core::ptr::null_mut(), SlabPart::start)
    }

    /// Never gives the memory out again: a copy may still use it, and its end is unknown.
    pub(crate) fn abandon(mut self) {
        mem::forget(self.memory.take());
    }

    /// Its requested bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: no copy uses the memory while it is a `PinnedPiece`.
        self.memory.as_mut().map_or(&mut [], |memory| unsafe { memory.bytes_mut() })
    }

    /// Gives the piece back after the work that `stream` holds now.
    pub(crate) fn retire(self, stream: &CudaStream) -> Result<(), DriverFault> {
        self.in_flight(stream).map(drop)
    }

    /// Gives the piece away until `stream` has done the work it holds now.
    pub(crate) fn in_flight(mut self, stream: &CudaStream) -> Result<InFlight, DriverFault> {
        let recorded = self.pool.events.record(stream);
        let mut memory = self.memory.take();
        if let Some(memory) = &mut memory {
            memory.is_callers = stream.is_borrowed();
        }
        match recorded {
            Ok(event) => Ok(InFlight { memory, event: Some(event), pool: Arc::clone(&self.pool) }),
            Err(fault) => {
                // The end of the copy is unknown: wait for it, or else never use the memory again.
                let waited = if stream.is_borrowed() { stream.wait_for_callers_work() } else { Ok(()) };
                if waited.is_ok() && stream.synchronize().is_ok() {
                    self.memory = memory;
                } else {
                    mem::forget(memory);
                }
                Err(fault)
            }
        }
    }
}

impl Drop for PinnedPiece {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            // SAFETY: no copy used the memory while it was a `PinnedPiece`.
            unsafe { self.pool.put_idle(memory) };
        }
    }
}

/// Pinned memory that a copy uses. Dropping it gives it back after the copy.
#[derive(Debug)]
pub(crate) struct InFlight {
    memory: Option<SlabPart>,
    event: Option<CudaEvent>,
    pool: Arc<PinnedPool>,
}

impl InFlight {
    /// Waits for the copy.
    pub(crate) fn wait(mut self) -> Result<PinnedPiece, DriverFault> {
        if let Some(event) = &self.event {
            event.wait()?;
        }
        if let Some(event) = self.event.take() {
            self.pool.events.give_back(event);
        }
        Ok(PinnedPiece { memory: self.memory.take(), pool: Arc::clone(&self.pool) })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let (Some(memory), Some(event)) = (self.memory.take(), self.event.take())
            && let Some(shelf) = self.pool.classes.get(memory.class)
        {
            lock(shelf).pending.push_back((memory, event));
        }
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer, Queue};

    use super::{Content, PinnedPiece};
    use crate::{CudaConfig, CudaQueue, KernelSource, ffi, mem::BlockAccess, rig};

    /// The race that the pool prevents.
    ///
    /// Under the lazy schedule a copy reads its source as late as the API permits, so a piece given
    /// straight back would hold other bytes by then.
    #[test]
    fn a_piece_that_is_not_retired_is_overwritten_before_its_copy() {
        let (_session, queue) = rig::bare("schedule=lazy");
        let buf = queue.zeros::<u8>(4096).unwrap();
        let (region, track) = (buf.view().region().unwrap(), queue.track());
        for (retired, arrives) in [(true, 1), (false, 2)] {
            let mut piece = queue.device().pinned().acquire(4096, Content::Plain).unwrap().unwrap();
            let start = piece.start();
            piece.bytes_mut().fill(1);
            let admitted = track.admit("write", &[(region.block(), BlockAccess::Write)]).unwrap();
            // SAFETY: both ranges are alive until the download below has waited.
            unsafe { ffi::copy_to_device(track.stream(), region.address(), start, 4096) }.unwrap();
            drop(admitted);
            if retired {
                piece.retire(track.stream()).unwrap();
            } else {
                drop(piece);
            }
            let mut next = queue.device().pinned().acquire(4096, Content::Plain).unwrap().unwrap();
            assert_eq!(next.start() == start, !retired);
            next.bytes_mut().fill(2);
            assert!(queue.download(&buf).unwrap() == [arrives; 4096]);
        }
    }

    #[test]
    fn a_request_at_the_limit_takes_the_shortest_longer_idle_piece_and_unpins_nothing() {
        let _session = cuda_sim::driver::simulate("schedule=lazy").unwrap();
        let kernels = KernelSource::Texts(Vec::new());
        let config = CudaConfig { kernels, pinned_bytes: Some(192 << 10), ..CudaConfig::default() };
        let queue = CudaQueue::open(config).unwrap();
        let pool = queue.device().pinned();
        let acquire = |bytes, content| pool.acquire(bytes, content).unwrap();
        // All of the memory, in one piece of 128 KiB and one of 64 KiB.
        let (long, short) = (acquire(128 << 10, Content::Plain).unwrap(), acquire(64 << 10, Content::Plain).unwrap());
        let starts = [long.start(), short.start()];
        drop((long, short));
        // 128 KiB are more than 16 times as long as 4 KiB.
        let short = acquire(64 << 10, Content::Plain).unwrap();
        assert!(acquire(4096, Content::Plain).is_none());
        drop(short);
        // Requests of 8 KiB take the shorter one first, then the longer one, then none.
        let secrets = [acquire(8192, Content::Secret), acquire(8192, Content::Secret)].map(Option::unwrap);
        assert_eq!(secrets.each_ref().map(PinnedPiece::start), [starts[1], starts[0]]);
        assert!(acquire(8192, Content::Plain).is_none());
        for mut piece in secrets {
            assert_eq!(piece.bytes_mut().len(), 8192);
            piece.bytes_mut().fill(0xab);
        }
        // They return to their classes, wiped.
        let mut short = acquire(64 << 10, Content::Plain).unwrap();
        assert_eq!(short.start(), starts[1]);
        assert!(short.bytes_mut() == vec![0; 64 << 10]);
        let mut long = acquire(128 << 10, Content::Plain).unwrap();
        assert_eq!(long.start(), starts[0]);
        assert!(long.bytes_mut() == vec![0; 128 << 10]);
        drop((short, long));
        // No idle piece is long enough for this one.
        assert!(acquire(192 << 10, Content::Plain).is_none());
        let counts = pool.counts();
        assert_eq!((counts.pin_calls, counts.live_bytes, counts.pageable_fallbacks), (2, 192 << 10, 3));
        assert_eq!((counts.hits, counts.misses, counts.waits), (3, 7, 0));
    }

    #[test]
    fn pinned_memory_is_wiped_when_the_copy_of_a_secret_is_done_and_after_no_other() {
        for schedule in ["schedule=eager", "schedule=lazy", "schedule=random;seed=1"] {
            let (_session, queue) = rig::bare(schedule);
            let pool = queue.device().pinned();
            for len in [1, 100, 4096, 70_001] {
                let seen = {
                    let piece = pool.acquire(len, Content::Secret).unwrap().unwrap();
                    piece.start()
                };
                let left = |what: &str, expected: u8| {
                    let mut piece: PinnedPiece = pool.acquire(len, Content::Plain).unwrap().unwrap();
                    assert_eq!(piece.start(), seen, "the last idle piece is the next one");
                    assert_eq!(piece.bytes_mut().to_vec(), vec![expected; len], "{schedule}, {what}, {len}");
                };
                let secret = queue.upload_secret(&vec![0xabu8; len]).unwrap();
                queue.finish().unwrap();
                left("secret up", 0);
                assert!(queue.download_secret(&secret).unwrap() == vec![0xab; len]);
                left("secret down", 0);
                let plain = queue.upload(&vec![0xcdu8; len]).unwrap();
                queue.finish().unwrap();
                left("plain up", 0xcd);
                drop(queue.upload_secret(&vec![0xabu8; len]).unwrap());
                queue.finish().unwrap();
                left("secret up after plain", 0);
                assert!(queue.download(&plain).unwrap() == vec![0xcd; len]);
                left("plain down", 0xcd);
            }
        }
    }
}
