//! Attributes and occupancy of kernels.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{BlockToSharedFn, CUfunction, CUmodule, function as attribute},
};

use crate::{
    driver::{
        api::{put, register},
        entry::{DriverCall, Needs, call},
        handle::ApiHandle,
        limits,
        state::FunctionState,
    },
    exec::KernelDescription,
};

register! {
    cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncGetModule
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    cuOccupancyMaxPotentialBlockSize cuOccupancyAvailableDynamicSMemPerBlock
}

/// The function of a handle.
pub(super) fn function(entry: &mut DriverCall, func: CUfunction) -> Result<&mut FunctionState, Status> {
    entry.driver().functions.get_mut(&func.id()).ok_or(Status::INVALID_HANDLE)
}

/// The executor's kernel of a handle.
pub(super) fn kernel(entry: &mut DriverCall, func: CUfunction) -> Result<KernelDescription, Status> {
    let function = function(entry, func)?;
    function.program.kernel(&function.name).cloned().ok_or(Status::NOT_FOUND)
}

/// Registers of a thread as an assembler would allocate them.
///
/// They are the registers in the text, capped by the launch bounds.
pub(super) fn registers(kernel: &KernelDescription) -> u32 {
    let most = (limits::REGISTERS / kernel.max_threads.next_multiple_of(32)).min(255) & !7;
    kernel.registers.next_multiple_of(8).clamp(16, most)
}

unsafe extern "C" fn cuFuncGetAttribute(value: *mut i32, attrib: u32, func: CUfunction) -> Status {
    call("cuFuncGetAttribute", Needs::Context, |entry| {
        let kernel = kernel(entry, func)?;
        let (major, minor) = entry.driver().spec.capability;
        let function = function(entry, func)?;
        let number = match attrib {
            attribute::MAX_THREADS_PER_BLOCK => kernel.max_threads.min(limits::MAX_THREADS) as i32,
            attribute::SHARED_SIZE_BYTES => kernel.static_shared as i32,
            attribute::LOCAL_SIZE_BYTES => kernel.local as i32,
            attribute::NUM_REGS => registers(&kernel) as i32,
            attribute::CONST_SIZE_BYTES | attribute::CACHE_MODE_CA => 0,
            attribute::PTX_VERSION | attribute::BINARY_VERSION => (major * 10 + minor) as i32,
            attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => function.max_dynamic_shared,
            attribute::PREFERRED_SHARED_MEMORY_CARVEOUT => function.carveout,
            _ => return Err(Status::INVALID_VALUE),
        };
        put!(value, number)
    })
}

unsafe extern "C" fn cuFuncSetAttribute(func: CUfunction, attrib: u32, value: i32) -> Status {
    call("cuFuncSetAttribute", Needs::Context, |entry| {
        let kernel = kernel(entry, func)?;
        let most = i64::from(entry.driver().limits.shared_opt_in()) - kernel.static_shared as i64;
        let function = function(entry, func)?;
        match attrib {
            attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES if (0..=most).contains(&i64::from(value)) => {
                function.max_dynamic_shared = value;
                Ok(())
            }
            attribute::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
                function.carveout = value;
                Ok(())
            }
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

unsafe extern "C" fn cuFuncSetCacheConfig(func: CUfunction, _config: u32) -> Status {
    call("cuFuncSetCacheConfig", Needs::Context, |entry| function(entry, func).map(drop))
}

unsafe extern "C" fn cuFuncSetSharedMemConfig(func: CUfunction, _config: u32) -> Status {
    call("cuFuncSetSharedMemConfig", Needs::Context, |entry| function(entry, func).map(drop))
}

unsafe extern "C" fn cuFuncGetModule(module: *mut CUmodule, func: CUfunction) -> Status {
    call("cuFuncGetModule", Needs::Context, |entry| put!(module, CUmodule::of(function(entry, func)?.module)))
}

/// Blocks of a kernel that a multiprocessor holds at once.
pub(super) fn blocks(entry: &mut DriverCall, func: CUfunction, threads: u32, shared: usize) -> Result<u32, Status> {
    let kernel = kernel(entry, func)?;
    if threads == 0 || threads > kernel.max_threads.min(limits::MAX_THREADS) {
        return Ok(0);
    }
    let Ok(shared) = u32::try_from(kernel.static_shared.saturating_add(shared as u64)) else { return Ok(0) };
    Ok(entry.driver().limits.occupancy(threads, registers(&kernel), shared))
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    num_blocks: *mut i32,
    func: CUfunction,
    block_size: i32,
    dynamic_smem_size: usize,
) -> Status {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::Context, |entry| {
        let threads = u32::try_from(block_size).map_err(|_| Status::INVALID_VALUE)?;
        put!(num_blocks, blocks(entry, func, threads, dynamic_smem_size)? as i32)
    })
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    num_blocks: *mut i32,
    func: CUfunction,
    block_size: i32,
    dynamic_smem_size: usize,
    _flags: u32,
) -> Status {
    // SAFETY: the same contract.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks, func, block_size, dynamic_smem_size) }
}

unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    min_grid_size: *mut i32,
    block_size: *mut i32,
    func: CUfunction,
    block_size_to_dynamic_smem_size: BlockToSharedFn,
    dynamic_smem_size: usize,
    block_size_limit: i32,
) -> Status {
    call("cuOccupancyMaxPotentialBlockSize", Needs::Context, |entry| {
        let kernel = kernel(entry, func)?;
        let limit = u32::try_from(block_size_limit).ok().filter(|&limit| limit > 0).unwrap_or(limits::MAX_THREADS);
        let most = kernel.max_threads.min(limits::MAX_THREADS).min(limit);
        let mut best = (0, 0, 0);
        for threads in (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most)) {
            let shared = match block_size_to_dynamic_smem_size {
                // SAFETY: the function is the call's, for any number of threads of a block.
                Some(needs) => unsafe { needs(threads as i32) },
                None => dynamic_smem_size,
            };
            let blocks = blocks(entry, func, threads, shared)?;
            best = best.max((blocks * threads, threads, blocks));
        }
        let multiprocessors = entry.driver().spec.multiprocessors;
        put!(block_size, best.1 as i32)?;
        put!(min_grid_size, (best.2 * multiprocessors) as i32)
    })
}

unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    dynamic_smem_size: *mut usize,
    func: CUfunction,
    num_blocks: i32,
    _block_size: i32,
) -> Status {
    call("cuOccupancyAvailableDynamicSMemPerBlock", Needs::Context, |entry| {
        let kernel = kernel(entry, func)?;
        let blocks = u32::try_from(num_blocks).ok().filter(|&blocks| blocks > 0).ok_or(Status::INVALID_VALUE)?;
        let limits = entry.driver().limits;
        let share = (limits.shared / blocks).saturating_sub(limits.shared_reserved());
        put!(dynamic_smem_size, u64::from(share).saturating_sub(kernel.static_shared) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_allocated_by_eight_and_shared_by_the_warps_of_a_block() {
        for (registers, max_threads, expected) in [
            (1, 1024, 16),
            (16, 1024, 16),
            (17, 1024, 24),
            (64, 1024, 64),
            (65, 1024, 64),
            (80, 800, 80),
            (80, 801, 72),
            (500, 256, 248),
            (248, 1, 248),
        ] {
            let (name, parameters) = (String::new(), Vec::new());
            let kernel = KernelDescription { name, parameters, static_shared: 0, local: 0, registers, max_threads };
            assert_eq!(super::registers(&kernel), expected, "{registers} registers, {max_threads} threads");
        }
    }
}
