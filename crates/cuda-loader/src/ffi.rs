//! Functions, types and constants of the driver, for callers that need what `cust` lacks.
//!
//! Every function calls the chosen driver; the crate documentation gives the order of choice.
//! Without a driver each function returns [`Status::STUB_LIBRARY`]. A function that the driver
//! lacks returns [`Status::NOT_SUPPORTED`] and is recorded for
//! [`Driver::refused`](crate::Driver::refused). Signatures match the CUDA driver API, which
//! documents the requirements on each pointer.

use std::ffi::{c_char, c_void};

pub use crate::{
    consts::{
        capture, context, device, event, function, graph, host, jit, limit, mem_access, mem_location, mem_type, p2p,
        pointer, pool, stream,
    },
    driver::table::Table,
    results::status::Status,
    types::{
        BlockToSharedFn, CUarray, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec,
        CUgraphNode, CUlinkState, CUmemoryPool, CUmodule, CUstream, HostFn, HostNodeParams, KernelNodeParams,
        MemAccessDesc, MemAllocNodeParams, MemLocation, MemPoolProps, Memcpy2D, Memcpy3D, MemsetNodeParams,
        StreamCallback, Uuid,
    },
};
use crate::{forward::callers, functions::driver_functions};

driver_functions! { callers }
