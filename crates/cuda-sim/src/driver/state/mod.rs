//! The state of the driver, behind one lock.

pub(super) mod accesses;
pub(super) mod capture;
mod comm;
pub(super) mod graph;
pub(super) mod history;
mod object;
pub(super) mod outcome;
pub(super) mod queue;
pub(super) mod transfer;
pub(super) mod work;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

pub(super) use comm::{Clique, Communicator, TransferSide, What};
pub(super) use object::{
    ContextState, DeviceState, EventState, FunctionState, MemoryBlock, ModuleState, Ordered, Pinned, PoolState,
    StreamState,
};

use litemap::LiteMap;

use self::{
    capture::{Capture, CaptureId},
    graph::{Exec, Graph},
    history::AllocationHistory,
    queue::{TaskId, TaskQueue, VectorClock, WaitGoal},
    transfer::{Copy, CopyLocation},
    work::WorkUnit,
};
use super::{
    counters::{Counters, Leak, Report},
    handle::{Id, fresh},
    limits::CapabilityLimits,
    spec::Spec,
    spec_error::SpecError,
};
use crate::exec::{Memory, Options};

/// The driver of the process; `None` until one is installed.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// Signalled whenever a thread has done a task.
pub(super) static PROGRESS: Condvar = Condvar::new();

/// The driver's lock.
pub(super) fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The simulated driver.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) spec: Spec,
    pub(super) limits: &'static CapabilityLimits,
    pub(super) memory: Arc<Memory>,
    pub(super) options: Arc<Options>,
    pub(super) devices: Vec<DeviceState>,
    pub(super) contexts: LiteMap<Id, ContextState>,
    pub(super) streams: LiteMap<Id, StreamState>,
    pub(super) events: LiteMap<Id, EventState>,
    pub(super) modules: LiteMap<Id, ModuleState>,
    pub(super) functions: LiteMap<Id, FunctionState>,
    pub(super) pools: LiteMap<Id, PoolState>,
    pub(super) graphs: LiteMap<Id, Graph>,
    pub(super) execs: LiteMap<Id, Exec>,
    pub(super) captures: LiteMap<CaptureId, Capture>,
    /// Ranks of NCCL that find each other, by the number in their unique id.
    pub(super) cliques: LiteMap<u64, Clique>,
    pub(super) comms: LiteMap<Id, Communicator>,
    /// Device memory by base.
    ///
    /// Released stream-ordered blocks are kept, so that later uses are recognised.
    pub(super) blocks: BTreeMap<u64, MemoryBlock>,
    /// Pinned host memory by address.
    pub(super) pinned: BTreeMap<usize, Pinned>,
    pub(super) queue: TaskQueue,
    /// Last tasks of queries that were answered with "not ready".
    pub(super) polled: BTreeSet<TaskId>,
    /// The access history of each allocation, by its base.
    ///
    /// Present if streams are checked against each other.
    pub(super) histories: LiteMap<u64, AllocationHistory>,
    /// Tasks done so far.
    pub(super) done: u64,
    /// The work that the host has waited for.
    pub(super) host: VectorClock,
    pub(super) counters: Counters,
    pub(super) reports: Vec<Report>,
    pub(super) random: u64,
    /// Simulated time in nanoseconds.
    pub(super) now: u64,
}

impl Driver {
    /// The driver of the machine that `spec` describes.
    ///
    /// # Errors
    /// [`SpecError`] if there is no such machine.
    pub(super) fn new(spec: Spec) -> Result<Self, SpecError> {
        let limits = spec.limits()?;
        let capacities = vec![spec.memory; spec.devices as usize];
        let memory = if spec.copies_alone { Memory::apart(&capacities) } else { Memory::new(&capacities) };
        let memory = Arc::new(memory);
        let mut pools = LiteMap::new();
        let mut device = |ordinal| {
            let pool = fresh();
            pools.insert(pool, PoolState { device: ordinal, reuse: [1; 3], ..PoolState::default() });
            DeviceState { primary: None, holders: 0, flags: 0, default_pool: pool, current_pool: pool }
        };
        let devices = (0..spec.devices).map(&mut device).collect();
        let options = Options {
            schedule: spec.order,
            checks: spec.checks,
            threads: spec.threads,
            watchdog: spec.watchdog,
            ..Options::default()
        };
        Ok(Self {
            random: spec.seed ^ 0x9E37_79B9_7F4A_7C15,
            memory,
            options: Arc::new(options),
            devices,
            contexts: LiteMap::new(),
            streams: LiteMap::new(),
            events: LiteMap::new(),
            modules: LiteMap::new(),
            functions: LiteMap::new(),
            pools,
            graphs: LiteMap::new(),
            execs: LiteMap::new(),
            captures: LiteMap::new(),
            cliques: LiteMap::new(),
            comms: LiteMap::new(),
            blocks: BTreeMap::new(),
            pinned: BTreeMap::new(),
            queue: TaskQueue::default(),
            polled: BTreeSet::new(),
            histories: LiteMap::new(),
            done: 0,
            host: VectorClock::default(),
            counters: Counters::default(),
            reports: Vec::new(),
            now: 0,
            limits,
            spec,
        })
    }

    /// The next number of the seeded sequence (splitmix64).
    pub(super) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Notes something for the tests to read.
    pub(super) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Makes a context of `device`.
    pub(super) fn create_context(&mut self, device: u32, flags: u32) -> Id {
        let context = fresh();
        let legacy = fresh();
        self.streams.insert(legacy, StreamState::new(context, 0, 0, true));
        let context_state = ContextState {
            device,
            flags,
            legacy,
            lost: None,
            told: false,
            ended: VectorClock::default(),
            limits: LiteMap::new(),
            cache_config: 0,
            shared_config: 0,
        };
        self.contexts.insert(context, context_state);
        context
    }

    /// Removes a context whose work is done, frees everything it still holds, and reports that.
    pub(super) fn destroy_context(&mut self, id: Id) {
        let Some(context) = self.contexts.remove(&id) else { return };
        let mut leak = Leak { device: context.device, ..Leak::default() };
        let ours = |life: &Ordered| !life.released && life.pool.is_some();
        let live = |block: &MemoryBlock| block.context == id && block.ordered.as_ref().is_none_or(ours);
        for (&base, block) in self.blocks.iter().filter(|(_, block)| live(block)) {
            leak.allocations.push((base, block.bytes));
            leak.bytes += block.bytes;
        }
        for (base, _) in &leak.allocations {
            self.forget_block(*base);
        }
        self.blocks.retain(|_, block| block.context != id);
        let held: Vec<usize> =
            self.pinned.iter().filter(|(_, block)| block.context == id).map(|(address, _)| *address).collect();
        leak.pinned = held.len();
        self.streams.retain(|_, stream| {
            leak.streams += usize::from(stream.context == id && !stream.legacy);
            stream.context != id
        });
        self.events.retain(|_, event| {
            leak.events += usize::from(event.context == id);
            event.context != id
        });
        let modules: Vec<Id> =
            self.modules.iter().filter(|(_, module)| module.context == id).map(|(id, _)| *id).collect();
        leak.modules = modules.len();
        for module in modules {
            self.forget_module(module);
        }
        self.comms.retain(|_, comm| {
            leak.communicators += usize::from(comm.context == id);
            comm.context != id
        });
        self.captures.retain(|_, capture| capture.context != id);
        for pinned in held {
            // The program may still hold the address, so leaked host memory is never given back.
            self.unpin(pinned);
        }
        if !leak.is_empty() {
            self.report(Report::Leak(leak));
        }
    }

    /// Forgets a module and frees its variables.
    pub(super) fn forget_module(&mut self, id: Id) {
        let Some(module) = self.modules.remove(&id) else { return };
        self.functions.retain(|_, function| function.module != id);
        let device = self.contexts.get(&module.context).map(|context| context.device);
        if let Some(device) = device
            && let Err(fault) = module.program.unload(&self.memory, device)
        {
            self.report(Report::Address { call: "cuModuleUnload", reason: fault.to_string() });
        }
    }

    /// Frees the memory of a block, as far as it is not freed yet.
    pub(super) fn forget_block(&mut self, base: u64) {
        self.histories.remove(&base);
        if let Err(fault) = self.memory.free(base) {
            self.report(Report::Address { call: "free", reason: fault.to_string() });
        }
    }

    /// Ends the mapping of pinned memory, and returns its record.
    pub(super) fn unpin(&mut self, address: usize) -> Option<Pinned> {
        let pinned = self.pinned.remove(&address)?;
        self.histories.remove(&(address as u64));
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(address);
        if let Err(fault) = self.memory.unmap_host(pointer) {
            self.report(Report::Address { call: "unpin", reason: fault.to_string() });
        }
        Some(pinned)
    }

    /// The block that holds `address`, and its base.
    pub(super) fn block_of(&mut self, address: u64) -> Option<(u64, &mut MemoryBlock)> {
        let (&base, block) = self.blocks.range_mut(..=address).next_back()?;
        (address < base + block.bytes).then_some((base, block))
    }

    pub(super) fn clock_of(&self, stream: Id) -> VectorClock {
        self.streams.get(&stream).map(|stream| stream.clock.clone()).unwrap_or_default()
    }

    /// Records that the host has waited for `goal`.
    pub(super) fn learn(&mut self, goal: &WaitGoal) {
        let streams = self.streams.iter().filter(|(id, stream)| match goal {
            WaitGoal::Stream(wanted) => *id == wanted,
            WaitGoal::Context(wanted) => stream.context == *wanted,
            WaitGoal::All => true,
            WaitGoal::Tasks(_) => false,
        });
        for (_, stream) in streams {
            self.host.join(&stream.clock);
        }
        let contexts = self.contexts.iter().filter(|(id, _)| match goal {
            WaitGoal::Context(wanted) => *id == wanted,
            WaitGoal::All => true,
            WaitGoal::Stream(_) | WaitGoal::Tasks(_) => false,
        });
        for (_, context) in contexts {
            self.host.join(&context.ended);
        }
    }

    /// Counts bytes that a pool hands out.
    pub(in crate::driver) fn take_from_pool(&mut self, pool: Id, bytes: u64) {
        let Some(pool) = self.pools.get_mut(&pool) else { return };
        if pool.kept >= bytes {
            pool.kept -= bytes;
            self.counters.pool_hits += 1;
        }
        pool.used += bytes;
        pool.used_high = pool.used_high.max(pool.used);
        pool.reserved_high = pool.reserved_high.max(pool.used + pool.kept);
    }

    /// Counts bytes that come back to a pool, which keeps them up to its threshold.
    pub(in crate::driver) fn give_to_pool(&mut self, pool: Id, bytes: u64) {
        let Some(pool) = self.pools.get_mut(&pool) else { return };
        pool.used -= bytes;
        pool.kept = (pool.kept + bytes).min(pool.threshold.saturating_sub(pool.used));
    }

    /// Counts work that is about to be enqueued.
    pub(super) fn count(&mut self, work: &WorkUnit, by_call: bool) {
        match work {
            WorkUnit::Kernel(call) if by_call => {
                self.counters.launches += 1;
                *self.counters.launches_of.entry(call.name.to_string()).or_default() += 1;
            }
            WorkUnit::Copy(copy) => self.count_copy(copy),
            _ => {}
        }
    }

    fn count_copy(&mut self, copy: &Copy) {
        let device = |place: &CopyLocation| match place {
            CopyLocation::Device(address) => Some(self.memory.find(*address).and_then(|found| found.device)),
            CopyLocation::Host(_) | CopyLocation::Staged(_) => None,
        };
        let (target, source) = (device(&copy.target.place), device(&copy.source.place));
        let bytes = copy.bytes();
        match (target, source) {
            (Some(Some(to)), Some(Some(from))) if to != from => {
                *self.counters.bytes_between_devices.entry((from, to)).or_default() += bytes;
            }
            (Some(Some(_)), Some(Some(_))) => self.counters.bytes_on_device += bytes,
            (Some(Some(_)), _) => self.counters.bytes_to_device += bytes,
            (_, Some(Some(_))) => self.counters.bytes_to_host += bytes,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_splitmix64() {
        // The driver changes its seed by the step of the sequence: this one starts it at zero.
        let spec = Spec { seed: 0x9E37_79B9_7F4A_7C15, ..Spec::default() };
        let mut driver = Driver::new(spec).unwrap();
        let published = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([(); 3].map(|()| driver.draw()), published);
    }
}
