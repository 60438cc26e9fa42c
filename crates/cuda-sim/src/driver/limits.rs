//! Limits and attributes of a virtual device, by compute capability.

use cuda_loader::ffi::device as attribute;

/// Most threads of a block.
pub(super) const MAX_THREADS: u32 = 1024;
/// Most threads of a block along x, y, z.
pub(super) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Most blocks along x, y, z.
pub(super) const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65_535, 65_535];
/// Registers of a multiprocessor.
pub(super) const REGISTERS: u32 = 65_536;
/// Shared memory of a block that needs no opt-in.
pub(super) const SHARED_DEFAULT: u32 = 48 << 10;
/// Constant memory of a module.
pub(super) const CONSTANT: u64 = 64 << 10;
/// Local memory of a thread.
pub(super) const LOCAL: u64 = 512 << 10;

/// What devices of a compute capability have.
#[derive(Debug)]
pub(super) struct CapabilityLimits {
    /// Major and minor.
    pub(super) capability: (u32, u32),
    /// Shared memory of a multiprocessor.
    pub(super) shared: u32,
    /// Threads that a multiprocessor holds.
    pub(super) threads: u32,
    /// Blocks that a multiprocessor holds.
    pub(super) blocks: u32,
    /// The level-two cache of one device that has the capability.
    pub(super) cache: i32,
    /// The first CUDA release that supports the capability.
    pub(super) since: Release,
}

/// A CUDA release: its number as the driver reports it, and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    pub(super) number: i32,
    pub(super) name: &'static str,
}

const fn since(major: i32, minor: i32, name: &'static str) -> Release {
    Release { number: 1000 * major + 10 * minor, name }
}

/// By the tables of the CUDA programming guide and the notes of its releases.
#[rustfmt::skip]
const KNOWN: &[CapabilityLimits] = &[
    known((7, 0), 96, 2048, 32, 6, since(9, 0, "9.0 or newer")),
    known((7, 5), 64, 1024, 16, 4, since(10, 0, "10.0 or newer")),
    known((8, 0), 164, 2048, 32, 40, since(11, 0, "11.0 or newer")),
    known((8, 6), 100, 1536, 16, 6, since(11, 1, "11.1 or newer")),
    known((8, 7), 164, 1536, 16, 4, since(11, 4, "11.4 or newer")),
    known((8, 9), 100, 1536, 24, 48, since(11, 8, "11.8 or newer")),
    known((9, 0), 228, 2048, 32, 50, since(11, 8, "11.8 or newer")),
    known((10, 0), 228, 2048, 32, 126, since(12, 8, "12.8 or newer")),
    known((10, 3), 228, 2048, 32, 126, since(12, 9, "12.9 or newer")),
    known((12, 0), 100, 1536, 24, 96, since(12, 8, "12.8 or newer")),
    known((12, 1), 100, 1536, 24, 24, since(12, 9, "12.9 or newer")),
];

/// `shared` in KiB, `cache` in MiB.
const fn known(
    capability: (u32, u32),
    shared: u32,
    threads: u32,
    blocks: u32,
    cache: i32,
    since: Release,
) -> CapabilityLimits {
    CapabilityLimits { capability, shared: shared << 10, threads, blocks, cache: cache << 20, since }
}

/// Names of the capabilities that can be simulated.
pub(super) const CAPABILITIES: &str = "7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 12.0 or 12.1";

/// What devices of a capability have; `None` if it is not simulated.
pub(super) fn of(capability: (u32, u32)) -> Option<&'static CapabilityLimits> {
    KNOWN.iter().find(|limits| limits.capability == capability)
}

impl CapabilityLimits {
    /// Shared memory of each block that the system keeps.
    pub(super) fn shared_reserved(&self) -> u32 {
        if self.capability >= (8, 0) { 1 << 10 } else { 0 }
    }

    /// Shared memory of a block after an opt-in.
    pub(super) fn shared_opt_in(&self) -> u32 {
        self.shared - self.shared_reserved()
    }

    /// Blocks of a shape that a multiprocessor holds at once.
    ///
    /// A block has at least one thread, and a thread at least one register.
    pub(super) fn occupancy(&self, threads: u32, registers: u32, shared: u32) -> u32 {
        let warps = threads.div_ceil(32);
        let by_threads = self.threads / 32 / warps;
        // Registers are handed out to warps in units of 256.
        let by_registers = REGISTERS / ((registers * 32).next_multiple_of(256) * warps);
        let by_shared = self.shared.checked_div(shared.saturating_add(self.shared_reserved())).unwrap_or(self.blocks);
        by_threads.min(by_registers).min(by_shared).min(self.blocks)
    }
}

/// A device attribute that does not depend on the device's place.
///
/// `None` if it is not simulated.
pub(super) fn attribute(number: u32, limits: &CapabilityLimits, multiprocessors: u32) -> Option<i32> {
    Some(match number {
        attribute::MAX_THREADS_PER_BLOCK => MAX_THREADS as i32,
        attribute::MAX_BLOCK_DIM_X => MAX_BLOCK[0] as i32,
        attribute::MAX_BLOCK_DIM_Y => MAX_BLOCK[1] as i32,
        attribute::MAX_BLOCK_DIM_Z => MAX_BLOCK[2] as i32,
        attribute::MAX_GRID_DIM_X => MAX_GRID[0] as i32,
        attribute::MAX_GRID_DIM_Y => MAX_GRID[1] as i32,
        attribute::MAX_GRID_DIM_Z => MAX_GRID[2] as i32,
        attribute::MAX_SHARED_MEMORY_PER_BLOCK => SHARED_DEFAULT as i32,
        attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => limits.shared_opt_in() as i32,
        attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => limits.shared as i32,
        attribute::RESERVED_SHARED_MEMORY_PER_BLOCK => limits.shared_reserved() as i32,
        attribute::TOTAL_CONSTANT_MEMORY => CONSTANT as i32,
        attribute::WARP_SIZE => 32,
        attribute::MAX_PITCH => i32::MAX,
        attribute::MAX_REGISTERS_PER_BLOCK | attribute::MAX_REGISTERS_PER_MULTIPROCESSOR => REGISTERS as i32,
        attribute::CLOCK_RATE => 1_000_000,
        attribute::MEMORY_CLOCK_RATE => 1_000_000,
        attribute::GLOBAL_MEMORY_BUS_WIDTH => 4096,
        attribute::TEXTURE_ALIGNMENT => 512,
        attribute::TEXTURE_PITCH_ALIGNMENT => 32,
        attribute::MULTIPROCESSOR_COUNT => multiprocessors as i32,
        attribute::L2_CACHE_SIZE => limits.cache,
        attribute::MAX_THREADS_PER_MULTIPROCESSOR => limits.threads as i32,
        attribute::MAX_BLOCKS_PER_MULTIPROCESSOR => limits.blocks as i32,
        attribute::COMPUTE_CAPABILITY_MAJOR => limits.capability.0 as i32,
        attribute::COMPUTE_CAPABILITY_MINOR => limits.capability.1 as i32,
        attribute::ASYNC_ENGINE_COUNT => 2,
        attribute::GPU_OVERLAP
        | attribute::CAN_MAP_HOST_MEMORY
        | attribute::CONCURRENT_KERNELS
        | attribute::UNIFIED_ADDRESSING
        | attribute::STREAM_PRIORITIES_SUPPORTED
        | attribute::GLOBAL_L1_CACHE_SUPPORTED
        | attribute::LOCAL_L1_CACHE_SUPPORTED
        | attribute::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | attribute::COOPERATIVE_LAUNCH
        | attribute::HOST_REGISTER_SUPPORTED
        | attribute::MEMORY_POOLS_SUPPORTED
        | attribute::COMPUTE_PREEMPTION_SUPPORTED => 1,
        attribute::PCI_DEVICE_ID
        | attribute::PCI_DOMAIN_ID
        | attribute::KERNEL_EXEC_TIMEOUT
        | attribute::INTEGRATED
        | attribute::COMPUTE_MODE
        | attribute::ECC_ENABLED
        | attribute::TCC_DRIVER
        | attribute::MANAGED_MEMORY
        | attribute::MULTI_GPU_BOARD
        | attribute::HOST_NATIVE_ATOMIC_SUPPORTED
        | attribute::PAGEABLE_MEMORY_ACCESS
        | attribute::CONCURRENT_MANAGED_ACCESS => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_is_that_of_the_published_tables() {
        // 256 threads of 32 registers fill an A100's 2048 threads with 8 blocks; 64 registers still permit 4.
        let ampere = of((8, 0)).unwrap();
        assert_eq!(ampere.occupancy(256, 32, 0), 8);
        assert_eq!(ampere.occupancy(256, 64, 0), 4);
        assert_eq!(ampere.occupancy(1024, 64, 0), 1);
        // A block of 65 threads has three warps; without shared memory, it takes none before 8.0.
        assert_eq!(ampere.occupancy(65, 64, 0), 10);
        let volta = of((7, 0)).unwrap();
        assert_eq!((volta.occupancy(32, 16, 0), volta.occupancy(32, 16, 3 << 10)), (32, 32));
        assert_eq!((volta.occupancy(32, 16, (3 << 10) + 1), volta.occupancy(32, 16, u32::MAX)), (31, 0));
        // 48 KiB and the reserved one fit three times into 164 KiB.
        assert_eq!(ampere.occupancy(128, 32, 48 << 10), 3);
        assert_eq!(ampere.occupancy(32, 16, 0), 32);
        assert_eq!(ampere.occupancy(1024, 255, 0), 0);
        // And four times into 228 KiB.
        assert_eq!(of((9, 0)).unwrap().occupancy(128, 32, 48 << 10), 4);
    }

    #[test]
    fn the_capabilities_that_errors_list_are_those_that_are_known() {
        let listed: Vec<&str> = CAPABILITIES.split([',', ' ']).filter(|word| word.contains('.')).collect();
        let known: Vec<String> =
            KNOWN.iter().map(|limits| format!("{}.{}", limits.capability.0, limits.capability.1)).collect();
        assert_eq!(listed, known);
        for limits in KNOWN {
            let name = format!("{}.{} or newer", limits.since.number / 1000, limits.since.number % 1000 / 10);
            assert_eq!(limits.since.name, name);
        }
    }
}
