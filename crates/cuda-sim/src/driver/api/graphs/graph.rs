//! Whole graphs: making, copying, listing.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::ffi::c_char;

use cuda_loader::{
    Status,
    ffi::{CUgraph, CUgraphNode},
};

use crate::driver::{
    api::{array, list, put, register, text},
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, Id, fresh},
    state::{
        Driver,
        graph::{Graph, GraphNode},
    },
};

register! {
    cuGraphCreate cuGraphDestroy cuGraphClone cuGraphNodeFindInClone cuGraphGetNodes cuGraphGetRootNodes
    cuGraphGetEdges cuGraphNodeGetDependencies cuGraphNodeGetDependentNodes cuGraphAddDependencies
    cuGraphRemoveDependencies cuGraphDestroyNode cuGraphNodeGetType cuGraphDebugDotPrint
}

pub(super) fn graph(entry: &mut DriverCall, handle: CUgraph) -> Result<&mut Graph, Status> {
    entry.driver().graphs.get_mut(&handle.id()).ok_or(Status::INVALID_HANDLE)
}

/// Makes a graph known to the driver; its handle.
pub(in crate::driver::api) fn keep(entry: &mut DriverCall, graph: Graph) -> CUgraph {
    let id = fresh();
    entry.driver().graphs.insert(id, graph);
    CUgraph::of(id)
}

/// The node of a handle, in whichever graph it is.
pub(super) fn node(entry: &mut DriverCall, handle: CUgraphNode) -> Result<&mut GraphNode, Status> {
    let graphs = entry.driver().graphs.iter_mut();
    graphs.filter_map(|(_, graph)| graph.nodes.get_mut(&handle.id())).next().ok_or(Status::INVALID_HANDLE)
}

fn owner(driver: &mut Driver, node: Id) -> Result<&mut Graph, Status> {
    let mut graphs = driver.graphs.iter_mut().map(|(_, graph)| graph);
    graphs.find(|graph| graph.nodes.contains_key(&node)).ok_or(Status::INVALID_HANDLE)
}

fn handles(nodes: impl IntoIterator<Item = Id>) -> Vec<CUgraphNode> {
    nodes.into_iter().map(CUgraphNode::of).collect()
}

/// The nodes of a graph that `is_listed` picks.
fn picked(graph: &Graph, is_listed: impl Fn(&GraphNode) -> bool) -> Vec<CUgraphNode> {
    handles(graph.nodes.iter().filter(|(_, node)| is_listed(node)).map(|(id, _)| *id))
}

unsafe extern "C" fn cuGraphCreate(out: *mut CUgraph, flags: u32) -> Status {
    call("cuGraphCreate", Needs::Driver, |entry| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put!(out, keep(entry, Graph::default()))
    })
}

unsafe extern "C" fn cuGraphDestroy(handle: CUgraph) -> Status {
    call("cuGraphDestroy", Needs::Release, |entry| {
        entry.driver().graphs.remove(&handle.id()).map(drop).ok_or(Status::INVALID_HANDLE)
    })
}

unsafe extern "C" fn cuGraphClone(out: *mut CUgraph, original: CUgraph) -> Status {
    call("cuGraphClone", Needs::Driver, |entry| {
        let clone = graph(entry, original)?.duplicate();
        put!(out, keep(entry, clone))
    })
}

unsafe extern "C" fn cuGraphNodeFindInClone(out: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph) -> Status {
    call("cuGraphNodeFindInClone", Needs::Driver, |entry| {
        let origin = &graph(entry, clone)?.origin;
        let found = origin.iter().find(|(_, from)| **from == original.id()).map(|(&node, _)| node);
        put!(out, CUgraphNode::of(found.ok_or(Status::INVALID_VALUE)?))
    })
}

unsafe extern "C" fn cuGraphGetNodes(handle: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize) -> Status {
    call("cuGraphGetNodes", Needs::Driver, |entry| {
        let all = picked(graph(entry, handle)?, |_| true);
        // SAFETY: the pointers are the call's.
        unsafe { list(&all, nodes, num_nodes) }
    })
}

unsafe extern "C" fn cuGraphGetRootNodes(handle: CUgraph, roots: *mut CUgraphNode, num_roots: *mut usize) -> Status {
    call("cuGraphGetRootNodes", Needs::Driver, |entry| {
        let all = picked(graph(entry, handle)?, |node| node.after.is_empty());
        // SAFETY: the pointers are the call's.
        unsafe { list(&all, roots, num_roots) }
    })
}

unsafe extern "C" fn cuGraphGetEdges(
    handle: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    num_edges: *mut usize,
) -> Status {
    call("cuGraphGetEdges", Needs::Driver, |entry| {
        let (starts, ends): (Vec<Id>, Vec<Id>) = graph(entry, handle)?.edges().into_iter().unzip();
        if from.is_null() != to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the pointers are the call's.
        unsafe {
            let mut room = if from.is_null() { 0 } else { num_edges.read_unaligned() };
            if !from.is_null() {
                list(&handles(starts), from, &raw mut room)?;
            }
            list(&handles(ends), to, num_edges)
        }
    })
}

unsafe extern "C" fn cuGraphNodeGetDependencies(
    handle: CUgraphNode,
    dependencies: *mut CUgraphNode,
    num_dependencies: *mut usize,
) -> Status {
    call("cuGraphNodeGetDependencies", Needs::Driver, |entry| {
        let all = handles(node(entry, handle)?.after.iter().copied());
        // SAFETY: the pointers are the call's.
        unsafe { list(&all, dependencies, num_dependencies) }
    })
}

unsafe extern "C" fn cuGraphNodeGetDependentNodes(
    handle: CUgraphNode,
    dependent_nodes: *mut CUgraphNode,
    num_dependent_nodes: *mut usize,
) -> Status {
    call("cuGraphNodeGetDependentNodes", Needs::Driver, |entry| {
        let all = picked(owner(entry.driver(), handle.id())?, |node| node.after.contains(&handle.id()));
        // SAFETY: the pointers are the call's.
        unsafe { list(&all, dependent_nodes, num_dependent_nodes) }
    })
}

/// Runs a call that changes dependencies between nodes of one graph, given as two arrays.
///
/// `change` adds or removes a dependency of a node, and is false if there is nothing to change.
fn change_edges(
    name: &'static str,
    handle: CUgraph,
    (from, to): (*const CUgraphNode, *const CUgraphNode),
    count: usize,
    change: impl Fn(&mut GraphNode, Id) -> bool,
) -> Status {
    call(name, Needs::Driver, |entry| {
        let (from, to) = (array!(from, count)?, array!(to, count)?);
        let pairs: Vec<(Id, Id)> = from.into_iter().map(ApiHandle::id).zip(to.into_iter().map(ApiHandle::id)).collect();
        let nodes = &mut graph(entry, handle)?.nodes;
        let known = |(from, to): &(Id, Id)| from != to && nodes.contains_key(from) && nodes.contains_key(to);
        if !pairs.iter().all(known) {
            return Err(Status::INVALID_VALUE);
        }
        for (from, to) in pairs {
            if !nodes.get_mut(&to).is_some_and(|node| change(node, from)) {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn cuGraphAddDependencies(
    handle: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    num_dependencies: usize,
) -> Status {
    change_edges("cuGraphAddDependencies", handle, (from, to), num_dependencies, |node, from| node.after.insert(from))
}

unsafe extern "C" fn cuGraphRemoveDependencies(
    handle: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    num_dependencies: usize,
) -> Status {
    change_edges("cuGraphRemoveDependencies", handle, (from, to), num_dependencies, |node, from| {
        node.after.remove(&from)
    })
}

unsafe extern "C" fn cuGraphDestroyNode(handle: CUgraphNode) -> Status {
    call("cuGraphDestroyNode", Needs::Release, |entry| {
        let graph = owner(entry.driver(), handle.id())?;
        graph.nodes.remove(&handle.id());
        for (_, node) in graph.nodes.iter_mut() {
            node.after.remove(&handle.id());
        }
        Ok(())
    })
}

unsafe extern "C" fn cuGraphNodeGetType(handle: CUgraphNode, kind: *mut u32) -> Status {
    call("cuGraphNodeGetType", Needs::Driver, |entry| put!(kind, node(entry, handle)?.kind()))
}

unsafe extern "C" fn cuGraphDebugDotPrint(handle: CUgraph, path: *const c_char, _flags: u32) -> Status {
    call("cuGraphDebugDotPrint", Needs::Driver, |entry| {
        let path = text!(path)?;
        let dot = graph(entry, handle)?.dot();
        std::fs::write(path, dot).map_err(|_| Status::OPERATING_SYSTEM)
    })
}
