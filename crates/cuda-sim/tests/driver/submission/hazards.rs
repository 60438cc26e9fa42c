//! Host sequences that go wrong on a device sooner or later: each is reported, and its correct counterpart is not.
//!
//! # Safety
//! Host functions are called with the argument they were enqueued with.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{self, CUdeviceptr, CUfunction, CUgraphExec, CUstream, capture::THREAD_LOCAL},
};
use cuda_sim::driver::Report;

use super::graphs::{end_capture, instantiate, instantiate_with};
use crate::driver::bench::{Bench, alloc_async, kernel_of, ok, scale, status, stream_with, written};

const SCHEDULES: [&str; 4] = ["schedule=eager", "schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2"];

/// A machine under every checker.
fn checked(spec: &str) -> Bench {
    Bench::new(&format!("{spec};checks=sanitize"))
}

fn kernel(name: &str) -> CUfunction {
    kernel_of(include_str!("hazards.ptx"), name)
}

/// Launches one thread of a kernel whose parameters are these addresses.
fn run<const N: usize>(kernel: CUfunction, mut addresses: [CUdeviceptr; N], stream: CUstream) {
    let mut arguments = addresses.each_mut().map(|address| (&raw mut *address).cast::<c_void>());
    let null = std::ptr::null_mut();
    ok!(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), null));
}

/// How many reports a condition holds of, after all work.
fn reported(bench: &Bench, which: fn(&Report) -> bool) -> usize {
    let _lost_by_what_is_reported = status!(cuCtxSynchronize());
    let reports = bench.session.reports();
    let found = reports.iter().filter(|report| which(report)).count();
    let others: Vec<_> =
        reports.iter().filter(|report| !which(report) && !matches!(report, Report::Failed { .. })).collect();
    assert!(others.is_empty(), "{others:?}");
    found
}

fn unordered(bench: &Bench) -> usize {
    reported(bench, |report| matches!(report, Report::Unordered { .. }))
}

fn out_of_order(bench: &Bench) -> usize {
    reported(bench, |report| matches!(report, Report::StreamOrder { .. }))
}

/// Lets later work of `later` come after what `earlier` holds now.
fn order(bench: &Bench, earlier: CUstream, later: CUstream) {
    let event = bench.event();
    ok!(cuEventRecord(event, earlier));
    ok!(cuStreamWaitEvent(later, event, 0));
}

#[test]
fn memory_that_two_streams_use_needs_an_order_if_one_of_them_writes() {
    for schedule in SCHEDULES {
        for ordered in [true, false] {
            let bench = checked(schedule);
            let (first, second) = (bench.stream(), bench.stream());
            let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 8]));
            assert_eq!(scale(kernel, data, 2, 8, first), Status::SUCCESS);
            if ordered {
                order(&bench, first, second);
            }
            assert_eq!(scale(kernel, data, 3, 8, second), Status::SUCCESS);
            assert_eq!(unordered(&bench), usize::from(!ordered), "{schedule}");
        }
    }
}

#[test]
fn waiting_on_the_host_is_an_order() {
    type Wait = fn(&Bench, CUstream);
    let waits: [Wait; 4] = [
        |_, stream| ok!(cuStreamSynchronize(stream)),
        |_, _| ok!(cuCtxSynchronize()),
        |bench, stream| {
            let event = bench.event();
            ok!(cuEventRecord(event, stream));
            ok!(cuEventSynchronize(event));
        },
        |_, stream| while status!(cuStreamQuery(stream)) == Status::NOT_READY {},
    ];
    for (wait, schedule) in waits.into_iter().flat_map(|wait| SCHEDULES.map(|schedule| (wait, schedule))) {
        let bench = checked(schedule);
        let (first, second) = (bench.stream(), bench.stream());
        let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 8]));
        assert_eq!(scale(kernel, data, 2, 8, first), Status::SUCCESS);
        wait(&bench, first);
        assert_eq!(scale(kernel, data, 3, 8, second), Status::SUCCESS);
        assert_eq!(unordered(&bench), 0, "{schedule}");
    }
}

#[test]
fn streams_that_read_one_place_or_count_there_or_write_apart_need_none() {
    for schedule in SCHEDULES {
        let bench = checked(schedule);
        let (first, second) = (bench.stream(), bench.stream());
        let (scale_kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 8]));
        let (count, copy) = (kernel("count"), kernel("move"));
        for (stream, half, target) in [(first, data, data + 24), (second, data + 8, data + 28)] {
            // Two words each, a counter for both, and a word that both read.
            assert_eq!(scale(scale_kernel, half, 2, 2, stream), Status::SUCCESS);
            run(count, [data + 16], stream);
            run(copy, [data + 20, target], stream);
        }
        assert_eq!(unordered(&bench), 0, "{schedule}");
        assert_eq!(bench.download(data, 8), [3, 3, 3, 3, 3, 1, 1, 1]);
        // A plain read concurrent with the counter is no part of the agreement.
        run(count, [data + 16], first);
        run(copy, [data + 16, data + 28], second);
        assert_eq!(unordered(&bench), 1, "{schedule}");
    }
}

#[test]
fn strong_loads_meet_all_but_plain_writes() {
    for (schedule, strong) in SCHEDULES.into_iter().flat_map(|s| ["look", "peek", "acquire"].map(|load| (s, load))) {
        let bench = checked(schedule);
        let (first, second, third) = (bench.stream(), bench.stream(), bench.stream());
        let (strong, copy, count) = (kernel(strong), kernel("move"), kernel("count"));
        let data = bench.upload(&[1; 8]);
        // Concurrent with a plain load, a copy on the device and a copy to the host of the same word.
        run(strong, [data, data + 8], first);
        run(copy, [data, data + 12], second);
        ok!(cuMemcpyDtoDAsync_v2(data + 16, data, 4, third));
        let mut back = 0u32;
        ok!(cuMemcpyDtoH_v2((&raw mut back).cast(), data, 4));
        assert_eq!(unordered(&bench), 0, "{schedule}");
        assert_eq!(back, 1);
        // Concurrent with a counter that another stream adds to.
        run(count, [data + 20], second);
        run(strong, [data + 20, data + 24], first);
        assert_eq!(unordered(&bench), 0, "{schedule}");
        // Not concurrent with a plain store.
        run(strong, [data + 4, data + 28], first);
        run(copy, [data + 12, data + 4], second);
        assert_eq!(unordered(&bench), 1, "{schedule}");
    }
}

#[test]
fn the_legacy_stream_is_in_no_order_with_streams_that_do_not_block() {
    type Work = fn(CUdeviceptr, CUdeviceptr);
    let works: [Work; 5] = [
        |data, _| ok!(cuMemsetD32_v2(data, 5, 4)),
        |data, _| ok!(cuMemsetD32Async(data, 5, 4, CUstream::NULL)),
        |data, other| ok!(cuMemcpyDtoD_v2(data, other, 16)),
        |data, other| ok!(cuMemcpyDtoDAsync_v2(data, other, 16, CUstream::NULL)),
        |data, _| ok!(cuMemcpyHtoD_v2(data, [5u32; 4].as_ptr().cast(), 16)),
    ];
    for (flags, ordered) in [(ffi::stream::NON_BLOCKING, false), (ffi::stream::DEFAULT, true)] {
        for (index, work) in works.iter().enumerate() {
            for schedule in SCHEDULES {
                let bench = checked(schedule);
                let (kernel, data, other) = (bench.kernel("scale"), bench.upload(&[1; 4]), bench.upload(&[5; 4]));
                let stream = stream_with(flags);
                work(data, other);
                assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
                assert_eq!(unordered(&bench), usize::from(!ordered), "{schedule}, work {index}");
            }
        }
    }
}

#[test]
fn a_copy_to_the_host_needs_an_order_after_the_work_of_other_streams() {
    let bench = checked("schedule=lazy");
    let (stream, kernel, data) = (bench.stream(), bench.kernel("scale"), bench.upload(&[1; 4]));
    assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
    let mut back = [0u32; 4];
    ok!(cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), data, 16));
    assert_eq!(unordered(&bench), 1);
}

#[test]
fn a_release_in_stream_order_comes_after_every_use() {
    for ordered in [true, false] {
        let bench = checked("schedule=eager");
        let (first, second) = (bench.stream(), bench.stream());
        let (through, place) = (kernel("through"), bench.upload(&[0; 2]));
        let data = written(0, |data| status!(cuMemAlloc_v2(data, 4)));
        ok!(cuMemcpyHtoD_v2(place, (&raw const data).cast(), 8));
        ok!(cuCtxSynchronize());
        run(through, [place], first);
        if ordered {
            order(&bench, first, second);
        }
        ok!(cuMemFreeAsync(data, second));
        assert_eq!(unordered(&bench), usize::from(!ordered));
    }
}

#[test]
fn stream_ordered_memory_is_known_within_a_record_of_words() {
    for (schedule, ordered) in SCHEDULES.into_iter().flat_map(|schedule| [(schedule, true), (schedule, false)]) {
        // Without checkers too.
        let bench = Bench::new(schedule);
        let (first, second) = (bench.stream(), bench.stream());
        let data = alloc_async(16, first);
        if ordered {
            order(&bench, first, second);
        }
        let mut record = [7u32, data as u32, (data >> 32) as u32];
        let (mut argument, null) = ((&raw mut record).cast::<c_void>(), std::ptr::null_mut());
        let kernel = kernel("record");
        ok!(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, second, &raw mut argument, null));
        assert_eq!(out_of_order(&bench), usize::from(!ordered), "{schedule}");
    }
}

#[test]
fn memory_of_another_stream_is_noticed_behind_a_pointer_in_memory() {
    for schedule in SCHEDULES {
        let bench = checked(schedule);
        let (first, second, through) = (bench.stream(), bench.stream(), kernel("through"));
        let (place, pinned) = (bench.upload(&[0; 2]), bench.pinned(2));
        let data = alloc_async(16, first);
        pinned.copy_from_slice(&[data as u32, (data >> 32) as u32]);
        ok!(cuMemcpyHtoDAsync_v2(place, pinned.as_ptr().cast(), 8, second));
        run(through, [place], second);
        assert_eq!(out_of_order(&bench), 1, "{schedule}");
    }
}

/// Captures an allocation of 16 bytes with a fill of it, and its release if `freed`.
fn capture_allocation(stream: CUstream, freed: bool, flags: u64) -> (CUgraphExec, CUdeviceptr) {
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let data = alloc_async(16, stream);
    ok!(cuMemsetD32Async(data, 3, 4, stream));
    if freed {
        ok!(cuMemFreeAsync(data, stream));
    }
    (instantiate_with(end_capture(stream), flags), data)
}

#[test]
fn memory_of_a_capture_is_there_from_a_launch_of_the_graph_to_its_release() {
    for schedule in SCHEDULES {
        let bench = checked(schedule);
        let (stream, scale_kernel) = (bench.stream(), bench.kernel("scale"));
        let (exec, data) = capture_allocation(stream, false, 0);
        assert_eq!(status!(cuMemFreeAsync(data, stream)), Status::INVALID_VALUE, "not allocated yet");
        ok!(cuGraphLaunch(exec, stream));
        assert_eq!(scale(scale_kernel, data, 2, 4, stream), Status::SUCCESS);
        assert_eq!(status!(cuGraphLaunch(exec, stream)), Status::INVALID_VALUE, "not freed yet");
        assert_eq!(bench.download(data, 4), [7; 4]);
        ok!(cuMemFreeAsync(data, stream));
        ok!(cuGraphLaunch(exec, stream));
        assert_eq!(out_of_order(&bench), 0);
    }
    for (freed, launched) in [(false, false), (true, true)] {
        let bench = checked("");
        let (stream, scale_kernel) = (bench.stream(), bench.kernel("scale"));
        let (exec, data) = capture_allocation(stream, freed, 0);
        if launched {
            ok!(cuGraphLaunch(exec, stream));
        }
        assert_eq!(scale(scale_kernel, data, 2, 4, stream), Status::SUCCESS);
        assert_eq!(status!(cuStreamSynchronize(stream)), Status::ILLEGAL_ADDRESS);
        assert_eq!(out_of_order(&bench), 1);
    }
}

#[test]
fn a_graph_may_free_its_memory_when_it_is_launched_again() {
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    for ordered in [true, false] {
        let bench = checked("");
        let (stream, other, scale_kernel) = (bench.stream(), bench.stream(), bench.kernel("scale"));
        let (exec, data) = capture_allocation(stream, false, AUTO_FREE_ON_LAUNCH);
        ok!(cuGraphLaunch(exec, stream));
        order(&bench, stream, other);
        assert_eq!(scale(scale_kernel, data, 2, 4, other), Status::SUCCESS);
        if ordered {
            order(&bench, other, stream);
        }
        ok!(cuGraphLaunch(exec, stream));
        let _lost = status!(cuCtxSynchronize());
        let reports = bench.session.reports();
        assert_eq!(reports.iter().any(|report| matches!(report, Report::StreamOrder { .. })), !ordered);
        assert_eq!(reports.is_empty(), ordered);
    }
}

#[test]
fn a_capture_releases_what_a_graph_allocates_and_nothing_else() {
    let bench = checked("");
    let (stream, data) = (bench.stream(), bench.upload(&[1; 4]));
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    assert_eq!(status!(cuMemFreeAsync(data, stream)), Status::INVALID_VALUE);
}

#[test]
fn branches_of_a_graph_are_in_the_order_of_its_edges_alone() {
    for ordered in [true, false] {
        for schedule in SCHEDULES {
            let bench = checked(schedule);
            let (first, second) = (bench.stream(), bench.stream());
            let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
            ok!(cuStreamBeginCapture_v2(first, THREAD_LOCAL));
            order(&bench, first, second);
            assert_eq!(scale(kernel, data, 2, 4, first), Status::SUCCESS);
            if ordered {
                order(&bench, first, second);
            }
            assert_eq!(scale(kernel, data, 3, 4, second), Status::SUCCESS);
            order(&bench, second, first);
            let exec = instantiate(end_capture(first));
            // Two launches of one graph come one after the other, on whatever streams.
            ok!(cuGraphLaunch(exec, first));
            ok!(cuGraphLaunch(exec, second));
            let seen = unordered(&bench);
            assert_eq!(seen, if ordered { 0 } else { 2 }, "{schedule}");
        }
    }
}

#[test]
fn bytes_that_nothing_wrote_do_not_reach_the_host_unnoticed() {
    let bench = checked("");
    let (stream, pinned) = (bench.stream(), bench.pinned(8));
    let data = written(0, |data| status!(cuMemAlloc_v2(data, 32)));
    ok!(cuMemsetD32Async(data + 8, 5, 2, stream));
    ok!(cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr().cast(), data, 32, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(pinned[..5], [!0, !0, 5, 5, !0]);
    let reports = bench.session.reports();
    let [Report::Unwritten { address, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(*address, data);
    ok!(cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr().cast(), data + 8, 8, stream));
    assert_eq!(reported(&bench, |report| matches!(report, Report::Unwritten { .. })), 1);
}

fn source_changed(bench: &Bench) -> usize {
    reported(bench, |report| matches!(report, Report::SourceChanged { .. }))
}

#[test]
fn a_pinned_source_that_the_host_changes_too_early_is_reported() {
    for (schedule, changed, expected) in [
        ("schedule=lazy", true, 1),
        ("schedule=lazy", false, 0),
        // The copy is done by then, as it may be on a device.
        ("schedule=eager", true, 0),
    ] {
        let bench = checked(schedule);
        let (stream, target, block) = (bench.stream(), bench.upload(&[0; 8]), bench.pinned(8));
        block.fill(1);
        ok!(cuMemcpyHtoDAsync_v2(target, block.as_ptr().cast(), 32, stream));
        if changed {
            block[7] = 2;
        }
        assert_eq!(source_changed(&bench), expected, "{schedule}");
    }
}

/// A host function that writes 9 to a word of pinned memory.
unsafe extern "C" fn write_nine(word: *mut c_void) {
    // SAFETY: the test passes the address of pinned memory that lives to its end.
    unsafe { word.cast::<u32>().write(9) };
}

#[test]
fn work_may_change_a_pinned_source_before_its_copy() {
    for by_host_function in [true, false] {
        let bench = checked("schedule=lazy");
        let (stream, source) = (bench.stream(), bench.upload(&[4; 8]));
        let (target, block) = (bench.upload(&[0; 8]), bench.pinned(8));
        let start: *mut c_void = block.as_mut_ptr().cast();
        if by_host_function {
            ok!(cuLaunchHostFunc(stream, Some(write_nine), start));
        } else {
            ok!(cuMemcpyDtoHAsync_v2(start, source, 32, stream));
        }
        ok!(cuMemcpyHtoDAsync_v2(target, start, 32, stream));
        assert_eq!(source_changed(&bench), 0);
        assert_eq!(bench.download(target, 1), [if by_host_function { 9 } else { 4 }]);
    }
}

#[test]
fn a_host_function_that_may_run_during_a_copy_must_not_change_its_source() {
    for is_ordered in [true, false] {
        let bench = checked("schedule=lazy");
        let (first, second) = (bench.stream(), bench.stream());
        let (target, block) = (bench.upload(&[0; 8]), bench.pinned(8));
        let start: *mut c_void = block.as_mut_ptr().cast();
        if is_ordered {
            ok!(cuLaunchHostFunc(first, Some(write_nine), start));
            order(&bench, first, second);
            ok!(cuMemcpyHtoDAsync_v2(target, start, 32, second));
        } else {
            ok!(cuMemcpyHtoDAsync_v2(target, start, 32, second));
            ok!(cuLaunchHostFunc(first, Some(write_nine), start));
        }
        ok!(cuStreamSynchronize(first));
        ok!(cuStreamSynchronize(second));
        assert_eq!(unordered(&bench), usize::from(!is_ordered));
    }
}

#[test]
fn a_pinned_target_is_no_source_before_its_copy_is_done() {
    for (is_ordered, schedule) in
        [true, false].into_iter().flat_map(|it| [(it, "schedule=lazy"), (it, "schedule=eager")])
    {
        let bench = checked(schedule);
        let (first, second) = (bench.stream(), bench.stream());
        let (data, target, block) = (bench.upload(&[4; 8]), bench.upload(&[0; 8]), bench.pinned(8));
        let start: *mut c_void = block.as_mut_ptr().cast();
        ok!(cuMemcpyDtoHAsync_v2(start, data, 32, first));
        if is_ordered {
            order(&bench, first, second);
        }
        ok!(cuMemcpyHtoDAsync_v2(target, start, 32, second));
        ok!(cuStreamSynchronize(second));
        ok!(cuStreamSynchronize(first));
        assert_eq!(unordered(&bench), usize::from(!is_ordered), "{schedule}");
    }
}

#[test]
fn a_result_that_is_read_too_early_is_not_plausible() {
    let bench = checked("schedule=lazy");
    let (stream, source, block) = (bench.stream(), bench.upload(&[4; 8]), bench.pinned(8));
    let target: *mut c_void = block.as_mut_ptr().cast();
    ok!(cuMemcpyDtoHAsync_v2(target, source, 16, stream));
    assert_eq!(*block, [!0, !0, !0, !0, 0, 0, 0, 0]);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(*block, [4, 4, 4, 4, 0, 0, 0, 0]);
    // What earlier work has still to read stays until then.
    block.fill(6);
    ok!(cuMemcpyHtoDAsync_v2(source, target, 32, stream));
    ok!(cuMemcpyDtoHAsync_v2(target, source, 32, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(*block, [6; 8]);
    assert_eq!(source_changed(&bench), 0);
}
