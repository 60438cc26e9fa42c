//! A kernel of a loaded module.
//!
//! It is checked against the device and allowed the shared memory of its launches.

use std::sync::Arc;

use super::{
    ModuleError,
    manifest::{DynamicShared, KernelEntry, KernelParameter},
};
use crate::{
    DeviceInfo,
    error::DriverFault,
    ffi::{FunctionFacts, KernelFunction, LoadedModule},
};

/// Most shared bytes of a block, static and dynamic, without an opt-in of the kernel.
const PLAIN_SHARED_BYTES: u32 = 48 << 10;

/// Shared bytes of each block that the driver takes for itself.
const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// Properties of a kernel that the driver compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// Its name.
    pub name: String,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread: spilled registers and its stack.
    pub local_bytes: u32,
    /// Shared bytes of a block, at most.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor runs at once; `None` if the driver cannot say.
    pub blocks: Option<u32>,
    /// Blocks that a multiprocessor is meant to run at once, at least.
    pub min_blocks: u32,
    /// The percentage of its greatest shared memory that a multiprocessor should provide.
    ///
    /// `-1` if the driver chooses.
    pub carveout: i32,
}

/// A kernel, ready to launch.
#[derive(Debug)]
pub(crate) struct LoadedKernel {
    function: KernelFunction,
    facts: FunctionFacts,
    shared: SharedBytes,
    name: Arc<str>,
    entry: KernelEntry,
    /// Keeps the function loaded.
    module: Arc<LoadedModule>,
}

impl LoadedKernel {
    /// Finds the kernel of the manifest's `entry`.
    ///
    /// It is allowed the shared memory that its launches need.
    pub(super) fn find(module: &Arc<LoadedModule>, entry: &KernelEntry, info: &DeviceInfo) -> Result<Self, Unusable> {
        let (function, facts) = module.function(&entry.name)?.ok_or(Unusable::Missing)?;
        let shared = fit(entry, facts, info).map_err(Unusable::Unfit)?;
        let bytes = shared.fixed.saturating_add(shared.dynamic);
        if bytes > PLAIN_SHARED_BYTES {
            module.allow_dynamic_shared(function, shared.dynamic)?;
        }
        let threads = entry.block.iter().product();
        let blocks = module.blocks(function, threads, shared.dynamic)?.unwrap_or(0).max(entry.min_blocks);
        if let Some(percent) = carveout(bytes, blocks, info.multiprocessor_shared_bytes) {
            module.prefer_shared(function, percent)?;
        }
        let name = entry.name.as_str().into();
        Ok(Self { function, facts, shared, name, entry: entry.clone(), module: Arc::clone(module) })
    }

    /// The properties of the compiled kernel.
    pub(super) fn facts(&self) -> Result<KernelFacts, DriverFault> {
        let threads = self.entry.block.iter().product();
        Ok(KernelFacts {
            name: self.entry.name.clone(),
            threads,
            registers: self.facts.registers,
            local_bytes: self.facts.local_bytes,
            shared_bytes: self.shared.fixed.saturating_add(self.shared.dynamic),
            blocks: self.module.blocks(self.function, threads, self.shared.dynamic)?,
            min_blocks: self.entry.min_blocks,
            carveout: self.module.carveout(self.function)?,
        })
    }

    pub(crate) fn function(&self) -> KernelFunction {
        self.function
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What each parameter is, and where it lies among the packed ones.
    pub(crate) fn parameters(&self) -> &[KernelParameter] {
        &self.entry.params
    }

    pub(crate) fn parameter_bytes(&self) -> usize {
        self.entry.parameter_bytes()
    }

    /// Blocks that a multiprocessor runs at once, at least.
    pub(crate) fn min_blocks(&self) -> u32 {
        self.entry.min_blocks
    }

    /// Threads of a block along x, y and z.
    pub(crate) fn block(&self) -> [u32; 3] {
        self.entry.block
    }

    /// Dynamic shared bytes of a launch that asks for `wanted`, or why it cannot have them.
    pub(crate) fn dynamic_shared(&self, wanted: Option<u32>) -> Result<u32, String> {
        match (self.entry.dynamic_shared, wanted) {
            (None, None) => Ok(0),
            (Some(DynamicShared::Bytes(bytes)), None) => Ok(bytes),
            (Some(DynamicShared::UpTo { .. }), Some(bytes)) if bytes <= self.shared.dynamic => Ok(bytes),
            (Some(DynamicShared::UpTo { .. }), Some(bytes)) => {
                let possible = self.shared.dynamic;
                Err(format!("expected at most {possible} bytes of dynamic shared memory, got {bytes}"))
            }
            (Some(DynamicShared::UpTo { .. }), None) => {
                Err("expected a size of dynamic shared memory, got none".to_owned())
            }
            (_, Some(_)) => Err("expected no size of dynamic shared memory, got one".to_owned()),
        }
    }
}

/// Why a kernel of a loaded module cannot be used.
pub(super) enum Unusable {
    /// The module lacks it.
    Missing,
    /// The device cannot run its blocks.
    Unfit(String),
    /// The driver refused.
    Refused(DriverFault),
}

impl From<DriverFault> for Unusable {
    fn from(fault: DriverFault) -> Self {
        Self::Refused(fault)
    }
}

impl Unusable {
    /// The corresponding error for `kernel`, in a module of `bytes` bytes.
    pub(super) fn of(self, module: &str, kernel: &str, bytes: u64) -> ModuleError {
        let (module, kernel) = (module.to_owned(), kernel.to_owned());
        match self {
            Self::Missing => ModuleError::Missing { module, kernel },
            Self::Unfit(reason) => ModuleError::Unfit { kernel, reason },
            Self::Refused(fault) => {
                ModuleError::Load { module, reason: fault.of_allocation(bytes), log: String::new() }
            }
        }
    }
}

/// The percentage of a multiprocessor's greatest shared memory for `blocks` blocks.
///
/// Each block needs `bytes` bytes. `None` if the blocks use no shared memory.
fn carveout(bytes: u32, blocks: u32, available: u32) -> Option<u32> {
    if bytes == 0 || available == 0 {
        return None;
    }
    let needed = u64::from(bytes.saturating_add(RESERVED_SHARED_BYTES)) * u64::from(blocks.max(1));
    Some((needed * 100).div_ceil(u64::from(available)).min(100) as u32)
}

/// Shared bytes of a block.
#[derive(Clone, Copy, Debug)]
struct SharedBytes {
    /// The bytes that the kernel takes whatever the launch asks for.
    fixed: u32,
    /// The most that launches ask for.
    dynamic: u32,
}

/// The most shared bytes of a kernel's blocks, or why they do not fit the device.
fn fit(entry: &KernelEntry, facts: FunctionFacts, info: &DeviceInfo) -> Result<SharedBytes, String> {
    let threads: u32 = entry.block.iter().product();
    let possible = facts.max_threads.min(info.max_block_threads);
    if threads > possible {
        let registers = facts.registers;
        return Err(format!(
            "expected blocks of at most {possible} threads ({registers} registers each), got {threads}"
        ));
    }
    let fixed = facts.static_shared.max(entry.static_shared);
    let dynamic = match entry.dynamic_shared {
        None => 0,
        Some(DynamicShared::Bytes(bytes)) => bytes,
        // launches request at most the device's limit
        Some(DynamicShared::UpTo { up_to }) => up_to.min(info.max_shared_bytes.saturating_sub(fixed)),
    };
    let shared = u64::from(dynamic) + u64::from(fixed);
    if shared > u64::from(info.max_shared_bytes) {
        return Err(format!(
            "expected at most {} bytes of shared memory per block, got {shared}",
            info.max_shared_bytes
        ));
    }
    Ok(SharedBytes { fixed, dynamic })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;

    #[test]
    fn blocks_fit_up_to_the_limits_of_kernel_and_device() {
        let (_machine, queue) = rig::queue(1);
        let info = DeviceInfo { max_block_threads: 512, max_shared_bytes: 1000, ..queue.device().info().clone() };
        let fit = |max_threads, threads, [of_facts, static_shared]: [u32; 2], dynamic_shared| {
            let facts = FunctionFacts { max_threads, static_shared: of_facts, registers: 9, local_bytes: 0 };
            let (name, params, block, min_blocks) = ("k".to_owned(), Vec::new(), [threads, 2, 1], 1);
            let entry = KernelEntry { name, params, block, min_blocks, dynamic_shared, static_shared };
            fit(&entry, facts, &info).map(|shared| [shared.fixed, shared.dynamic])
        };
        let threads =
            |most, got| Err(format!("expected blocks of at most {most} threads (9 registers each), got {got}"));
        assert_eq!(fit(256, 128, [0, 0], None), Ok([0, 0]));
        assert_eq!(fit(256, 129, [0, 0], None), threads(256, 258));
        assert_eq!(fit(2048, 256, [0, 0], None), Ok([0, 0]));
        assert_eq!(fit(2048, 257, [0, 0], None), threads(512, 514));
        let shared = |got| Err(format!("expected at most 1000 bytes of shared memory per block, got {got}"));
        for (fixed, dynamic, expected) in [
            ([1000, 7], None, Ok([1000, 0])),
            ([7, 1001], None, shared(1001)),
            ([200, 300], Some(DynamicShared::Bytes(700)), Ok([300, 700])),
            ([300, 200], Some(DynamicShared::Bytes(701)), shared(1001)),
            ([300, 200], Some(DynamicShared::UpTo { up_to: 4096 }), Ok([300, 700])),
            ([300, 200], Some(DynamicShared::UpTo { up_to: 600 }), Ok([300, 600])),
        ] {
            assert_eq!(fit(256, 1, fixed, dynamic), expected, "{fixed:?} {dynamic:?}");
        }
    }

    #[test]
    fn as_much_memory_is_shared_out_as_the_blocks_need() {
        const A100: u32 = 164 << 10;
        assert_eq!(carveout(0, 8, A100), None);
        assert_eq!(carveout(32 << 10, 4, A100), Some(81)); // 132 of 164 KiB
        assert_eq!(carveout(48 << 10, 2, A100), Some(60));
        assert_eq!(carveout(67_584, 0, A100), Some(41));
        assert_eq!(carveout(u32::MAX, 1, A100), Some(100));
        assert_eq!(carveout(1, 1, 0), None);
    }
}
