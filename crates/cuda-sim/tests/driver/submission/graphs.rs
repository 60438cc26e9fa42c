//! Graphs by nodes: shape, updates and launches.

use cuda_loader::{
    Status,
    ffi::{
        self, CUdeviceptr, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUstream, KernelNodeParams, MemsetNodeParams,
        graph,
    },
};

use crate::driver::bench::{Bench, alloc_async, ok, scale, status, with_arguments, written};

pub(super) fn new_graph() -> CUgraph {
    written(CUgraph::NULL, |graph| status!(cuGraphCreate(graph, 0)))
}

pub(super) fn add_fill(to: CUgraph, after: &[CUgraphNode], dst: CUdeviceptr, value: u32) -> CUgraphNode {
    let params = MemsetNodeParams { dst, pitch: 0, value, element_size: 4, width: 4, height: 1 };
    let context = ffi::CUcontext::NULL;
    written(CUgraphNode::NULL, |node| {
        status!(cuGraphAddMemsetNode(node, to, after.as_ptr(), after.len(), &raw const params, context))
    })
}

/// Calls `with` with the parameters of a launch of `scale` over four words.
fn kernel_params<T>(
    func: CUfunction,
    data: CUdeviceptr,
    factor: u32,
    with: impl FnOnce(*const KernelNodeParams) -> T,
) -> T {
    let extra = std::ptr::null_mut();
    with_arguments(data, factor, 4, |kernel_params| {
        with(&KernelNodeParams { func, grid: [1; 3], block: [4, 1, 1], shared_mem_bytes: 0, kernel_params, extra })
    })
}

pub(super) fn add_kernel(
    to: CUgraph,
    after: &[CUgraphNode],
    func: CUfunction,
    data: CUdeviceptr,
    factor: u32,
) -> CUgraphNode {
    kernel_params(func, data, factor, |params| {
        written(CUgraphNode::NULL, |node| status!(cuGraphAddKernelNode(node, to, after.as_ptr(), after.len(), params)))
    })
}

pub(super) fn instantiate(graph: CUgraph) -> CUgraphExec {
    instantiate_with(graph, 0)
}

pub(super) fn instantiate_with(graph: CUgraph, flags: u64) -> CUgraphExec {
    written(CUgraphExec::NULL, |exec| status!(cuGraphInstantiateWithFlags(exec, graph, flags)))
}

/// The graph of a capture that ends.
pub(super) fn end_capture(stream: CUstream) -> CUgraph {
    written(CUgraph::NULL, |graph| status!(cuStreamEndCapture(stream, graph)))
}

pub(super) fn kind(node: CUgraphNode) -> u32 {
    written(99, |kind| status!(cuGraphNodeGetType(node, kind)))
}

#[test]
fn nodes_run_in_the_order_of_their_dependencies() {
    for spec in ["schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2", "schedule=eager"] {
        let bench = Bench::new(spec);
        let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[0; 4]), bench.stream());
        let whole = new_graph();
        let last = add_kernel(whole, &[], kernel, data, 10);
        let first = add_fill(whole, &[], data, 7);
        let middle = add_kernel(whole, &[first], kernel, data, 2);
        ok!(cuGraphAddDependencies(whole, &raw const middle, &raw const last, 1));
        assert_eq!([kind(first), kind(last)], [graph::MEMSET, graph::KERNEL]);
        ok!(cuGraphLaunch(instantiate(whole), stream));
        assert_eq!(bench.download(data, 4), [151; 4], "{spec}");
    }
}

#[test]
fn a_cycle_is_refused() {
    let bench = Bench::new("");
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[0; 4]));
    let whole = new_graph();
    let first = add_kernel(whole, &[], kernel, data, 1);
    let second = add_kernel(whole, &[first], kernel, data, 1);
    ok!(cuGraphAddDependencies(whole, &raw const second, &raw const first, 1));
    let mut exec = CUgraphExec::NULL;
    assert_eq!(status!(cuGraphInstantiateWithFlags(&raw mut exec, whole, 0)), Status::INVALID_VALUE);
    ok!(cuGraphRemoveDependencies(whole, &raw const second, &raw const first, 1));
    ok!(cuGraphInstantiateWithFlags(&raw mut exec, whole, 0));
    // No node is at fault in a graph that can be instantiated.
    let mut fault = first;
    ok!(cuGraphInstantiate_v2(&raw mut exec, whole, &raw mut fault, std::ptr::null_mut(), 0));
    assert!(fault.is_null());
    // The reason is cut to the room there is.
    let mut log = [7; 8];
    ok!(cuGraphInstantiate_v2(&raw mut exec, whole, &raw mut fault, log.as_mut_ptr(), 0));
    assert_eq!(log, [7; 8]);
    ok!(cuGraphAddDependencies(whole, &raw const second, &raw const first, 1));
    let refused = status!(cuGraphInstantiate_v2(&raw mut exec, whole, &raw mut fault, log.as_mut_ptr(), 8));
    assert_eq!((refused, log.map(|byte| byte as u8)), (Status::INVALID_VALUE, *b"the gra\0"));
    assert_eq!(status!(cuGraphInstantiateWithFlags(&raw mut exec, whole, 2)), Status::INVALID_VALUE);
    assert_eq!(status!(cuGraphCreate(&mut CUgraph::default(), 1)), Status::INVALID_VALUE);
    assert_eq!(bench.session.counters().instantiations, 3);
}

#[test]
fn an_instance_takes_new_parameters_and_the_graph_keeps_its_own() {
    let bench = Bench::new("");
    let (kernel, stream) = (bench.kernel("scale"), bench.stream());
    let (a, b) = (bench.upload(&[1; 4]), bench.upload(&[1; 4]));
    let whole = new_graph();
    let node = add_kernel(whole, &[], kernel, a, 2);
    let exec = instantiate(whole);
    kernel_params(kernel, b, 5, |params| ok!(cuGraphExecKernelNodeSetParams(exec, node, params)));
    ok!(cuGraphLaunch(exec, stream));
    assert_eq!((bench.download(a, 4), bench.download(b, 4)), (vec![1; 4], vec![6; 4]));
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    let mut kept: KernelNodeParams = unsafe { std::mem::zeroed() };
    ok!(cuGraphKernelNodeGetParams(node, &raw mut kept));
    // SAFETY: the driver points to one argument per parameter of the kernel, each of its type.
    let (data, factor) = unsafe { (*(*kept.kernel_params).cast::<u64>(), *(*kept.kernel_params.add(1)).cast::<u32>()) };
    assert_eq!((kept.func, kept.block, data, factor), (kernel, [4, 1, 1], a, 2));
    let fill = add_fill(whole, &[], a, 0);
    kernel_params(kernel, b, 5, |params| {
        assert_eq!(status!(cuGraphExecKernelNodeSetParams(exec, fill, params)), Status::INVALID_VALUE);
    });
    assert_eq!(bench.session.counters().graph_updates, 1);
}

#[test]
fn later_instances_take_new_parameters_of_a_node() {
    let bench = Bench::new("");
    let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[0; 4]), bench.stream());
    let whole = new_graph();
    let fill = add_fill(whole, &[], data, 7);
    let node = add_kernel(whole, &[fill], kernel, data, 2);
    let earlier = instantiate(whole);
    kernel_params(kernel, data, 3, |params| {
        assert_eq!(status!(cuGraphKernelNodeSetParams(fill, params)), Status::INVALID_VALUE);
        ok!(cuGraphKernelNodeSetParams(node, params));
    });
    for (exec, expected) in [(earlier, 15), (instantiate(whole), 22)] {
        ok!(cuGraphLaunch(exec, stream));
        assert_eq!(bench.download(data, 4), [expected; 4]);
    }
}

#[test]
fn an_instance_is_updated_by_a_graph_of_its_shape_only() {
    let bench = Bench::new("");
    let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[1; 4]), bench.stream());
    let (whole, same, shorter, other) = (new_graph(), new_graph(), new_graph(), new_graph());
    for (graph, factor) in [(whole, 2), (same, 3)] {
        let first = add_kernel(graph, &[], kernel, data, factor);
        add_kernel(graph, &[first], kernel, data, factor);
    }
    let loose = new_graph();
    add_kernel(loose, &[], kernel, data, 2);
    let second = add_kernel(loose, &[], kernel, data, 2);
    add_kernel(shorter, &[], kernel, data, 2);
    let first = add_kernel(other, &[], kernel, data, 2);
    let odd = add_fill(other, &[first], data, 0);
    let exec = instantiate(whole);
    let update = |graph: CUgraph| {
        let (mut node, mut result) = (CUgraphNode::NULL, 99);
        let status = status!(cuGraphExecUpdate(exec, graph, &raw mut node, &raw mut result));
        (status, result, node)
    };
    assert_eq!(update(loose), (Status::GRAPH_EXEC_UPDATE_FAILURE, graph::UPDATE_TOPOLOGY_CHANGED, second));
    assert_eq!(update(shorter), (Status::GRAPH_EXEC_UPDATE_FAILURE, graph::UPDATE_TOPOLOGY_CHANGED, CUgraphNode::NULL));
    assert_eq!(update(other), (Status::GRAPH_EXEC_UPDATE_FAILURE, graph::UPDATE_NODE_TYPE_CHANGED, odd));
    assert_eq!(update(same), (Status::SUCCESS, graph::UPDATE_SUCCESS, CUgraphNode::NULL));
    ok!(cuGraphLaunch(exec, stream));
    assert_eq!(bench.download(data, 4), [13; 4]);
}

#[test]
fn a_clone_knows_its_originals_and_a_child_runs_whole() {
    let bench = Bench::new("schedule=random;seed=9");
    let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[1; 4]), bench.stream());
    let (whole, child) = (new_graph(), new_graph());
    let inner = add_kernel(child, &[], kernel, data, 2);
    add_kernel(child, &[inner], kernel, data, 3);
    let first = add_fill(whole, &[], data, 5);
    let nested = written(CUgraphNode::NULL, |nested| {
        status!(cuGraphAddChildGraphNode(nested, whole, &raw const first, 1, child))
    });
    add_kernel(whole, &[nested], kernel, data, 1);
    let clone = written(CUgraph::NULL, |clone| status!(cuGraphClone(clone, whole)));
    let found = written(CUgraphNode::NULL, |found| status!(cuGraphNodeFindInClone(found, nested, clone)));
    assert_eq!(kind(found), graph::GRAPH);
    ok!(cuGraphDestroy(whole));
    ok!(cuGraphLaunch(instantiate(clone), stream));
    assert_eq!(bench.download(data, 4), [35; 4]);
    assert_eq!(bench.session.counters().graph_nodes, 4);
}

#[test]
fn memory_that_a_capture_allocates_lives_as_long_as_the_graph() {
    let bench = Bench::new("");
    let (stream, kernel, out) = (bench.stream(), bench.kernel("scale"), bench.upload(&[0; 4]));
    // The first launch places the variables of the module.
    assert_eq!(scale(kernel, out, 0, 4, stream), Status::SUCCESS);
    let before = bench.session.usage(0).used;
    ok!(cuStreamBeginCapture_v2(stream, ffi::capture::THREAD_LOCAL));
    let scratch = alloc_async(16, stream);
    ok!(cuMemsetD32Async(scratch, 4, 4, stream));
    assert_eq!(scale(kernel, scratch, 2, 4, stream), Status::SUCCESS);
    ok!(cuMemcpyDtoDAsync_v2(out, scratch, 16, stream));
    ok!(cuMemFreeAsync(scratch, stream));
    let whole = end_capture(stream);
    let exec = instantiate(whole);
    for _ in 0..2 {
        ok!(cuGraphLaunch(exec, stream));
        assert_eq!(bench.download(out, 4), [9; 4]);
    }
    ok!(cuGraphDestroy(whole));
    ok!(cuGraphExecDestroy(exec));
    assert_eq!(bench.session.usage(0).used, before);
}
