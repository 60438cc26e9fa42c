//! Injected faults: each code in each class of calls, at once or late.

use cuda_loader::{Status, ffi::CUgraph};
use cuda_sim::driver::{CLASSES, Report, class};

use crate::driver::bench::{Bench, enter, ok, scale, status, written};

/// A function's name and a call of it.
type NamedCall = (&'static str, Box<dyn Fn() -> Status>);

/// One call of each class that a program makes between start and end.
fn calls(bench: &Bench) -> Vec<NamedCall> {
    let (stream, event, kernel, data) = (bench.stream(), bench.event(), bench.kernel("scale"), bench.upload(&[1; 4]));
    let graph = written(CUgraph::NULL, |graph| status!(cuGraphCreate(graph, 0)));
    vec![
        ("cuMemAlloc_v2", Box::new(|| status!(cuMemAlloc_v2(&mut 0, 16)))),
        ("cuMemsetD32Async", Box::new(move || status!(cuMemsetD32Async(data, 1, 4, stream)))),
        ("cuMemcpyDtoDAsync_v2", Box::new(move || status!(cuMemcpyDtoDAsync_v2(data, data, 16, stream)))),
        ("cuLaunchKernel", Box::new(move || scale(kernel, data, 1, 4, stream))),
        ("cuEventRecord", Box::new(move || status!(cuEventRecord(event, stream)))),
        ("cuStreamQuery", Box::new(move || status!(cuStreamQuery(stream)))),
        ("cuStreamSynchronize", Box::new(move || status!(cuStreamSynchronize(stream)))),
        ("cuStreamCreate", Box::new(|| status!(cuStreamCreate(&mut Default::default(), 1)))),
        ("cuGraphDestroy", Box::new(move || status!(cuGraphDestroy(graph)))),
        ("cuFuncGetAttribute", Box::new(move || status!(cuFuncGetAttribute(&mut 0, 4, kernel)))),
        ("cuMemAllocHost_v2", Box::new(|| status!(cuMemAllocHost_v2(&mut std::ptr::null_mut(), 16)))),
        ("cuCtxGetFlags", Box::new(|| status!(cuCtxGetFlags(&mut 0)))),
        ("cuDeviceGetCount", Box::new(|| status!(cuDeviceGetCount(&mut 0)))),
    ]
}

#[test]
fn every_code_reaches_the_call_it_was_injected_into_and_sticky_ones_stay() {
    let bench_calls = calls(&Bench::new("")).len();
    for index in 0..bench_calls {
        for code in [1, 2, 46, 201, 400, 700, 702, 719, 801, 999, 54321] {
            let bench = Bench::new("");
            let all = calls(&bench);
            let (name, call) = &all[index];
            let place = class(name);
            assert!(CLASSES.contains(&place));
            bench.session.inject(format!("fail={code}@{place}:1").parse().unwrap());
            assert_eq!(call(), Status(code), "{name}");
            let next = status!(cuCtxSynchronize());
            if Status(code).is_sticky() {
                assert_eq!(next, Status(code), "{name}: a lost context stays lost");
                assert_eq!(bench.session.counters().calls_after_sticky, ["cuCtxSynchronize"]);
            } else {
                assert!(next == Status::SUCCESS || place == "sync", "{name} {code}: {next:?}");
                assert_eq!(bench.session.counters().calls_after_sticky, [""; 0]);
            }
        }
    }
}

#[test]
fn only_the_counted_call_fails() {
    let bench = Bench::new("oom@alloc:3");
    let outcomes: Vec<Status> = (0..4).map(|_| status!(cuMemAlloc_v2(&mut 0, 16))).collect();
    assert_eq!(outcomes, [Status::SUCCESS, Status::SUCCESS, Status::OUT_OF_MEMORY, Status::SUCCESS]);
    bench.session.inject("oom@alloc".parse().unwrap());
    assert_eq!(status!(cuMemAlloc_v2(&mut 0, 16)), Status::OUT_OF_MEMORY);
    bench.session.clear_faults();
    ok!(cuMemAlloc_v2(&mut 0, 16));
}

#[test]
fn a_late_fault_is_met_by_what_waits_and_names_its_work() {
    let bench = Bench::new("schedule=lazy;late=719@launch:2");
    let (stream, kernel, data) = (bench.stream(), bench.kernel("scale"), bench.upload(&[1; 4]));
    let (event, module) = (bench.event(), bench.module());
    for _ in 0..3 {
        assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
    }
    assert_eq!(status!(cuStreamSynchronize(stream)), Status::LAUNCH_FAILED);
    assert_eq!(status!(cuMemAlloc_v2(&mut 0, 16)), Status::LAUNCH_FAILED);
    let reports = bench.session.reports();
    let [Report::Failed { code: 719, reason, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert!(reason.contains("kernel `scale`"), "{reason}");
    // Objects of a lost context are given back, and each call returns the code that lost it, like every other call.
    assert_eq!(status!(cuMemFreeAsync(data, stream)), Status::LAUNCH_FAILED);
    assert_eq!(status!(cuStreamDestroy_v2(stream)), Status::LAUNCH_FAILED);
    assert_eq!(status!(cuStreamDestroy_v2(stream)), Status::LAUNCH_FAILED);
    assert_eq!(status!(cuEventDestroy_v2(event)), Status::LAUNCH_FAILED);
    assert_eq!(status!(cuModuleUnload(module)), Status::LAUNCH_FAILED);
    ok!(cuCtxSetCurrent(bench.context));
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    let reports = bench.session.reports();
    assert!(!reports.iter().any(|report| matches!(report, Report::Leak(leak) if leak.streams > 0)), "{reports:?}");
}

#[test]
fn a_lost_context_does_not_touch_another_device() {
    let bench = Bench::new("devices=2;late=700@launch:1");
    let (stream, kernel, data) = (bench.stream(), bench.kernel("scale"), bench.upload(&[1; 4]));
    assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
    assert_eq!(status!(cuStreamSynchronize(stream)), Status::ILLEGAL_ADDRESS);
    enter(1);
    ok!(cuCtxSynchronize());
}
