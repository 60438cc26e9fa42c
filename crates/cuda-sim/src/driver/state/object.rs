//! The objects behind the handles and addresses of the driver API.

use std::{alloc::Layout, sync::Arc};

use cuda_loader::Status;
use litemap::LiteMap;

use super::{
    capture::CaptureId,
    queue::{EventRecord, TaskId, VectorClock, Who},
};
use crate::{driver::handle::Id, exec::Program};

/// One virtual device.
#[derive(Debug)]
pub(in crate::driver) struct DeviceState {
    /// Its primary context, while someone holds it.
    pub(in crate::driver) primary: Option<Id>,
    /// How many hold it.
    pub(in crate::driver) holders: u32,
    pub(in crate::driver) flags: u32,
    pub(in crate::driver) default_pool: Id,
    pub(in crate::driver) current_pool: Id,
}

#[derive(Debug)]
pub(in crate::driver) struct ContextState {
    pub(in crate::driver) device: u32,
    pub(in crate::driver) flags: u32,
    /// The legacy default stream.
    pub(in crate::driver) legacy: Id,
    /// The error that lost it.
    pub(in crate::driver) lost: Option<Status>,
    /// Whether a call has answered that error.
    pub(in crate::driver) told: bool,
    /// What its destroyed streams knew.
    pub(in crate::driver) ended: VectorClock,
    pub(in crate::driver) limits: LiteMap<u32, usize>,
    pub(in crate::driver) cache_config: u32,
    pub(in crate::driver) shared_config: u32,
}

#[derive(Debug)]
pub(in crate::driver) struct StreamState {
    pub(in crate::driver) context: Id,
    pub(in crate::driver) flags: u32,
    pub(in crate::driver) priority: i32,
    pub(in crate::driver) legacy: bool,
    /// Its last task.
    pub(in crate::driver) tail: Option<TaskId>,
    /// Tasks that its next one comes after, from waits on events.
    pub(in crate::driver) waits: Vec<TaskId>,
    pub(in crate::driver) clock: VectorClock,
    pub(in crate::driver) capture: Option<CaptureId>,
}

impl StreamState {
    /// A stream without work.
    pub(in crate::driver) fn new(context: Id, flags: u32, priority: i32, legacy: bool) -> Self {
        let clock = VectorClock::default();
        Self { context, flags, priority, legacy, tail: None, waits: Vec::new(), clock, capture: None }
    }

    /// Whether it and the legacy stream wait for each other.
    pub(in crate::driver) fn blocking(&self) -> bool {
        self.flags & cuda_loader::ffi::stream::NON_BLOCKING == 0
    }
}

#[derive(Debug, Default)]
pub(in crate::driver) struct EventState {
    pub(in crate::driver) context: Id,
    pub(in crate::driver) flags: u32,
    pub(in crate::driver) recorded: Option<EventRecord>,
    /// Simulated time of the record, once it was done.
    pub(in crate::driver) time: Option<u64>,
    /// Nodes it stands for, if it was recorded in a capture.
    pub(in crate::driver) captured: Option<(CaptureId, Vec<Id>)>,
}

/// A loaded module.
#[derive(Debug)]
pub(in crate::driver) struct ModuleState {
    pub(in crate::driver) context: Id,
    pub(in crate::driver) program: Arc<Program>,
    pub(in crate::driver) functions: LiteMap<String, Id>,
}

/// A kernel of a module.
#[derive(Debug)]
pub(in crate::driver) struct FunctionState {
    pub(in crate::driver) module: Id,
    pub(in crate::driver) program: Arc<Program>,
    pub(in crate::driver) name: Arc<str>,
    /// Dynamic shared memory that a launch may ask for.
    pub(in crate::driver) max_dynamic_shared: i32,
    pub(in crate::driver) carveout: i32,
}

/// A pool of stream-ordered memory.
#[derive(Debug, Default)]
pub(in crate::driver) struct PoolState {
    pub(in crate::driver) device: u32,
    pub(in crate::driver) used: u64,
    pub(in crate::driver) used_high: u64,
    /// Released bytes that the pool keeps.
    pub(in crate::driver) kept: u64,
    pub(in crate::driver) reserved_high: u64,
    pub(in crate::driver) threshold: u64,
    pub(in crate::driver) reuse: [i32; 3],
    /// Rights of other devices.
    pub(in crate::driver) access: LiteMap<i32, u32>,
}

/// A block of device memory.
#[derive(Debug)]
pub(in crate::driver) struct MemoryBlock {
    pub(in crate::driver) context: Id,
    pub(in crate::driver) bytes: u64,
    /// Of stream-ordered memory only.
    pub(in crate::driver) ordered: Option<Ordered>,
}

/// The life of a block of stream-ordered memory.
#[derive(Debug)]
pub(in crate::driver) struct Ordered {
    /// The pool that it came from; `None` if a graph allocates it.
    pub(in crate::driver) pool: Option<Id>,
    /// The task that allocated it; `None` before the first launch of its graph.
    pub(in crate::driver) born: Option<Who>,
    /// Lines and numbers of the last tasks that use it.
    pub(in crate::driver) uses: LiteMap<Id, u64>,
    pub(in crate::driver) released: bool,
}

/// A block of pinned host memory.
#[derive(Debug)]
pub(in crate::driver) struct Pinned {
    pub(in crate::driver) context: Id,
    pub(in crate::driver) bytes: usize,
    pub(in crate::driver) flags: u32,
    /// How to give it back; `None` if the caller owns the memory and only registered it.
    pub(in crate::driver) layout: Option<Layout>,
}
