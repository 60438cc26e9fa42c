//! Everything the driver knows, behind one lock.

use std::{
    alloc::Layout,
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use cuda_loader::Status;

use super::{
    capture::{Capture, CaptureId},
    counters::{Counters, Leak, Report},
    graph::{Exec, Graph},
    handle::{Id, fresh},
    history::History,
    limits::Limits,
    queue::{Clock, Goal, Queue, TaskId, Who},
    spec::{Spec, SpecError},
    work::{Did, Failure, Work},
};
use crate::exec::{Memory, Options, Program};

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
    pub(super) limits: &'static Limits,
    pub(super) memory: Arc<Memory>,
    pub(super) options: Arc<Options>,
    pub(super) devices: Vec<Device>,
    pub(super) contexts: BTreeMap<Id, Context>,
    pub(super) streams: BTreeMap<Id, Stream>,
    pub(super) events: BTreeMap<Id, Event>,
    pub(super) modules: BTreeMap<Id, Module>,
    pub(super) functions: BTreeMap<Id, Function>,
    pub(super) pools: BTreeMap<Id, Pool>,
    pub(super) graphs: BTreeMap<Id, Graph>,
    pub(super) execs: BTreeMap<Id, Exec>,
    pub(super) captures: BTreeMap<CaptureId, Capture>,
    /// Device memory by base; released stream-ordered blocks stay, so that later uses are known for what they are.
    pub(super) blocks: BTreeMap<u64, Block>,
    /// Pinned host memory by address.
    pub(super) pinned: BTreeMap<usize, Pinned>,
    pub(super) queue: Queue,
    /// What is remembered of each allocation by its base, where work of streams is held against each other.
    pub(super) histories: BTreeMap<u64, History>,
    /// Tasks done so far.
    pub(super) done: u64,
    /// How many they were when a host function was last done.
    pub(super) last_host_function: u64,
    /// What the host has waited for.
    pub(super) host: Clock,
    pub(super) counters: Counters,
    pub(super) reports: Vec<Report>,
    pub(super) random: u64,
    /// Simulated time in nanoseconds.
    pub(super) now: u64,
}

/// One virtual device.
#[derive(Debug)]
pub(super) struct Device {
    /// Its primary context, while someone holds it.
    pub(super) primary: Option<Id>,
    /// How many hold it.
    pub(super) holders: u32,
    pub(super) flags: u32,
    pub(super) default_pool: Id,
    pub(super) current_pool: Id,
}

/// A context.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) device: u32,
    pub(super) flags: u32,
    /// The legacy default stream.
    pub(super) legacy: Id,
    /// The error that lost it.
    pub(super) lost: Option<Status>,
    /// Whether a call has answered that error.
    pub(super) told: bool,
    /// What its destroyed streams knew.
    pub(super) ended: Clock,
    pub(super) limits: BTreeMap<u32, usize>,
    pub(super) cache_config: u32,
    pub(super) shared_config: u32,
}

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) context: Id,
    pub(super) flags: u32,
    pub(super) priority: i32,
    pub(super) legacy: bool,
    /// Its last task.
    pub(super) tail: Option<TaskId>,
    /// Tasks that its next one comes after, from waits on events.
    pub(super) waits: Vec<TaskId>,
    pub(super) clock: Clock,
    pub(super) capture: Option<CaptureId>,
}

impl Stream {
    /// Whether it and the legacy stream wait for each other.
    pub(super) fn blocking(&self) -> bool {
        self.flags & cuda_loader::ffi::stream::NON_BLOCKING == 0
    }
}

/// An event.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) context: Id,
    pub(super) flags: u32,
    pub(super) recorded: Option<Recorded>,
    /// Simulated time of the record, once it was done.
    pub(super) time: Option<u64>,
    /// Nodes it stands for, if it was recorded in a capture.
    pub(super) captured: Option<(CaptureId, Vec<Id>)>,
}

/// The last record of an event.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) task: TaskId,
    pub(super) clock: Clock,
}

/// A loaded module.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) context: Id,
    pub(super) program: Arc<Program>,
    pub(super) functions: BTreeMap<String, Id>,
}

/// A kernel of a module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) module: Id,
    pub(super) program: Arc<Program>,
    pub(super) name: Arc<str>,
    /// Dynamic shared memory that a launch may ask for.
    pub(super) max_dynamic_shared: i32,
    pub(super) carveout: i32,
}

/// A pool of stream-ordered memory.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) device: u32,
    pub(super) used: u64,
    pub(super) used_high: u64,
    /// Released bytes that the pool keeps.
    pub(super) kept: u64,
    pub(super) reserved_high: u64,
    pub(super) threshold: u64,
    pub(super) reuse: [i32; 3],
    /// Rights of other devices.
    pub(super) access: BTreeMap<i32, u32>,
}

/// A block of device memory.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) context: Id,
    pub(super) bytes: u64,
    /// Of stream-ordered memory only.
    pub(super) ordered: Option<Ordered>,
}

/// The life of a block of stream-ordered memory.
#[derive(Debug)]
pub(super) struct Ordered {
    /// The pool that it came from; `None` if a graph allocates it.
    pub(super) pool: Option<Id>,
    /// The task that allocated it; `None` before the first launch of its graph.
    pub(super) born: Option<Who>,
    /// Lines and numbers of the last tasks that use it.
    pub(super) uses: BTreeMap<Id, u64>,
    pub(super) released: bool,
}

/// A block of pinned host memory.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) context: Id,
    pub(super) bytes: usize,
    pub(super) flags: u32,
    /// How to give it back; `None` if the caller owns the memory and only registered it.
    pub(super) layout: Option<Layout>,
}

impl Driver {
    /// The driver of the machine that `spec` describes.
    ///
    /// # Errors
    /// [`SpecError`] if there is no such machine.
    pub(super) fn new(spec: Spec) -> Result<Self, SpecError> {
        let limits = spec.limits()?;
        let memory = Arc::new(Memory::new(&vec![spec.memory; spec.devices as usize]));
        let mut pools = BTreeMap::new();
        let mut device = |ordinal| {
            let pool = fresh();
            pools.insert(pool, Pool { device: ordinal, reuse: [1; 3], ..Pool::default() });
            Device { primary: None, holders: 0, flags: 0, default_pool: pool, current_pool: pool }
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
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            pools,
            graphs: BTreeMap::new(),
            execs: BTreeMap::new(),
            captures: BTreeMap::new(),
            blocks: BTreeMap::new(),
            pinned: BTreeMap::new(),
            queue: Queue::default(),
            histories: BTreeMap::new(),
            done: 0,
            last_host_function: 0,
            host: Clock::default(),
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
        let stream = Stream {
            context,
            flags: 0,
            priority: 0,
            legacy: true,
            tail: None,
            waits: Vec::new(),
            clock: Clock::default(),
            capture: None,
        };
        self.streams.insert(legacy, stream);
        let context_state = Context {
            device,
            flags,
            legacy,
            lost: None,
            told: false,
            ended: Clock::default(),
            limits: BTreeMap::new(),
            cache_config: 0,
            shared_config: 0,
        };
        self.contexts.insert(context, context_state);
        context
    }

    /// Forgets a context whose work is done, frees what it still holds, and reports that.
    pub(super) fn destroy_context(&mut self, id: Id) {
        let Some(context) = self.contexts.remove(&id) else { return };
        let mut leak = Leak { device: context.device, ..Leak::default() };
        let ours = |life: &Ordered| !life.released && life.pool.is_some();
        let live = |block: &Block| block.context == id && block.ordered.as_ref().is_none_or(ours);
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

    /// Ends the mapping of pinned memory; what it was.
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
    pub(super) fn block_of(&mut self, address: u64) -> Option<(u64, &mut Block)> {
        let (&base, block) = self.blocks.range_mut(..=address).next_back()?;
        (address < base + block.bytes).then_some((base, block))
    }

    /// Notes that a task has been done and what came of it.
    pub(super) fn complete(&mut self, id: TaskId, outcome: Result<Did, Failure>) {
        let Some(task) = self.queue.finish(id) else { return };
        let did = outcome.as_ref().ok().and_then(|did| did.kernel.as_ref());
        self.now += task.work.nanoseconds(did) * if task.slow { 1000 } else { 1 };
        match outcome {
            Ok(did) => {
                if let Some(address) = did.unwritten {
                    self.report(Report::Unwritten { work: task.work.to_string(), address });
                }
                if let Some(kernel) = &did.kernel {
                    self.counters.kernels += kernel;
                }
                self.done += 1;
                if matches!(task.work, Work::Host(_)) {
                    self.last_host_function = self.done;
                }
                if self.options.checks.streams {
                    self.remember(&task, did.accesses);
                }
            }
            Err((code, reason)) => {
                // An error of work that nobody waits for loses the context whatever its kind.
                if let Some(context) = self.contexts.get_mut(&task.context) {
                    context.lost.get_or_insert(code);
                }
                self.report(Report::Failed { work: task.work.to_string(), code: code.0, reason });
            }
        }
        if let Work::Record(event) = task.work
            && let Some(event) = self.events.get_mut(&event)
            && event.recorded.as_ref().is_some_and(|recorded| recorded.task == id)
        {
            event.time = Some(self.now);
        }
    }

    /// What the host knows once it has waited for `goal`.
    pub(super) fn learn(&mut self, goal: &Goal) {
        let streams = self.streams.iter().filter(|(id, stream)| match goal {
            Goal::Stream(wanted) => *id == wanted,
            Goal::Context(wanted) => stream.context == *wanted,
            Goal::All => true,
            Goal::Tasks(_) => false,
        });
        for (_, stream) in streams {
            self.host.join(&stream.clock);
        }
        let contexts = self.contexts.iter().filter(|(id, _)| match goal {
            Goal::Context(wanted) => *id == wanted,
            Goal::All => true,
            Goal::Stream(_) | Goal::Tasks(_) => false,
        });
        for (_, context) in contexts {
            self.host.join(&context.ended);
        }
    }
}
