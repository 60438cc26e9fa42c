//! Captures: recorded work, and invalidation.

use cuda_loader::{
    Status,
    ffi::{
        self, CUevent, CUgraph, CUgraphNode, CUstream,
        capture::{GLOBAL, RELAXED, THREAD_LOCAL},
    },
};

use crate::driver::bench::{Bench, enter, ok, scale, status, stream_with, written};

fn end(stream: CUstream) -> (Status, CUgraph) {
    let mut graph = CUgraph::NULL;
    let status = status!(cuStreamEndCapture(stream, &raw mut graph));
    (status, graph)
}

/// Lets later work of `later` come after what `earlier` holds now, by an event.
fn fork(event: CUevent, earlier: CUstream, later: CUstream) {
    ok!(cuEventRecord(event, earlier));
    ok!(cuStreamWaitEvent(later, event, 0));
}

fn capture_status(stream: CUstream) -> u32 {
    written(9, |state| status!(cuStreamIsCapturing(stream, state)))
}

#[test]
fn a_captured_fork_and_join_replays_with_frozen_parameters() {
    let bench = Bench::new("schedule=random;seed=3");
    let (first, second) = (bench.stream(), bench.stream());
    let kernel = bench.kernel("scale");
    let (a, b) = (bench.upload(&[1; 8]), bench.upload(&[2; 8]));
    ok!(cuStreamBeginCapture_v2(first, THREAD_LOCAL));
    assert_eq!(scale(kernel, a, 2, 8, first), Status::SUCCESS);
    fork(bench.event(), first, second);
    assert_eq!(capture_status(second), ffi::capture::STATUS_ACTIVE);
    assert_eq!(scale(kernel, b, 3, 8, second), Status::SUCCESS);
    fork(bench.event(), second, first);
    assert_eq!(scale(kernel, a, 5, 8, first), Status::SUCCESS);
    let (status, graph) = end(first);
    assert_eq!(status, Status::SUCCESS);
    assert_eq!((capture_status(first), capture_status(second)), (ffi::capture::STATUS_NONE, ffi::capture::STATUS_NONE));
    assert_eq!(bench.session.counters().launches, 0, "a capture runs nothing");

    let (mut nodes, mut edges) = (0, 0);
    ok!(cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes));
    ok!(cuGraphGetEdges(graph, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut edges));
    assert_eq!((nodes, edges), (3, 3), "a fork, and a join of two");

    let exec = super::graphs::instantiate(graph);
    let before = bench.session.counters();
    ok!(cuGraphLaunch(exec, first));
    ok!(cuGraphLaunch(exec, first));
    // a: (1*2+1)*5+1 = 16, then (16*2+1)*5+1 = 166; b: 2*3+1 = 7, then 22.
    assert_eq!(bench.download(a, 8), [166; 8]);
    assert_eq!(bench.download(b, 8), [22; 8]);
    let after = bench.session.counters();
    assert_eq!((after.graph_launches, after.graph_nodes), (2, 6));
    assert_eq!((after.allocations, after.launches), (before.allocations, before.launches));
}

#[test]
fn a_fork_that_never_joins_is_refused() {
    let bench = Bench::new("");
    let (first, second, event) = (bench.stream(), bench.stream(), bench.event());
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 8]));
    let begin = || {
        ok!(cuStreamBeginCapture_v2(first, THREAD_LOCAL));
        fork(event, first, second);
        assert_eq!(scale(kernel, data, 3, 8, second), Status::SUCCESS);
    };
    begin();
    assert_eq!(status!(cuStreamEndCapture(second, &mut CUgraph::default())), Status::STREAM_CAPTURE_UNMATCHED);
    assert_eq!(end(first), (Status::STREAM_CAPTURE_INVALIDATED, CUgraph::NULL));

    begin();
    assert_eq!(end(first).0, Status::STREAM_CAPTURE_UNJOINED);
    assert_eq!(bench.session.counters().captures_lost, 2);
    assert_eq!(bench.download(data, 8), [1; 8]);
}

#[test]
fn calls_that_a_capture_cannot_hold_invalidate_it() {
    type CapturedCall = fn(&Bench, CUstream) -> Status;
    let unsupported: [(&str, CapturedCall); 6] = [
        ("alloc", |_, _| status!(cuMemAlloc_v2(&mut 0, 16))),
        ("context", |_, _| status!(cuCtxSynchronize())),
        ("stream", |_, stream| status!(cuStreamSynchronize(stream))),
        ("query", |_, stream| status!(cuStreamQuery(stream))),
        ("pinned", |_, _| status!(cuMemAllocHost_v2(&mut std::ptr::null_mut(), 16))),
        ("module", |_, _| {
            let text = std::ffi::CString::new(crate::driver::bench::KERNELS).unwrap();
            status!(cuModuleLoadData(&mut ffi::CUmodule::default(), text.as_ptr().cast()))
        }),
    ];
    let query: CapturedCall = |bench, stream| {
        let event = bench.event();
        ok!(cuEventRecord(event, stream));
        status!(cuEventQuery(event))
    };
    let wait: CapturedCall = |bench, stream| {
        let (event, other) = (bench.event(), bench.stream());
        ok!(cuEventRecord(event, other));
        status!(cuStreamWaitEvent(stream, event, 0))
    };
    let others = [("event", query, Status::CAPTURED_EVENT), ("outside event", wait, Status::STREAM_CAPTURE_ISOLATION)];
    let all = unsupported.map(|(name, call)| (name, call, Status::STREAM_CAPTURE_UNSUPPORTED)).into_iter();
    for (name, call, expected) in all.chain(others) {
        let bench = Bench::new("");
        let stream = bench.stream();
        ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
        assert_eq!(call(&bench, stream), expected, "{name}");
        assert_eq!(capture_status(stream), ffi::capture::STATUS_INVALIDATED, "{name}");
        ok!(cuStreamGetFlags(stream, &mut 0));
        assert_eq!(status!(cuMemAllocAsync(&mut 0, 16, stream)), Status::STREAM_CAPTURE_INVALIDATED, "{name}");
        assert_eq!(end(stream), (Status::STREAM_CAPTURE_INVALIDATED, CUgraph::NULL), "{name}");
        assert_eq!(capture_status(stream), ffi::capture::STATUS_NONE, "{name}");
        ok!(cuStreamSynchronize(stream));
    }
}

#[test]
fn a_relaxed_capture_holds_what_others_do_not() {
    let bench = Bench::new("");
    let stream = bench.stream();
    for (mode, expected) in [
        (RELAXED, Status::SUCCESS),
        (THREAD_LOCAL, Status::STREAM_CAPTURE_UNSUPPORTED),
        (GLOBAL, Status::STREAM_CAPTURE_UNSUPPORTED),
    ] {
        ok!(cuStreamBeginCapture_v2(stream, mode));
        assert_eq!(status!(cuMemAlloc_v2(&mut 0, 16)), expected, "{mode}");
        assert_eq!(end(stream).0 == Status::SUCCESS, mode == RELAXED, "{mode}");
    }
}

#[test]
fn legacy_work_harms_captures_of_blocking_streams() {
    let bench = Bench::new("");
    let data = bench.upload(&[1; 8]);
    let blocking = stream_with(ffi::stream::DEFAULT);
    ok!(cuStreamBeginCapture_v2(blocking, RELAXED));
    assert_eq!(status!(cuMemsetD32Async(data, 9, 8, CUstream::NULL)), Status::STREAM_CAPTURE_IMPLICIT);
    assert_eq!(end(blocking).0, Status::STREAM_CAPTURE_INVALIDATED);

    let apart = bench.stream();
    ok!(cuStreamBeginCapture_v2(apart, RELAXED));
    ok!(cuMemsetD32Async(data, 9, 8, CUstream::NULL));
    assert_eq!(end(apart).0, Status::SUCCESS);
    assert_eq!(bench.download(data, 8), [9; 8]);
    assert_eq!(status!(cuStreamBeginCapture_v2(CUstream::NULL, RELAXED)), Status::STREAM_CAPTURE_UNSUPPORTED);
}

/// The status of a call on another thread, in the bench's context.
fn on_another_thread(bench: &Bench, call: impl FnOnce() -> Status + Send) -> Status {
    let context = bench.context;
    let called = || {
        ok!(cuCtxSetCurrent(context));
        call()
    };
    test_process::scope(|scope| scope.spawn(called).join().unwrap())
}

#[test]
fn the_mode_says_whose_calls_are_refused() {
    // What another thread's allocation answers while this thread captures, and whether the capture survives.
    let other_thread = |mode: u32| {
        let bench = Bench::new("");
        let stream = bench.stream();
        ok!(cuStreamBeginCapture_v2(stream, mode));
        let answer = on_another_thread(&bench, || status!(cuMemAlloc_v2(&mut 0, 16)));
        (answer, end(stream).0)
    };
    assert_eq!(other_thread(GLOBAL), (Status::STREAM_CAPTURE_UNSUPPORTED, Status::STREAM_CAPTURE_INVALIDATED));
    assert_eq!(other_thread(THREAD_LOCAL), (Status::SUCCESS, Status::SUCCESS));

    let bench = Bench::new("");
    let stream = bench.stream();
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let mut mode = RELAXED;
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode));
    assert_eq!(mode, GLOBAL);
    ok!(cuMemAlloc_v2(&mut 0, 16));
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode));
    assert_eq!(end(stream).0, Status::SUCCESS);
}

#[test]
fn a_capture_ends_on_the_thread_that_began_it() {
    let bench = Bench::new("");
    let stream = bench.stream();
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let elsewhere = on_another_thread(&bench, || end(stream).0);
    assert_eq!(elsewhere, Status::STREAM_CAPTURE_WRONG_THREAD);
    assert_eq!(end(stream).0, Status::SUCCESS);
}

#[test]
fn two_captures_do_not_merge() {
    let bench = Bench::new("");
    let (first, second, event) = (bench.stream(), bench.stream(), bench.event());
    ok!(cuStreamBeginCapture_v2(first, THREAD_LOCAL));
    ok!(cuStreamBeginCapture_v2(second, THREAD_LOCAL));
    ok!(cuEventRecord(event, first));
    assert_eq!(status!(cuStreamWaitEvent(second, event, 0)), Status::STREAM_CAPTURE_MERGE);
    assert_eq!(end(first).0, Status::STREAM_CAPTURE_INVALIDATED);
    assert_eq!(end(second).0, Status::STREAM_CAPTURE_INVALIDATED);
}

#[test]
fn calls_that_wait_or_change_memory_are_refused_beside_a_capture() {
    let bench = Bench::new("");
    let (stream, other, event, module) = (bench.stream(), bench.stream(), bench.event(), bench.module());
    let (data, pinned, mut words) = (bench.upload(&[0; 4]), bench.pinned(4).as_mut_ptr().cast(), [0u32; 4]);
    let pointer: *mut std::ffi::c_void = words.as_mut_ptr().cast();
    ok!(cuEventRecord(event, other));
    let calls: [&dyn Fn() -> Status; 10] = [
        &|| status!(cuMemcpyHtoD_v2(data, pointer, 4)),
        &|| status!(cuMemsetD8_v2(data, 1, 1)),
        &|| status!(cuEventQuery(event)),
        &|| status!(cuEventSynchronize(event)),
        &|| status!(cuStreamSynchronize(CUstream::NULL)),
        &|| status!(cuMemFree_v2(data)),
        &|| status!(cuMemFreeHost(pinned)),
        &|| status!(cuMemHostRegister_v2(pointer, 16, 0)),
        &|| status!(cuMemHostUnregister(pointer)),
        &|| status!(cuModuleUnload(module)),
    ];
    for (index, call) in calls.iter().enumerate() {
        ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
        assert_eq!(call(), Status::STREAM_CAPTURE_UNSUPPORTED, "call {index}");
        assert_eq!(end(stream).0, Status::STREAM_CAPTURE_INVALIDATED, "call {index}");
    }
    for (index, call) in calls.iter().enumerate() {
        assert_eq!(call(), Status::SUCCESS, "call {index}");
    }
    assert_eq!(bench.session.counters().captures_lost, 10);
}

#[test]
fn calls_on_the_legacy_stream_break_captures_of_their_context() {
    let bench = Bench::new("devices=2");
    let (other, event, graph) = (bench.stream(), bench.event(), super::graphs::new_graph());
    let (exec, data) = (super::graphs::instantiate(graph), bench.upload(&[1; 4]));
    let blocking = stream_with(ffi::stream::DEFAULT);
    ok!(cuEventRecord(event, other));
    let calls: [&dyn Fn() -> Status; 5] = [
        &|| status!(cuStreamSynchronize(CUstream::NULL)),
        &|| status!(cuEventRecord(event, CUstream::NULL)),
        &|| status!(cuStreamWaitEvent(CUstream::NULL, event, 0)),
        &|| status!(cuGraphLaunch(exec, CUstream::NULL)),
        &|| status!(cuMemsetD32Async(data, 1, 4, CUstream::NULL)),
    ];
    for (index, call) in calls.iter().enumerate() {
        ok!(cuStreamBeginCapture_v2(blocking, RELAXED));
        assert_eq!(call(), Status::STREAM_CAPTURE_IMPLICIT, "call {index}");
        assert_eq!(end(blocking).0, Status::STREAM_CAPTURE_INVALIDATED, "call {index}");
    }
    // A question about the legacy stream is refused too, but ends no capture.
    ok!(cuStreamBeginCapture_v2(blocking, RELAXED));
    assert_eq!(status!(cuStreamIsCapturing(CUstream::NULL, &mut 9)), Status::STREAM_CAPTURE_IMPLICIT);
    assert_eq!(end(blocking).0, Status::SUCCESS);
    let context = enter(1);
    let far = stream_with(ffi::stream::DEFAULT);
    ok!(cuStreamBeginCapture_v2(far, RELAXED));
    assert_eq!(status!(cuEventRecord(event, far)), Status::INVALID_HANDLE, "an event of another context");
    ok!(cuCtxSetCurrent(bench.context));
    for (index, call) in calls.iter().enumerate() {
        assert_eq!(call(), Status::SUCCESS, "call {index}");
    }
    ok!(cuCtxSetCurrent(context));
    assert_eq!(end(far).0, Status::SUCCESS);
}

#[test]
fn a_capture_takes_events_as_nodes_and_other_dependencies() {
    let bench = Bench::new("");
    let (stream, event, data) = (bench.stream(), bench.event(), bench.upload(&[1; 4]));
    let info = || {
        let (mut state, mut id) = (9, 9);
        ok!(cuStreamGetCaptureInfo(stream, &raw mut state, &raw mut id));
        ok!(cuStreamGetCaptureInfo(stream, &raw mut state, std::ptr::null_mut()));
        (state, id)
    };
    let update = |nodes: &mut [CUgraphNode], flags: u32| {
        status!(cuStreamUpdateCaptureDependencies(stream, nodes.as_mut_ptr(), nodes.len(), flags))
    };
    assert_eq!(info(), (ffi::capture::STATUS_NONE, 0));
    assert_eq!(status!(cuStreamBeginCapture_v2(stream, RELAXED + 1)), Status::INVALID_VALUE);
    assert_eq!(status!(cuStreamEndCapture(stream, &mut CUgraph::default())), Status::ILLEGAL_STATE);
    assert_eq!(update(&mut [], 0), Status::ILLEGAL_STATE);
    // Adding none changes nothing; setting none leaves the nodes before apart.
    for (flags, expected) in [(0, Status::SUCCESS), (1, Status::STREAM_CAPTURE_UNJOINED)] {
        ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
        assert_eq!(status!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL)), Status::ILLEGAL_STATE);
        let (state, id) = info();
        assert!(state == ffi::capture::STATUS_ACTIVE && id > 0, "{state} {id}");
        ok!(cuEventRecordWithFlags(event, stream, 1));
        assert_eq!(status!(cuEventRecordWithFlags(event, stream, 2)), Status::INVALID_VALUE);
        ok!(cuStreamWaitEvent(stream, event, 1));
        assert_eq!(update(&mut [], 2), Status::INVALID_VALUE);
        assert_eq!(update(&mut [CUgraphNode::NULL], flags), Status::INVALID_VALUE);
        assert_eq!(update(&mut [], flags), Status::SUCCESS);
        ok!(cuMemsetD32Async(data, 9, 4, stream));
        let (ended, whole) = end(stream);
        assert_eq!(ended, expected, "{flags}");
        if ended == Status::SUCCESS {
            let (mut nodes, mut count) = ([CUgraphNode::NULL; 4], 4);
            ok!(cuGraphGetNodes(whole, nodes.as_mut_ptr(), &raw mut count));
            let kinds: Vec<u32> = nodes[..count].iter().map(|&node| super::graphs::kind(node)).collect();
            assert_eq!(kinds, [ffi::graph::EVENT_RECORD, ffi::graph::WAIT_EVENT, ffi::graph::MEMSET]);
            ok!(cuGraphGetEdges(whole, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut count));
            assert_eq!(count, 2);
            ok!(cuGraphLaunch(super::graphs::instantiate(whole), stream));
            assert_eq!((status!(cuEventQuery(event)), bench.download(data, 4)), (Status::SUCCESS, vec![9; 4]));
        }
    }
    let counters = bench.session.counters();
    assert_eq!((counters.captures, counters.captures_lost), (2, 1));
    let mut mode = RELAXED + 1;
    assert_eq!(status!(cuThreadExchangeStreamCaptureMode(&raw mut mode)), Status::INVALID_VALUE);
}
