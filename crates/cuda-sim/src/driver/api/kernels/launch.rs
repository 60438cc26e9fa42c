//! Launches of kernels and host functions.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{CUfunction, CUstream, HostFn, StreamCallback},
};

use ptx::ast::Directive;

use super::function;
use crate::{
    driver::{
        api::{array, get, register},
        entry::{DriverCall, Needs, call},
        handle::ApiHandle,
        limits,
        state::{
            FunctionState,
            work::{HostCall, KernelCall, WorkUnit},
        },
    },
    exec::{Grid, KernelDescription},
};

register! { cuLaunchKernel cuLaunchCooperativeKernel cuLaunchHostFunc cuStreamAddCallback }

/// Marks of the packed form of kernel arguments.
const PACKED_END: usize = 0;
const PACKED_POINTER: usize = 1;
const PACKED_SIZE: usize = 2;

/// A launch as its caller describes it.
pub(in crate::driver::api) struct Request {
    pub(in crate::driver::api) func: CUfunction,
    pub(in crate::driver::api) grid: Grid,
    pub(in crate::driver::api) params: *mut *mut c_void,
    pub(in crate::driver::api) extra: *mut *mut c_void,
    pub(in crate::driver::api) cooperative: bool,
}

/// The kernel's parameters, read from one pointer each or from one packed buffer.
///
/// # Safety
/// The pointers are as the driver API requires of a launch of this kernel.
unsafe fn parameters(kernel: &KernelDescription, request: &Request) -> Result<Vec<u8>, Status> {
    let size = kernel.parameters.iter().map(|parameter| parameter.offset + parameter.bytes).max().unwrap_or(0);
    let align = kernel.parameters.iter().map(|parameter| parameter.align.max(1)).max().unwrap_or(1);
    let mut buffer = vec![0; size as usize];
    if !request.params.is_null() && !request.extra.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if !request.extra.is_null() {
        let (mut pointer, mut bytes) = (std::ptr::null::<u8>(), 0usize);
        let mut at = request.extra;
        loop {
            let value = at.wrapping_add(1);
            match get!(at)?.addr() {
                PACKED_END => break,
                PACKED_POINTER => pointer = get!(value)?.cast_const().cast(),
                PACKED_SIZE => bytes = get!(get!(value)?.cast::<usize>())?,
                _ => return Err(Status::INVALID_VALUE),
            }
            at = at.wrapping_add(2);
        }
        let packed = array!(pointer, bytes)?;
        if packed.len() < size as usize {
            return Err(Status::INVALID_VALUE);
        }
        // The API's "too many arguments". A record may end with the padding that its alignment requires.
        if packed.len() > size.next_multiple_of(align) as usize {
            return Err(Status::LAUNCH_OUT_OF_RESOURCES);
        }
        buffer[..size as usize].copy_from_slice(&packed[..size as usize]);
        return Ok(buffer);
    }
    for (parameter, pointer) in kernel.parameters.iter().zip(array!(request.params, kernel.parameters.len())?) {
        let value = array!(pointer.cast_const().cast::<u8>(), parameter.bytes as usize)?;
        buffer[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    Ok(buffer)
}

/// The only block shape that the kernel can be launched with, if it declares one.
fn required_block(function: &FunctionState) -> Option<[u32; 3]> {
    let directives = &function.program.module().function(&function.name)?.directives;
    directives.iter().find_map(|directive| match directive {
        Directive::RequiredThreads(block) => Some(block.map(|side| side.max(1))),
        _ => None,
    })
}

/// Checks a launch and freezes its arguments.
///
/// # Safety
/// The pointers of `request` are as the driver API requires of a launch.
pub(in crate::driver::api) unsafe fn kernel_call(
    entry: &mut DriverCall,
    request: &Request,
) -> Result<KernelCall, Status> {
    let kernel = function::kernel(entry, request.func)?;
    let device = entry.device()?;
    let Grid { grid, block, dynamic_shared } = request.grid;
    let inside = |size: &[u32; 3], most: [u32; 3]| size.iter().zip(most).all(|(&n, most)| (1..=most).contains(&n));
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    if !inside(&grid, limits::MAX_GRID) || !inside(&block, limits::MAX_BLOCK) {
        return Err(Status::INVALID_VALUE);
    }
    if threads > u64::from(limits::MAX_THREADS.min(kernel.max_threads)) {
        return Err(Status::INVALID_VALUE);
    }
    let function = function::function(entry, request.func)?;
    if required_block(function).is_some_and(|required| required != block) {
        return Err(Status::INVALID_VALUE);
    }
    if kernel.local > limits::LOCAL {
        return Err(Status::LAUNCH_OUT_OF_RESOURCES);
    }
    if i64::from(dynamic_shared) > i64::from(function.max_dynamic_shared) {
        return Err(Status::INVALID_VALUE);
    }
    let (program, name) = (function.program.clone(), function.name.clone());
    if request.cooperative {
        let resident = function::blocks(entry, request.func, threads as u32, dynamic_shared as usize)?;
        let multiprocessors = entry.driver().spec.multiprocessors;
        let blocks: u64 = grid.iter().map(|&n| u64::from(n)).product();
        if blocks > u64::from(resident) * u64::from(multiprocessors) {
            return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    // SAFETY: by this function's contract.
    let params = unsafe { parameters(&kernel, request) }?;
    let (function, grid, cooperative) = (request.func.id(), request.grid, request.cooperative);
    Ok(KernelCall { program, name, function, grid, params, device, cooperative })
}

/// Runs a call that launches a kernel on a stream.
///
/// # Safety
/// The pointers of `request` are as the driver API requires of a launch.
unsafe fn launch(name: &'static str, request: &Request, stream: CUstream) -> Status {
    call(name, Needs::Context, |entry| {
        let stream = entry.own_stream(stream)?;
        // SAFETY: by this function's contract.
        let work = WorkUnit::Kernel(unsafe { kernel_call(entry, request) }?);
        if entry.driver().streams[&stream].capture.is_none() {
            entry.driver().count(&work, true);
        }
        entry.enqueue(stream, work).map(drop)
    })
}

unsafe extern "C" fn cuLaunchKernel(
    func: CUfunction,
    grid_dim_x: u32,
    grid_dim_y: u32,
    grid_dim_z: u32,
    block_dim_x: u32,
    block_dim_y: u32,
    block_dim_z: u32,
    shared_mem_bytes: u32,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    let grid = Grid {
        grid: [grid_dim_x, grid_dim_y, grid_dim_z],
        block: [block_dim_x, block_dim_y, block_dim_z],
        dynamic_shared: shared_mem_bytes,
    };
    let request = Request { func, grid, params, extra, cooperative: false };
    // SAFETY: the pointers are the call's.
    unsafe { launch("cuLaunchKernel", &request, stream) }
}

unsafe extern "C" fn cuLaunchCooperativeKernel(
    func: CUfunction,
    grid_dim_x: u32,
    grid_dim_y: u32,
    grid_dim_z: u32,
    block_dim_x: u32,
    block_dim_y: u32,
    block_dim_z: u32,
    shared_mem_bytes: u32,
    stream: CUstream,
    params: *mut *mut c_void,
) -> Status {
    let grid = Grid {
        grid: [grid_dim_x, grid_dim_y, grid_dim_z],
        block: [block_dim_x, block_dim_y, block_dim_z],
        dynamic_shared: shared_mem_bytes,
    };
    let request = Request { func, grid, params, extra: std::ptr::null_mut(), cooperative: true };
    // SAFETY: the pointers are the call's.
    unsafe { launch("cuLaunchCooperativeKernel", &request, stream) }
}

unsafe extern "C" fn cuLaunchHostFunc(stream: CUstream, function: HostFn, user_data: *mut c_void) -> Status {
    call("cuLaunchHostFunc", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        if function.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        entry.enqueue(stream, WorkUnit::Host(HostCall::Function(function, user_data.expose_provenance()))).map(drop)
    })
}

unsafe extern "C" fn cuStreamAddCallback(
    handle: CUstream,
    callback: StreamCallback,
    user_data: *mut c_void,
    flags: u32,
) -> Status {
    call("cuStreamAddCallback", Needs::Context, |entry| {
        let stream = entry.stream(handle)?;
        if callback.is_none() || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        entry.refuse_capturing_stream(stream)?;
        let work = HostCall::Callback(callback, handle.id(), user_data.expose_provenance());
        entry.enqueue(stream, WorkUnit::Host(work)).map(drop)
    })
}
