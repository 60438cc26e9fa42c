//! Instantiated graphs.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::ffi::c_char;

use cuda_loader::{
    Status,
    ffi::{
        CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUstream, HostNodeParams, KernelNodeParams, Memcpy3D,
        MemsetNodeParams, graph as outcome,
    },
};

use super::{graph::graph, node};
use crate::driver::{
    api::{offer, put, register, write_text},
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, fresh},
    state::{
        graph::{Action, Exec},
        queue::WaitGoal,
        work::WorkUnit,
    },
};

register! {
    cuGraphInstantiate_v2 cuGraphInstantiateWithFlags cuGraphExecKernelNodeSetParams cuGraphExecMemcpyNodeSetParams
    cuGraphExecMemsetNodeSetParams cuGraphExecHostNodeSetParams cuGraphUpload cuGraphLaunch cuGraphExecDestroy
    cuGraphExecUpdate
}

fn instantiate(entry: &mut DriverCall, handle: CUgraph, frees_on_launch: bool) -> Result<CUgraphExec, Status> {
    let context = entry.context()?;
    let instance = graph(entry, handle)?.clone();
    // A graph with a cycle cannot run.
    instance.sorted().ok_or(Status::INVALID_VALUE)?;
    let id = fresh();
    let driver = entry.driver();
    driver.counters.instantiations += 1;
    driver.execs.insert(id, Exec { graph: instance, context, frees_on_launch, lines: Vec::new(), last: None });
    Ok(CUgraphExec::of(id))
}

unsafe extern "C" fn cuGraphInstantiate_v2(
    out: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log_buffer: *mut c_char,
    buffer_size: usize,
) -> Status {
    call("cuGraphInstantiate_v2", Needs::Context, |entry| {
        let made = instantiate(entry, graph, false);
        offer!(error_node, CUgraphNode::NULL)?;
        if !log_buffer.is_null() && buffer_size > 0 {
            let text = if made.is_ok() { "" } else { "the graph has a cycle" };
            // SAFETY: the buffer is the caller's, of the size it passes.
            unsafe { write_text(text, log_buffer, buffer_size) }?;
        }
        put!(out, made?)
    })
}

unsafe extern "C" fn cuGraphInstantiateWithFlags(out: *mut CUgraphExec, graph: CUgraph, flags: u64) -> Status {
    /// Frees the allocations of a launch before the next launch.
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    call("cuGraphInstantiateWithFlags", Needs::Context, |entry| {
        if flags > AUTO_FREE_ON_LAUNCH {
            return Err(Status::INVALID_VALUE);
        }
        put!(out, instantiate(entry, graph, flags == AUTO_FREE_ON_LAUNCH)?)
    })
}

/// Runs a call that gives a node of an instantiated graph new work of its kind.
fn set_work(
    name: &'static str,
    exec: CUgraphExec,
    node: CUgraphNode,
    work: impl FnOnce(&mut DriverCall) -> Result<WorkUnit, Status>,
) -> Status {
    call(name, Needs::Context, |entry| {
        let work = work(entry)?;
        let driver = entry.driver();
        let instance = driver.execs.get_mut(&exec.id()).ok_or(Status::INVALID_HANDLE)?;
        let node = instance.graph.nodes.get_mut(&node.id()).ok_or(Status::INVALID_VALUE)?;
        let former = node.kind();
        let replaced = std::mem::replace(&mut node.action, Action::Work(work));
        if node.kind() != former {
            node.action = replaced;
            return Err(Status::INVALID_VALUE);
        }
        driver.counters.graph_updates += 1;
        Ok(())
    })
}

unsafe extern "C" fn cuGraphExecKernelNodeSetParams(
    exec: CUgraphExec,
    handle: CUgraphNode,
    node_params: *const KernelNodeParams,
) -> Status {
    set_work("cuGraphExecKernelNodeSetParams", exec, handle, |entry| node::kernel_work(entry, node_params))
}

unsafe extern "C" fn cuGraphExecMemcpyNodeSetParams(
    exec: CUgraphExec,
    handle: CUgraphNode,
    copy_params: *const Memcpy3D,
    _ctx: CUcontext,
) -> Status {
    set_work("cuGraphExecMemcpyNodeSetParams", exec, handle, |entry| node::copy_work(entry, copy_params))
}

unsafe extern "C" fn cuGraphExecMemsetNodeSetParams(
    exec: CUgraphExec,
    handle: CUgraphNode,
    memset_params: *const MemsetNodeParams,
    _ctx: CUcontext,
) -> Status {
    set_work("cuGraphExecMemsetNodeSetParams", exec, handle, |entry| node::fill_work(entry, memset_params))
}

unsafe extern "C" fn cuGraphExecHostNodeSetParams(
    exec: CUgraphExec,
    handle: CUgraphNode,
    node_params: *const HostNodeParams,
) -> Status {
    set_work("cuGraphExecHostNodeSetParams", exec, handle, |_| node::host_work(node_params))
}

unsafe extern "C" fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> Status {
    call("cuGraphUpload", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        let known = entry.driver().execs.contains_key(&exec.id());
        if known { entry.enqueue(stream, WorkUnit::Nothing).map(drop) } else { Err(Status::INVALID_HANDLE) }
    })
}

unsafe extern "C" fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> Status {
    call("cuGraphLaunch", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        let effect = entry.effect;
        let driver = entry.driver();
        let instance = driver.execs.get(&exec.id()).ok_or(Status::INVALID_HANDLE)?;
        if instance.context != driver.streams[&stream].context {
            return Err(Status::INVALID_HANDLE);
        }
        if driver.streams[&stream].capture.is_some() {
            let child = instance.graph.duplicate();
            return driver.capture_action(stream, Action::Child(child.into())).map(drop);
        }
        if driver.streams[&stream].legacy {
            driver.refuse_implicit_capture(stream)?;
        }
        driver.launch_graph(exec.id(), stream, effect)?;
        entry.settle();
        Ok(())
    })
}

unsafe extern "C" fn cuGraphExecDestroy(exec: CUgraphExec) -> Status {
    call("cuGraphExecDestroy", Needs::Release, |entry| {
        let instance = entry.driver().execs.remove(&exec.id()).ok_or(Status::INVALID_HANDLE)?;
        if !instance.graph.allocations().is_empty()
            && let Some(last) = instance.last
        {
            // The launch's own failure is no failure of this call; it has been reported.
            let _lost = entry.wait(&WaitGoal::Tasks(vec![last.task]));
        }
        Ok(())
    })
}

unsafe extern "C" fn cuGraphExecUpdate(
    exec: CUgraphExec,
    handle: CUgraph,
    error_node_out: *mut CUgraphNode,
    update_result_out: *mut u32,
) -> Status {
    call("cuGraphExecUpdate", Needs::Context, |entry| {
        let wanted = graph(entry, handle)?.clone();
        let driver = entry.driver();
        let instance = driver.execs.get_mut(&exec.id()).ok_or(Status::INVALID_HANDLE)?;
        let (result, node) = instance.graph.update(&wanted).err().unwrap_or((outcome::UPDATE_SUCCESS, None));
        put!(update_result_out, result)?;
        offer!(error_node_out, node.map_or(CUgraphNode::NULL, CUgraphNode::of))?;
        if result != outcome::UPDATE_SUCCESS {
            return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
        }
        driver.counters.graph_updates += 1;
        Ok(())
    })
}
