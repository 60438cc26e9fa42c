//! Simulated device memory: one 64-bit address space for all virtual devices.
//!
//! Device `d` allocates from its own range far above any host address, never twice from the same
//! place, with gaps of [`GAP`] bytes, and of at least [`GUARD`] once half the range is used up; so
//! a stray or stale address leads to the allocation it belongs to instead of hitting another.

mod fault;
mod storage;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use fault::{Allocation, MemoryFault, MemoryProblem, OutOfMemory};
pub(super) use storage::Storage;
pub(super) use view::{MemoryRegion, MemoryView};

/// Least distance between two allocations of a device, in bytes.
pub const GUARD: u64 = 4096;
/// Their distance if there are addresses to spare.
///
/// No 32-bit offset leads from one to another.
pub const GAP: u64 = 1 << 32;
/// Allocations start at a multiple of this.
const ALIGNMENT: u64 = 512;
/// Where the heap of device 0 starts: above every address of the host process.
///
/// The upper half is no round number, so that two counts side by side do not look like an address.
const HEAP_BASE: u64 = 0x0013_5a3d << 32;
/// Address space of one device.
const HEAP_SPAN: u64 = 1 << 50;
/// Freed allocations that are remembered, oldest forgotten first.
const HISTORY: usize = 1 << 16;

/// How much of a device is in use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Size of the device.
    pub capacity: u64,
    /// Bytes in live allocations.
    pub used: u64,
    /// Largest value of `used` so far.
    pub peak: u64,
    /// Live allocations.
    pub allocations: u64,
}

/// The memory of all virtual devices.
///
/// It also holds checker state: history, initialisation bits, peer access.
///
/// All methods take `&self`, so copies and launches of several streams may share it.
#[derive(Debug)]
pub struct Memory {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    devices: Vec<DeviceUsage>,
    live: BTreeMap<u64, MemoryRegion>,
    freed: BTreeMap<u64, Allocation>,
    /// Bases of `freed`, oldest first.
    freed_order: std::collections::VecDeque<u64>,
    /// `(accessor, owner)` pairs with peer access. It excludes pool memory.
    peers: BTreeSet<(u32, u32)>,
    /// The pool of an allocation, by its base.
    pools: BTreeMap<u64, usize>,
    /// `(accessor, pool)` pairs with access.
    pool_peers: BTreeSet<(u32, usize)>,
    /// Peer access is for copies alone.
    apart: bool,
    made: u64,
    /// Variables of modules: `(program, device)` to the address of each.
    modules: HashMap<(u64, u32), Arc<[u64]>>,
    view: Option<Arc<MemoryView>>,
}

struct DeviceUsage {
    usage: Usage,
    next: u64,
}

impl std::fmt::Debug for MemoryState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let live: Vec<String> = self.live.values().map(|region| region.info.to_string()).collect();
        f.debug_struct("MemoryState").field("live", &live).field("peers", &self.peers).finish_non_exhaustive()
    }
}

impl Memory {
    /// Empty memory; `capacities` holds the size of each device in bytes.
    pub fn new(capacities: &[u64]) -> Self {
        let device = |(index, &capacity): (usize, &u64)| DeviceUsage {
            usage: Usage { capacity, ..Usage::default() },
            next: HEAP_BASE + index as u64 * HEAP_SPAN,
        };
        let devices = capacities.iter().enumerate().map(device).collect();
        Self { state: Mutex::new(MemoryState { devices, ..MemoryState::default() }) }
    }

    /// As [`new`](Self::new), but kernels reach no memory of other devices.
    ///
    /// [`enable_peer`](Self::enable_peer) does not change that.
    pub fn apart(capacities: &[u64]) -> Self {
        let memory = Self::new(capacities);
        memory.state().apart = true;
        memory
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves `bytes` bytes on `device`, not initialised.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the device does not exist or has less left.
    pub fn alloc(&self, device: u32, bytes: u64) -> Result<u64, OutOfMemory> {
        let state = &mut *self.state();
        let Some(owner) = state.devices.get_mut(device as usize) else {
            return Err(OutOfMemory { device, requested: bytes, free: 0 });
        };
        let free = owner.usage.capacity - owner.usage.used;
        let end = HEAP_BASE + (u64::from(device) + 1) * HEAP_SPAN;
        if bytes > free || bytes > end.saturating_sub(owner.next + GUARD + ALIGNMENT) {
            return Err(OutOfMemory { device, requested: bytes, free });
        }
        let base = owner.next;
        let gap = if base + bytes + GAP < end - HEAP_SPAN / 2 { GAP } else { GUARD };
        owner.next = (base + bytes + gap).next_multiple_of(ALIGNMENT);
        owner.usage.used += bytes;
        owner.usage.peak = owner.usage.peak.max(owner.usage.used);
        owner.usage.allocations += 1;
        state.made += 1;
        let info = Allocation { id: state.made, device: Some(device), base, bytes, freed_after: None };
        state.live.insert(base, MemoryRegion { info, storage: Arc::new(Storage::fresh(bytes)) });
        state.view = None;
        Ok(base)
    }

    /// Gives an allocation back. Its addresses are never handed out again.
    ///
    /// # Errors
    /// [`MemoryFault`] if `address` is not the start of a live allocation.
    pub fn free(&self, address: u64) -> Result<(), MemoryFault> {
        let state = &mut *self.state();
        let at_base = state.live.get(&address).is_some_and(|region| !region.storage.is_mapped());
        if !at_base {
            let problem = match state.region(address, 1) {
                Ok(region) => MemoryProblem::NotABase { allocation: region.info },
                Err(fault) => fault.problem,
            };
            return Err(MemoryFault { address, bytes: 0, problem });
        }
        if let Some(region) = state.live.remove(&address) {
            state.retire(region.info);
        }
        Ok(())
    }

    /// Makes host memory addressable by every device, at its own address.
    ///
    /// # Errors
    /// [`MemoryFault`] if the range is empty, null or overlaps a mapped one.
    ///
    /// # Safety
    /// The range stays valid until [`Memory::unmap_host`] and until launches and copies that began
    /// before have ended; the host reads and writes it only while none of them is running.
    pub unsafe fn map_host(&self, pointer: *mut u8, bytes: u64) -> Result<(), MemoryFault> {
        let base = pointer.expose_provenance() as u64;
        let fault = |problem| MemoryFault { address: base, bytes, problem };
        if base < GUARD {
            return Err(fault(MemoryProblem::Null));
        }
        let state = &mut *self.state();
        if let Some((_, region)) = state.live.range(..base + bytes).next_back()
            && region.info.base + region.info.bytes > base
        {
            return Err(fault(MemoryProblem::NotABase { allocation: region.info }));
        }
        state.made += 1;
        let info = Allocation { id: state.made, device: None, base, bytes, freed_after: None };
        // SAFETY: the caller keeps the range valid and unreferenced.
        let storage = unsafe { Storage::mapped(pointer, bytes) };
        state.live.insert(base, MemoryRegion { info, storage: Arc::new(storage) });
        state.view = None;
        Ok(())
    }

    /// Ends a mapping made by [`Memory::map_host`].
    ///
    /// # Errors
    /// [`MemoryFault`] if no mapped range starts at `pointer`.
    pub fn unmap_host(&self, pointer: *mut u8) -> Result<(), MemoryFault> {
        let address = pointer.addr() as u64;
        let state = &mut *self.state();
        match state.live.get(&address).map(|region| (region.info, region.storage.is_mapped())) {
            Some((info, true)) => {
                state.live.remove(&address);
                state.retire(info);
                Ok(())
            }
            _ => Err(MemoryFault { address, bytes: 0, problem: MemoryProblem::HostPointer }),
        }
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`MemoryFault`] unless one live allocation holds the whole range.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryFault> {
        let region = self.region(address, out.len() as u64)?;
        region.storage.read(address - region.info.base, out);
        Ok(())
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryFault> {
        let region = self.region(address, from.len() as u64)?;
        let offset = address - region.info.base;
        region.storage.write(offset, from);
        region.storage.mark(offset, from.len() as u64, true);
        Ok(())
    }

    /// Writes `pattern` `count` times from `address` on.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryFault> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        let region = self.region(address, bytes)?;
        let offset = address - region.info.base;
        let chunk = pattern.repeat((GUARD as usize / pattern.len().max(1)).max(1));
        let mut done = 0;
        while done < bytes {
            let step = (chunk.len() as u64).min(bytes - done);
            region.storage.write(offset + done, &chunk[..step as usize]);
            done += step;
        }
        region.storage.mark(offset, bytes, true);
        Ok(())
    }

    /// Copies `bytes` bytes from `source` to `target`, which may overlap.
    ///
    /// Uninitialised bytes stay uninitialised.
    ///
    /// # Errors
    /// As [`Memory::read`], for either range.
    pub fn copy(&self, target: u64, source: u64, bytes: u64) -> Result<(), MemoryFault> {
        let from = self.region(source, bytes)?;
        let to = self.region(target, bytes)?;
        let (from_at, to_at) = (source - from.info.base, target - to.info.base);
        let mut whole = vec![0; bytes as usize];
        from.storage.read(from_at, &mut whole);
        let mut gaps = Vec::new();
        let mut at = 0;
        while let Some(gap) = from.storage.first_unwritten(from_at + at, bytes - at) {
            gaps.push(gap - from_at);
            at = gap - from_at + 1;
        }
        to.storage.write(to_at, &whole);
        to.storage.mark(to_at, bytes, true);
        gaps.into_iter().for_each(|gap| to.storage.mark(to_at + gap, 1, false));
        Ok(())
    }

    /// The first byte of the range that has not been written yet.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn first_unwritten(&self, address: u64, bytes: u64) -> Result<Option<u64>, MemoryFault> {
        let region = self.region(address, bytes)?;
        let first = region.storage.first_unwritten(address - region.info.base, bytes);
        Ok(first.map(|offset| offset + region.info.base))
    }

    /// The live allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.region(address, 1).ok().map(|region| region.info)
    }

    /// Use of one device; all zero if it does not exist.
    pub fn usage(&self, device: u32) -> Usage {
        self.state().devices.get(device as usize).map(|device| device.usage).unwrap_or_default()
    }

    /// Lets kernels of `accessor` touch memory of `owner`. False if it was allowed already.
    pub fn enable_peer(&self, accessor: u32, owner: u32) -> bool {
        self.state().peers.insert((accessor, owner))
    }

    /// Ends what [`Memory::enable_peer`] allowed. False if it was not.
    pub fn disable_peer(&self, accessor: u32, owner: u32) -> bool {
        self.state().peers.remove(&(accessor, owner))
    }

    /// Assigns the allocation at `base` to a pool. Pools have separate peer access.
    pub fn assign_pool(&self, base: u64, pool: usize) {
        self.state().pools.insert(base, pool);
    }

    /// Lets kernels of `accessor` touch memory of a pool, or ends that.
    pub fn set_pool_access(&self, accessor: u32, pool: usize, allowed: bool) {
        let peers = &mut self.state().pool_peers;
        if allowed {
            peers.insert((accessor, pool))
        } else {
            peers.remove(&(accessor, pool))
        };
    }

    /// Whether a kernel of `accessor` may touch an allocation.
    pub fn may_access(&self, accessor: u32, allocation: &Allocation) -> bool {
        let state = self.state();
        let owner = allocation.device.unwrap_or(accessor);
        let as_peer = || match state.pools.get(&allocation.base) {
            Some(&pool) => state.pool_peers.contains(&(accessor, pool)),
            None => state.peers.contains(&(accessor, owner)),
        };
        accessor == owner || !state.apart && as_peer()
    }

    /// The live region that holds the whole range.
    ///
    /// An empty range only needs its start inside or at the end of one.
    fn region(&self, address: u64, bytes: u64) -> Result<MemoryRegion, MemoryFault> {
        self.state().region(address, bytes)
    }

    /// Explains a bad access of a kernel on `accessor`; `None` if the access is valid.
    pub(super) fn diagnose(&self, accessor: u32, address: u64, bytes: u64) -> Option<MemoryFault> {
        match self.region(address, bytes) {
            Err(fault) => Some(fault),
            Ok(region) => {
                let problem = MemoryProblem::NoPeerAccess { accessor, allocation: region.info };
                (!self.may_access(accessor, &region.info)).then_some(MemoryFault { address, bytes, problem })
            }
        }
    }

    /// The live allocations as of now.
    pub(super) fn view(&self) -> Arc<MemoryView> {
        let state = &mut *self.state();
        let live = &state.live;
        state.view.get_or_insert_with(|| Arc::new(MemoryView { regions: live.values().cloned().collect() })).clone()
    }

    /// The variables of a module on a device, if they were placed before.
    pub(super) fn module(&self, program: u64, device: u32) -> Option<Arc<[u64]>> {
        self.state().modules.get(&(program, device)).cloned()
    }

    /// Remembers where the variables of a module are.
    ///
    /// The first call wins; returns the winner's addresses.
    pub(super) fn set_module(&self, program: u64, device: u32, addresses: Arc<[u64]>) -> Arc<[u64]> {
        self.state().modules.entry((program, device)).or_insert(addresses).clone()
    }

    /// Forgets the variables of a module; the caller frees them.
    pub(super) fn take_module(&self, program: u64, device: u32) -> Option<Arc<[u64]>> {
        self.state().modules.remove(&(program, device))
    }
}

impl MemoryState {
    fn retire(&mut self, info: Allocation) {
        if let Some(owner) = info.device.and_then(|device| self.devices.get_mut(device as usize)) {
            owner.usage.used -= info.bytes;
            owner.usage.allocations -= 1;
        }
        self.view = None;
        self.freed.insert(info.base, Allocation { freed_after: Some(self.made), ..info });
        self.freed_order.push_back(info.base);
        if self.freed_order.len() > HISTORY
            && let Some(oldest) = self.freed_order.pop_front()
        {
            self.freed.remove(&oldest);
        }
    }

    fn region(&self, address: u64, bytes: u64) -> Result<MemoryRegion, MemoryFault> {
        let below = self.live.range(..=address).next_back().map(|(_, region)| region);
        match below {
            Some(region) if region.contains(address, bytes.max(1)) => Ok(region.clone()),
            Some(region) if bytes == 0 && address <= region.info.base + region.info.bytes => Ok(region.clone()),
            _ => Err(MemoryFault { address, bytes, problem: self.problem(address, bytes, below) }),
        }
    }

    fn problem(&self, address: u64, bytes: u64, below: Option<&MemoryRegion>) -> MemoryProblem {
        let end = address.saturating_add(bytes.max(1));
        if address < GUARD {
            return MemoryProblem::Null;
        }
        if let Some((_, &allocation)) = self.freed.range(..=address).next_back()
            && address < allocation.base + allocation.bytes
        {
            return MemoryProblem::Freed { allocation, offset: address - allocation.base };
        }
        let above = self.live.range(address..).next().map(|(_, region)| region);
        let reach = |region: &MemoryRegion| if region.info.device.is_some() { GAP } else { GUARD };
        let past = below.map(|region| (region, end - (region.info.base + region.info.bytes)));
        let past = past.filter(|(region, past)| *past <= reach(region));
        let before = above.map(|region| (region, region.info.base - address));
        let before = before.filter(|(region, before)| *before < reach(region));
        match (past, before) {
            (Some((region, past)), before) if before.is_none_or(|(_, before)| past <= before) => {
                return MemoryProblem::PastEnd { allocation: region.info, past };
            }
            (_, Some((region, before))) => return MemoryProblem::Before { allocation: region.info, before },
            _ => {}
        }
        if address < HEAP_BASE { MemoryProblem::HostPointer } else { MemoryProblem::Unmapped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_counts_its_bytes_and_refuses_more_than_it_has() {
        let memory = Memory::new(&[1000, 5000]);
        let [first, second] = [600, 400].map(|bytes| memory.alloc(0, bytes).unwrap());
        let usage = |used, peak, allocations| Usage { capacity: 1000, used, peak, allocations };
        assert_eq!(memory.usage(0), usage(1000, 1000, 2));
        assert_eq!(memory.alloc(0, 1), Err(OutOfMemory { device: 0, requested: 1, free: 0 }));
        assert_eq!(memory.alloc(2, 1), Err(OutOfMemory { device: 2, requested: 1, free: 0 }));
        memory.free(first).unwrap();
        assert_eq!(memory.usage(0), usage(400, 1000, 1));
        assert_eq!(memory.alloc(0, 601), Err(OutOfMemory { device: 0, requested: 601, free: 600 }));
        assert_eq!((memory.usage(1).used, memory.usage(2)), (0, Usage::default()));
        // An address is freed once, and by its start.
        let refused = [first, second + 1, second + 399, second + 400].map(|at| memory.free(at).unwrap_err().problem);
        let [MemoryProblem::Freed { offset: 0, .. }, inside, last, MemoryProblem::PastEnd { past: 1, .. }] = refused
        else {
            panic!("{refused:?}")
        };
        let allocation = memory.find(second).unwrap();
        assert_eq!([inside, last], [MemoryProblem::NotABase { allocation }; 2]);
        assert_eq!((allocation.id, allocation.bytes, memory.find(second + 399)), (2, 400, Some(allocation)));
        assert_eq!([second - 1, second + 400].map(|at| memory.find(at)), [None; 2]);
        // An empty range may begin at the end.
        assert_eq!([0, 400, 401].map(|at| memory.read(second + at, &mut []).is_ok()), [true, true, false]);
        assert_eq!(
            [(0, 400), (1, 400), (400, 1)].map(|(at, len)| memory.fill(second + at, &[0], len).is_ok()),
            [true, false, false]
        );
    }

    #[test]
    fn mapped_ranges_touch_and_do_not_overlap() {
        let memory = Memory::new(&[1000]);
        let mut bytes = [0u8; 64];
        let at = |offset: usize| bytes.as_mut_ptr().wrapping_add(offset);
        let at = [0, 8, 15, 16, 24, 31, 32].map(at);
        // SAFETY: the array outlives the mappings, and is not used meanwhile.
        let map = |index: usize, len: u64| unsafe { memory.map_host(at[index], len) }.is_ok();
        assert!(map(3, 16));
        // Before and after the bytes 16 to 31, and across each of their ends.
        let outcomes = [map(2, 2), map(1, 8), map(3, 1), map(5, 1), map(4, 20), map(6, 8), map(0, 9)];
        assert_eq!(outcomes, [false, true, false, false, false, true, false]);
        assert_eq!([1, 3, 6].map(|index| memory.unmap_host(at[index]).is_ok()), [true; 3]);
        assert_eq!(
            [1, 2].map(|index| memory.unmap_host(at[index]).unwrap_err().problem),
            [MemoryProblem::HostPointer; 2]
        );
        let device = memory.alloc(0, 16).unwrap();
        let pointer = std::ptr::with_exposed_provenance_mut(device as usize);
        assert!(memory.unmap_host(pointer).is_err() && memory.free(device).is_ok());
        for low in [0, GUARD - 1] {
            // SAFETY: a range in the first page is refused.
            let refused = unsafe { memory.map_host(std::ptr::with_exposed_provenance_mut(low as usize), 8) };
            assert_eq!(refused.unwrap_err().problem, MemoryProblem::Null);
        }
    }

    #[test]
    fn an_address_beside_allocations_belongs_to_the_nearer_one() {
        let memory = Memory::new(&[1 << 20]);
        let [first, second] = [(); 2].map(|()| memory.alloc(0, ALIGNMENT).unwrap());
        let (end, gap) = (first + ALIGNMENT, second - first - ALIGNMENT);
        assert_eq!(gap, GAP);
        let problem = |address: u64| memory.read(address, &mut [0]).unwrap_err().problem;
        for (distance, is_past) in [(0, true), (GAP / 2 - 1, true), (GAP / 2, false), (GAP - 1, false)] {
            match problem(end + distance) {
                MemoryProblem::PastEnd { allocation, past } => {
                    assert!(is_past && (allocation.base, past) == (first, distance + 1), "{distance}");
                }
                MemoryProblem::Before { allocation, before } => {
                    assert!(!is_past && (allocation.base, before) == (second, GAP - distance), "{distance}");
                }
                other => panic!("{distance}: {other}"),
            }
        }
        // No allocation is near on the other sides.
        assert!(matches!(problem(first - GAP + 1), MemoryProblem::Before { before, .. } if before == GAP - 1));
        assert_eq!(problem(first - GAP), MemoryProblem::HostPointer);
        let past = |by: u64| problem(second + ALIGNMENT + by - 1);
        assert!(matches!(past(GAP), MemoryProblem::PastEnd { past: GAP, .. }));
        assert_eq!(past(GAP + 1), MemoryProblem::Unmapped);
        assert_eq!([0, GUARD - 1].map(problem), [MemoryProblem::Null; 2]);
        assert_eq!([GUARD, HEAP_BASE - GAP].map(problem), [MemoryProblem::HostPointer; 2]);
    }

    #[test]
    fn copies_and_fills_carry_bytes_and_gaps() {
        let memory = Memory::new(&[1 << 20]);
        let [from, to] = [(); 2].map(|()| memory.alloc(0, 10_000).unwrap());
        for (pattern, count) in [(&[1, 2, 3][..], 3000), (&[4][..], 5000), (&[5, 6, 7, 8][..], 2)] {
            memory.fill(from + 1, pattern, count).unwrap();
            let mut got = vec![0; pattern.len() * count as usize];
            memory.read(from + 1, &mut got).unwrap();
            assert_eq!(got, pattern.repeat(count as usize));
        }
        assert_eq!([0, 1].map(|at| memory.first_unwritten(from + at, 9000).unwrap()), [Some(from), None]);
        assert_eq!(memory.first_unwritten(from + 1, 9001), Ok(Some(from + 9001)));
        // Bytes of the source that nothing wrote are gaps of the target, whatever was there.
        memory.fill(to, &[9], 10_000).unwrap();
        memory.copy(to + 3, from, 9005).unwrap();
        assert_eq!(
            [to, to + 4, to + 9004].map(|at| memory.first_unwritten(at, 5).unwrap()),
            [Some(to + 3), None, Some(to + 9004)]
        );
        assert_eq!(memory.first_unwritten(to + 9008, 992), Ok(None));
        let mut got = [0; 12];
        memory.read(to + 1, &mut got).unwrap();
        assert_eq!(got, [9, 9, 0, 5, 6, 7, 8, 5, 6, 7, 8, 4]);
    }

    #[test]
    fn allocations_move_together_once_half_the_addresses_are_used() {
        for (before, gap) in [(2 * ALIGNMENT, GAP), (ALIGNMENT, GUARD), (0, GUARD)] {
            let memory = Memory::new(&[2 * ALIGNMENT]);
            memory.state().devices[0].next = HEAP_BASE + HEAP_SPAN / 2 - GAP - before;
            let [first, second] = [(); 2].map(|()| memory.alloc(0, ALIGNMENT).unwrap());
            assert_eq!(second - first, ALIGNMENT + gap, "{before}");
        }
    }
}
