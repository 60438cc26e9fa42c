//! Nodes of graphs by kind.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{ffi::c_void, ptr::with_exposed_provenance_mut};

use cuda_loader::{
    Status,
    ffi::{
        CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphNode, HostNodeParams, KernelNodeParams,
        MemAllocNodeParams, Memcpy3D, MemsetNodeParams,
    },
};

use super::graph::{graph, keep, node};
use crate::{
    driver::{
        api::{
            array, get,
            kernels::launch::{Request, kernel_call},
            memory::{
                allocation::{check_graph_memory, reserve_for_graph},
                copy,
            },
            put, register,
        },
        entry::{DriverCall, Needs, call},
        handle::ApiHandle,
        state::{
            graph::Action,
            transfer::Fill,
            work::{HostCall, WorkUnit},
        },
    },
    exec::Grid,
};

register! {
    cuGraphAddKernelNode cuGraphKernelNodeGetParams cuGraphKernelNodeSetParams cuGraphAddMemcpyNode
    cuGraphAddMemsetNode cuGraphMemsetNodeGetParams cuGraphAddHostNode cuGraphHostNodeGetParams
    cuGraphAddChildGraphNode cuGraphChildGraphNodeGetGraph cuGraphAddEmptyNode cuGraphAddEventRecordNode
    cuGraphEventRecordNodeGetEvent cuGraphAddEventWaitNode cuGraphEventWaitNodeGetEvent cuGraphAddMemAllocNode
    cuGraphAddMemFreeNode cuGraphMemFreeNodeGetParams
}

/// Placement of a new node: its graph, its dependencies, and the target of its handle.
struct Spot {
    out: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
}

impl Spot {
    /// Runs a call that adds a node with the action that `made` returns.
    fn add(
        &self,
        name: &'static str,
        needs: Needs,
        made: impl FnOnce(&mut DriverCall) -> Result<Action, Status>,
    ) -> Status {
        call(name, needs, |entry| {
            let action = made(entry)?;
            self.place(entry, action)
        })
    }

    fn place(&self, entry: &mut DriverCall, action: Action) -> Result<(), Status> {
        let after: Vec<_> = array!(self.dependencies, self.num_dependencies)?.into_iter().map(ApiHandle::id).collect();
        let node = graph(entry, self.graph)?.add(action, &after)?;
        put!(self.out, CUgraphNode::of(node))
    }
}

pub(super) fn kernel_work(entry: &mut DriverCall, params: *const KernelNodeParams) -> Result<WorkUnit, Status> {
    let params = get!(params)?;
    let request = Request {
        func: params.func,
        grid: Grid { grid: params.grid, block: params.block, dynamic_shared: params.shared_mem_bytes },
        params: params.kernel_params,
        extra: params.extra,
        cooperative: false,
    };
    // SAFETY: the pointers are the call's.
    Ok(WorkUnit::Kernel(unsafe { kernel_call(entry, &request) }?))
}

pub(super) fn copy_work(entry: &mut DriverCall, params: *const Memcpy3D) -> Result<WorkUnit, Status> {
    let mut copy = copy::rows_3d(entry, params)?;
    entry.check_copy(&mut copy)?;
    Ok(WorkUnit::Copy(copy))
}

pub(super) fn fill_work(entry: &mut DriverCall, params: *const MemsetNodeParams) -> Result<WorkUnit, Status> {
    let params = get!(params)?;
    if ![1, 2, 4].contains(&params.element_size) {
        return Err(Status::INVALID_VALUE);
    }
    let fill = Fill {
        target: params.dst,
        pitch: params.pitch as u64,
        value: params.value,
        element: params.element_size,
        width: params.width as u64,
        height: params.height as u64,
    };
    entry.check_fill(&fill)?;
    Ok(WorkUnit::Fill(fill))
}

pub(super) fn host_work(params: *const HostNodeParams) -> Result<WorkUnit, Status> {
    let params = get!(params)?;
    if params.function.is_none() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(WorkUnit::Host(HostCall::Function(params.function, params.user_data.expose_provenance())))
}

/// Refuses a handle that is not an event.
fn known_event(entry: &mut DriverCall, event: CUevent) -> Result<usize, Status> {
    if entry.driver().events.contains_key(&event.id()) { Ok(event.id()) } else { Err(Status::INVALID_HANDLE) }
}

/// Defines the calls that add a node.
///
/// Each has its parameters after the dependencies, its preconditions, and the action of its node.
macro_rules! adders {
    ($($name:ident($($given:ident: $type:ty),*), $needs:ident, |$entry:ident| $action:expr;)*) => {$(
        unsafe extern "C" fn $name(
            out: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            num_dependencies: usize,
            $($given: $type),*
        ) -> Status {
            let spot = Spot { out, graph, dependencies, num_dependencies };
            spot.add(stringify!($name), Needs::$needs, |$entry| $action)
        }
    )*};
}

adders! {
    cuGraphAddKernelNode(node_params: *const KernelNodeParams), Context,
        |entry| kernel_work(entry, node_params).map(Action::Work);
    cuGraphAddMemcpyNode(copy_params: *const Memcpy3D, _ctx: CUcontext), Context,
        |entry| copy_work(entry, copy_params).map(Action::Work);
    cuGraphAddMemsetNode(memset_params: *const MemsetNodeParams, _ctx: CUcontext), Context,
        |entry| fill_work(entry, memset_params).map(Action::Work);
    cuGraphAddHostNode(node_params: *const HostNodeParams), Driver,
        |_entry| host_work(node_params).map(Action::Work);
    cuGraphAddChildGraphNode(child_graph: CUgraph), Driver,
        |entry| Ok(Action::Child(graph(entry, child_graph)?.duplicate().into()));
    cuGraphAddEmptyNode(), Driver, |_entry| Ok(Action::Work(WorkUnit::Nothing));
    cuGraphAddEventRecordNode(event: CUevent), Driver, |entry| known_event(entry, event).map(Action::Record);
    cuGraphAddEventWaitNode(event: CUevent), Driver, |entry| known_event(entry, event).map(Action::Wait);
    cuGraphAddMemFreeNode(dptr: CUdeviceptr), Driver,
        |entry| check_graph_memory(entry, dptr).map(|()| Action::Free(dptr));
}

unsafe extern "C" fn cuGraphKernelNodeGetParams(handle: CUgraphNode, params: *mut KernelNodeParams) -> Status {
    call("cuGraphKernelNodeGetParams", Needs::Driver, |entry| {
        let Action::Work(WorkUnit::Kernel(kernel)) = &node(entry, handle)?.action else {
            return Err(Status::INVALID_VALUE);
        };
        let (function, grid, buffer) = (kernel.function, kernel.grid, kernel.params.as_ptr());
        let layout = kernel.program.kernel(&kernel.name).map(|kernel| kernel.parameters.clone()).unwrap_or_default();
        let node = node(entry, handle)?;
        let at = |offset: u64| buffer.wrapping_add(offset as usize).expose_provenance();
        node.arguments = layout.iter().map(|parameter| at(parameter.offset)).collect();
        let kernel_params = with_exposed_provenance_mut::<*mut c_void>(node.arguments.as_ptr().expose_provenance());
        put!(
            params,
            KernelNodeParams {
                func: CUfunction::of(function),
                grid: grid.grid,
                block: grid.block,
                shared_mem_bytes: grid.dynamic_shared,
                kernel_params,
                extra: std::ptr::null_mut(),
            }
        )
    })
}

unsafe extern "C" fn cuGraphKernelNodeSetParams(handle: CUgraphNode, params: *const KernelNodeParams) -> Status {
    call("cuGraphKernelNodeSetParams", Needs::Context, |entry| {
        let work = kernel_work(entry, params)?;
        let node = node(entry, handle)?;
        if !matches!(node.action, Action::Work(WorkUnit::Kernel(_))) {
            return Err(Status::INVALID_VALUE);
        }
        node.action = Action::Work(work);
        Ok(())
    })
}

unsafe extern "C" fn cuGraphMemsetNodeGetParams(handle: CUgraphNode, params: *mut MemsetNodeParams) -> Status {
    call("cuGraphMemsetNodeGetParams", Needs::Driver, |entry| {
        let Action::Work(WorkUnit::Fill(fill)) = &node(entry, handle)?.action else {
            return Err(Status::INVALID_VALUE);
        };
        put!(
            params,
            MemsetNodeParams {
                dst: fill.target,
                pitch: fill.pitch as usize,
                value: fill.value,
                element_size: fill.element,
                width: fill.width as usize,
                height: fill.height as usize,
            }
        )
    })
}

unsafe extern "C" fn cuGraphHostNodeGetParams(handle: CUgraphNode, params: *mut HostNodeParams) -> Status {
    call("cuGraphHostNodeGetParams", Needs::Driver, |entry| match node(entry, handle)?.action {
        Action::Work(WorkUnit::Host(HostCall::Function(function, data))) => {
            put!(params, HostNodeParams { function, user_data: with_exposed_provenance_mut(data) })
        }
        _ => Err(Status::INVALID_VALUE),
    })
}

unsafe extern "C" fn cuGraphChildGraphNodeGetGraph(handle: CUgraphNode, out: *mut CUgraph) -> Status {
    call("cuGraphChildGraphNodeGetGraph", Needs::Driver, |entry| {
        let Action::Child(child) = &node(entry, handle)?.action else { return Err(Status::INVALID_VALUE) };
        let child = child.as_ref().clone();
        put!(out, keep(entry, child))
    })
}

unsafe extern "C" fn cuGraphEventRecordNodeGetEvent(handle: CUgraphNode, event: *mut CUevent) -> Status {
    call("cuGraphEventRecordNodeGetEvent", Needs::Driver, |entry| match node(entry, handle)?.action {
        Action::Record(id) => put!(event, CUevent::of(id)),
        _ => Err(Status::INVALID_VALUE),
    })
}

unsafe extern "C" fn cuGraphEventWaitNodeGetEvent(handle: CUgraphNode, event: *mut CUevent) -> Status {
    call("cuGraphEventWaitNodeGetEvent", Needs::Driver, |entry| match node(entry, handle)?.action {
        Action::Wait(id) => put!(event, CUevent::of(id)),
        _ => Err(Status::INVALID_VALUE),
    })
}

unsafe extern "C" fn cuGraphAddMemAllocNode(
    out: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *mut MemAllocNodeParams,
) -> Status {
    call("cuGraphAddMemAllocNode", Needs::Context, |entry| {
        let mut params = get!(node_params)?;
        let device = entry.device()?;
        if params.pool_props.location.id != device as i32 {
            return Err(Status::INVALID_VALUE);
        }
        let owned = reserve_for_graph(entry, params.bytesize)?;
        params.dptr = owned.base;
        Spot { out, graph, dependencies, num_dependencies }.place(entry, Action::Alloc(owned.into()))?;
        put!(node_params, params)
    })
}

unsafe extern "C" fn cuGraphMemFreeNodeGetParams(handle: CUgraphNode, dptr_out: *mut CUdeviceptr) -> Status {
    call("cuGraphMemFreeNodeGetParams", Needs::Driver, |entry| match node(entry, handle)?.action {
        Action::Free(base) => put!(dptr_out, base),
        _ => Err(Status::INVALID_VALUE),
    })
}
