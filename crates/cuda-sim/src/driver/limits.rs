//! What a virtual device can do, by compute capability.

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
/// Few, so that launches sized by them stay quick to execute.
const MULTIPROCESSORS: i32 = 4;

/// Shared memory of a multiprocessor.
pub(super) fn shared_of_multiprocessor(capability: (u32, u32)) -> u32 {
    match capability {
        (8, 6 | 9) | (12.., _) => 100 << 10,
        (9.., _) => 228 << 10,
        (8, _) => 164 << 10,
        (7, 5) => 64 << 10,
        _ => 96 << 10,
    }
}

/// Shared memory of each block that the system keeps.
fn shared_reserved(capability: (u32, u32)) -> u32 {
    if capability.0 >= 8 { 1 << 10 } else { 0 }
}

/// Shared memory of a block after an opt-in.
pub(super) fn shared_opt_in(capability: (u32, u32)) -> u32 {
    shared_of_multiprocessor(capability) - shared_reserved(capability)
}

/// Threads that a multiprocessor holds.
pub(super) fn threads_of_multiprocessor(capability: (u32, u32)) -> u32 {
    match capability {
        (8, 6 | 9) | (12.., _) => 1536,
        (7, 5) => 1024,
        _ => 2048,
    }
}

/// Blocks that a multiprocessor holds.
pub(super) fn blocks_of_multiprocessor(capability: (u32, u32)) -> u32 {
    match capability {
        (8, 6) | (7, 5) => 16,
        (8, 9) | (12.., _) => 24,
        _ => 32,
    }
}

/// Blocks of a shape that a multiprocessor holds at once.
pub(super) fn occupancy(capability: (u32, u32), threads: u32, registers: u32, shared: u32) -> u32 {
    let warps = threads.div_ceil(32).max(1);
    let by_threads = threads_of_multiprocessor(capability) / 32 / warps;
    // Registers are handed out to warps in units of 256.
    let by_registers = REGISTERS / ((registers.max(1) * 32).next_multiple_of(256) * warps);
    let by_shared = shared_of_multiprocessor(capability) / (shared + shared_reserved(capability)).max(1);
    by_threads.min(by_registers).min(by_shared).min(blocks_of_multiprocessor(capability))
}

/// A device attribute that does not depend on the device's place; `None` if it is not simulated.
pub(super) fn attribute(number: u32, capability: (u32, u32)) -> Option<i32> {
    Some(match number {
        attribute::MAX_THREADS_PER_BLOCK => MAX_THREADS as i32,
        attribute::MAX_BLOCK_DIM_X => MAX_BLOCK[0] as i32,
        attribute::MAX_BLOCK_DIM_Y => MAX_BLOCK[1] as i32,
        attribute::MAX_BLOCK_DIM_Z => MAX_BLOCK[2] as i32,
        attribute::MAX_GRID_DIM_X => MAX_GRID[0] as i32,
        attribute::MAX_GRID_DIM_Y => MAX_GRID[1] as i32,
        attribute::MAX_GRID_DIM_Z => MAX_GRID[2] as i32,
        attribute::MAX_SHARED_MEMORY_PER_BLOCK => SHARED_DEFAULT as i32,
        attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => shared_opt_in(capability) as i32,
        attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => shared_of_multiprocessor(capability) as i32,
        attribute::RESERVED_SHARED_MEMORY_PER_BLOCK => shared_reserved(capability) as i32,
        attribute::TOTAL_CONSTANT_MEMORY => 64 << 10,
        attribute::WARP_SIZE => 32,
        attribute::MAX_PITCH => i32::MAX,
        attribute::MAX_REGISTERS_PER_BLOCK | attribute::MAX_REGISTERS_PER_MULTIPROCESSOR => REGISTERS as i32,
        attribute::CLOCK_RATE => 1_000_000,
        attribute::MEMORY_CLOCK_RATE => 1_000_000,
        attribute::GLOBAL_MEMORY_BUS_WIDTH => 4096,
        attribute::TEXTURE_ALIGNMENT => 512,
        attribute::TEXTURE_PITCH_ALIGNMENT => 32,
        attribute::MULTIPROCESSOR_COUNT => MULTIPROCESSORS,
        attribute::L2_CACHE_SIZE => 40 << 20,
        attribute::MAX_THREADS_PER_MULTIPROCESSOR => threads_of_multiprocessor(capability) as i32,
        attribute::MAX_BLOCKS_PER_MULTIPROCESSOR => blocks_of_multiprocessor(capability) as i32,
        attribute::COMPUTE_CAPABILITY_MAJOR => capability.0 as i32,
        attribute::COMPUTE_CAPABILITY_MINOR => capability.1 as i32,
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
        assert_eq!(occupancy((8, 0), 256, 32, 0), 8);
        assert_eq!(occupancy((8, 0), 256, 64, 0), 4);
        assert_eq!(occupancy((8, 0), 1024, 64, 0), 1);
        // 48 KiB and the reserved one fit three times into 164 KiB.
        assert_eq!(occupancy((8, 0), 128, 32, 48 << 10), 3);
        assert_eq!(occupancy((8, 0), 32, 16, 0), 32);
        assert_eq!(occupancy((8, 0), 1024, 255, 0), 0);
    }
}
