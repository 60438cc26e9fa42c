//! Nodes that a graph refuses, the edges between nodes, and where a graph runs.

use cuda_loader::{
    Status,
    ffi::{
        CUcontext, CUdeviceptr, CUevent, CUgraph, CUgraphNode, CUstream, HostNodeParams, MemAllocNodeParams,
        MemPoolProps, Memcpy3D, MemsetNodeParams, capture, graph, mem_type,
    },
};

use super::graphs::{add_fill, add_kernel, end_capture, instantiate, kind, new_graph};
use crate::driver::bench::{Bench, enter, ok, status, written};

/// A copy of bytes of device memory.
fn copy(from: CUdeviceptr, to: CUdeviceptr, bytes: usize) -> Memcpy3D {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    let zero: Memcpy3D = unsafe { std::mem::zeroed() };
    let (src_memory_type, dst_memory_type) = (mem_type::DEVICE, mem_type::DEVICE);
    let ends = Memcpy3D { src_memory_type, src_device: from, dst_memory_type, dst_device: to, ..zero };
    Memcpy3D { width_in_bytes: bytes, height: 1, depth: 1, ..ends }
}

fn allocation(device: i32, bytesize: usize) -> MemAllocNodeParams {
    let (pool_props, access_descs) = (MemPoolProps::on_device(device), std::ptr::null());
    MemAllocNodeParams { pool_props, access_descs, access_desc_count: 0, bytesize, dptr: 0 }
}

#[test]
fn nodes_that_cannot_run_are_not_added() {
    let bench = Bench::new("devices=2");
    let (data, whole, other) = (bench.upload(&[0; 4]), new_graph(), new_graph());
    let (none, context) = (std::ptr::null(), CUcontext::NULL);
    let stranger = add_fill(other, &[], data, 0);
    let fill = MemsetNodeParams { dst: data, pitch: 0, value: 0, element_size: 4, width: 4, height: 1 };
    let fills = |params: MemsetNodeParams| {
        status!(cuGraphAddMemsetNode(&mut CUgraphNode::default(), whole, none, 0, &raw const params, context))
    };
    let copies = |bytes: usize| {
        let params = copy(data, data, bytes);
        status!(cuGraphAddMemcpyNode(&mut CUgraphNode::default(), whole, none, 0, &raw const params, context))
    };
    let takes = |device: i32, bytes: usize| {
        status!(cuGraphAddMemAllocNode(&mut CUgraphNode::default(), whole, none, 0, &mut allocation(device, bytes)))
    };
    for element_size in 0..6 {
        let is_accepted = [1, 2, 4].contains(&element_size);
        assert_eq!(fills(MemsetNodeParams { element_size, ..fill }) == Status::SUCCESS, is_accepted, "{element_size}");
    }
    let function = HostNodeParams { function: None, user_data: std::ptr::null_mut() };
    let node = &mut CUgraphNode::default();
    let refused = [
        fills(MemsetNodeParams { width: 5, ..fill }),
        copies(17),
        takes(1, 16),
        takes(0, 0),
        status!(cuGraphAddHostNode(node, whole, none, 0, &raw const function)),
        status!(cuGraphAddMemFreeNode(node, whole, none, 0, data)),
        status!(cuGraphAddEmptyNode(node, whole, &raw const stranger, 1)),
        status!(cuGraphAddEmptyNode(node, whole, none, 1)),
    ];
    assert_eq!(refused, [Status::INVALID_VALUE; 8]);
    let unknown = [
        status!(cuGraphAddEventRecordNode(node, whole, none, 0, CUevent::NULL)),
        status!(cuGraphAddEventWaitNode(node, whole, none, 0, CUevent::NULL)),
        status!(cuGraphAddEmptyNode(node, CUgraph::NULL, none, 0)),
    ];
    assert_eq!(unknown, [Status::INVALID_HANDLE; 3]);
    assert_eq!((copies(16), takes(0, 16)), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!(written(0, |count| status!(cuGraphGetNodes(whole, std::ptr::null_mut(), count))), 3 + 1 + 1);
}

/// The nodes that a call writes into an array with room for `room` nodes.
fn listed(room: usize, call: impl Fn(*mut CUgraphNode, *mut usize) -> Status) -> Vec<CUgraphNode> {
    let (mut nodes, mut count) = ([CUgraphNode::NULL; 5], room);
    assert_eq!(call(nodes.as_mut_ptr(), &raw mut count), Status::SUCCESS);
    assert!(nodes[count..].iter().all(|node| node.is_null()), "no more than {room}");
    nodes[..count].to_vec()
}

#[test]
fn edges_are_listed_added_and_removed() {
    let bench = Bench::new("");
    let (kernel, data, whole) = (bench.kernel("scale"), bench.upload(&[0; 4]), new_graph());
    let first = add_fill(whole, &[], data, 1);
    let second = add_kernel(whole, &[first], kernel, data, 2);
    let third = add_kernel(whole, &[first, second], kernel, data, 2);
    let loose = add_fill(whole, &[], data, 1);
    let nodes = |room| listed(room, |nodes, count| status!(cuGraphGetNodes(whole, nodes, count)));
    let before = |node| listed(5, |nodes, count| status!(cuGraphNodeGetDependencies(node, nodes, count)));
    let after = |node| listed(5, |nodes, count| status!(cuGraphNodeGetDependentNodes(node, nodes, count)));
    let edges = |mut room| {
        let (mut from, mut to) = ([CUgraphNode::NULL; 5], [CUgraphNode::NULL; 5]);
        ok!(cuGraphGetEdges(whole, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut room));
        from.into_iter().zip(to).filter(|(from, to)| !from.is_null() || !to.is_null()).collect::<Vec<_>>()
    };
    assert_eq!([nodes(5), nodes(2), nodes(0)], [vec![first, second, third, loose], vec![first, second], vec![]]);
    assert_eq!(listed(5, |nodes, count| status!(cuGraphGetRootNodes(whole, nodes, count))), [first, loose]);
    assert_eq!([before(third), after(first), before(loose)], [vec![first, second], vec![second, third], vec![]]);
    let all = [(first, second), (first, third), (second, third)];
    assert_eq!((edges(5), edges(2)), (all.to_vec(), all[..2].to_vec()));
    let (mut count, mut room, null) = (0, [CUgraphNode::NULL; 5], std::ptr::null_mut());
    ok!(cuGraphGetEdges(whole, null, null, &raw mut count));
    assert_eq!(count, 3);
    for (from, to) in [(null, room.as_mut_ptr()), (room.as_mut_ptr(), null)] {
        assert_eq!(status!(cuGraphGetEdges(whole, from, to, &raw mut count)), Status::INVALID_VALUE);
    }

    let stranger = add_fill(new_graph(), &[], data, 0);
    let add =
        |from: CUgraphNode, to: CUgraphNode| status!(cuGraphAddDependencies(whole, &raw const from, &raw const to, 1));
    let remove = |from: CUgraphNode, to: CUgraphNode| {
        status!(cuGraphRemoveDependencies(whole, &raw const from, &raw const to, 1))
    };
    let refused = [
        add(first, first),
        add(first, second),
        add(stranger, first),
        add(first, stranger),
        remove(loose, first),
        remove(second, first),
    ];
    assert_eq!(refused, [Status::INVALID_VALUE; 6]);
    assert_eq!((add(loose, first), before(first)), (Status::SUCCESS, vec![loose]));
    assert_eq!((remove(loose, first), before(first)), (Status::SUCCESS, vec![]));
    ok!(cuGraphDestroyNode(second));
    assert_eq!((edges(5), nodes(5)), (vec![(first, third)], vec![first, third, loose]));
    assert_eq!(status!(cuGraphDestroyNode(second)), Status::INVALID_HANDLE);
}

#[test]
fn a_graph_runs_in_its_context_and_is_a_node_of_a_capture() {
    let bench = Bench::new("devices=2");
    let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[1; 4]), bench.stream());
    let whole = new_graph();
    add_kernel(whole, &[], kernel, data, 2);
    let exec = instantiate(whole);
    ok!(cuStreamBeginCapture_v2(stream, capture::THREAD_LOCAL));
    ok!(cuGraphLaunch(exec, stream));
    let captured = end_capture(stream);
    let nodes = listed(5, |nodes, count| status!(cuGraphGetNodes(captured, nodes, count)));
    assert_eq!(nodes.into_iter().map(kind).collect::<Vec<_>>(), [graph::GRAPH]);
    ok!(cuGraphLaunch(instantiate(captured), CUstream::NULL));
    assert_eq!(bench.download(data, 4), [3; 4]);
    enter(1);
    assert_eq!(status!(cuGraphLaunch(exec, bench.stream())), Status::INVALID_HANDLE);
    ok!(cuGraphExecDestroy(exec));
    assert_eq!(status!(cuGraphExecDestroy(exec)), Status::INVALID_HANDLE);
}
