//! Streams as real queues: the freedom of a schedule, and the order of work.
//!
//! # Safety
//! Host functions are called with the argument they were enqueued with.

use cuda_loader::{
    Status,
    ffi::{self, CUevent, CUstream},
};

use crate::driver::bench::{Bench, ok, scale, status, stream_with, written};

/// Uploads 8 words from pinned memory and changes that memory before anything has waited; what arrived.
fn reuse_early(spec: &str) -> Vec<u32> {
    let bench = Bench::new(spec);
    let (stream, target) = (bench.stream(), bench.upload(&[0; 8]));
    let block = bench.pinned(8);
    block.fill(1);
    ok!(cuMemcpyHtoDAsync_v2(target, block.as_ptr().cast(), 32, stream));
    block.fill(2);
    ok!(cuStreamSynchronize(stream));
    bench.download(target, 8)
}

#[test]
fn a_lazy_stream_shows_that_pinned_memory_was_reused_too_early() {
    assert_eq!(reuse_early("schedule=eager"), [1; 8]);
    assert_eq!(reuse_early("schedule=lazy"), [2; 8]);
}

#[test]
fn pageable_memory_may_be_reused_at_once() {
    let bench = Bench::new("schedule=lazy");
    let (stream, target) = (bench.stream(), bench.upload(&[0; 8]));
    let mut source = [5u32; 8];
    ok!(cuMemcpyHtoDAsync_v2(target, source.as_ptr().cast(), 32, stream));
    source.fill(6);
    let mut back = vec![0u32; 8];
    // A copy to pageable memory is done when the call returns.
    ok!(cuMemcpyDtoHAsync_v2(back.as_mut_ptr().cast(), target, 32, stream));
    assert_eq!(back, [5; 8]);
    assert_eq!(bench.session.counters().pageable_copies, 2);
}

#[test]
fn a_lazy_stream_runs_nothing_before_something_waits() {
    let bench = Bench::new("schedule=lazy");
    let (stream, kernel, data) = (bench.stream(), bench.kernel("scale"), bench.upload(&[1; 4]));
    let event = bench.event();
    assert_eq!(scale(kernel, data, 3, 4, stream), Status::SUCCESS);
    ok!(cuEventRecord(event, stream));
    assert!(bench.session.is_busy());
    assert_eq!(bench.session.counters().kernels.lane_instructions, 0);
    // A device makes progress while the host polls, one step a time after the first answer.
    assert_eq!(status!(cuEventQuery(event)), Status::NOT_READY);
    assert_eq!(bench.session.counters().kernels.lane_instructions, 0);
    assert_eq!(status!(cuStreamQuery(stream)), Status::NOT_READY);
    assert_ne!(bench.session.counters().kernels.lane_instructions, 0);
    assert_eq!(status!(cuStreamQuery(stream)), Status::SUCCESS);
    ok!(cuEventQuery(event));
    assert_eq!(bench.download(data, 4), [4; 4]);
}

#[test]
fn a_copy_is_not_done_while_queries_answer_not_ready() {
    for schedule in ["schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=3"] {
        let bench = Bench::new(schedule);
        let (stream, data) = (bench.stream(), bench.upload(&[7; 4]));
        let block = bench.pinned(4);
        ok!(cuMemcpyDtoHAsync_v2(block.as_mut_ptr().cast(), data, 16, stream));
        let event = bench.event();
        ok!(cuEventRecord(event, stream));
        for asks_event in [false, true].into_iter().cycle() {
            let status = if asks_event { status!(cuEventQuery(event)) } else { status!(cuStreamQuery(stream)) };
            if status == Status::SUCCESS {
                break;
            }
            assert_eq!(status, Status::NOT_READY);
        }
        assert_eq!(block[..], [7; 4], "{schedule}");

        ok!(cuMemcpyDtoHAsync_v2(block.as_mut_ptr().cast(), bench.upload(&[9; 4]), 16, stream));
        if status!(cuStreamQuery(stream)) == Status::NOT_READY {
            assert_ne!(block[..], [9; 4], "{schedule}");
        }
        ok!(cuStreamSynchronize(stream));
        assert_eq!(block[..], [9; 4], "{schedule}");
    }
}

#[test]
fn an_event_orders_two_streams_and_its_absence_does_not() {
    // With the event, every schedule doubles before it adds; without it, some seed does not.
    let run = |spec: &str, ordered: bool| {
        let bench = Bench::new(spec);
        let (first, second, event) = (bench.stream(), bench.stream(), bench.event());
        let (kernel, data) = (bench.kernel("scale"), bench.upload(&[10; 4]));
        assert_eq!(scale(kernel, data, 2, 4, first), Status::SUCCESS);
        ok!(cuEventRecord(event, first));
        if ordered {
            ok!(cuStreamWaitEvent(second, event, 0));
        }
        assert_eq!(scale(kernel, data, 5, 4, second), Status::SUCCESS);
        bench.download(data, 4)[0]
    };
    let specs: Vec<String> = (0..20).map(|seed| format!("schedule=random;seed={seed}")).collect();
    assert!(specs.iter().all(|spec| run(spec, true) == 106));
    assert!(specs.iter().any(|spec| run(spec, false) == 103));
    assert!(specs.iter().any(|spec| run(spec, false) == 106));
}

#[test]
fn slow_work_is_overtaken() {
    let bench = Bench::new("schedule=lazy");
    bench.session.inject("slow@launch:1".parse().unwrap());
    let (first, second) = (bench.stream(), bench.stream());
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[10; 4]));
    assert_eq!(scale(kernel, data, 2, 4, first), Status::SUCCESS);
    assert_eq!(scale(kernel, data, 5, 4, second), Status::SUCCESS);
    assert_eq!(bench.download(data, 4)[0], 103);
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_not_for_others() {
    let run = |flags: u32| {
        let bench = Bench::new("schedule=lazy");
        let stream = stream_with(flags);
        let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
        assert_eq!(scale(kernel, data, 3, 4, stream), Status::SUCCESS);
        let mut back = [0u32; 4];
        ok!(cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), data, 16));
        back[0]
    };
    assert_eq!(run(ffi::stream::DEFAULT), 4);
    assert_eq!(run(ffi::stream::NON_BLOCKING), 1);
}

#[test]
fn a_copy_from_pageable_memory_returns_before_its_bytes_arrive() {
    let bench = Bench::new("schedule=lazy");
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
    let mut words = [5u32; 4];
    ok!(cuMemcpyHtoD_v2(data, words.as_ptr().cast(), 16));
    assert!(bench.session.is_busy());
    // The host may use its memory again; a stream that does not wait for the legacy one sees the old words.
    words.fill(6);
    let stream = bench.stream();
    assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(bench.download(data, 4), [5; 4], "the copy ran after the kernel");
}

#[test]
fn a_blocking_stream_waits_for_the_legacy_stream() {
    let bench = Bench::new("schedule=lazy");
    let stream = stream_with(ffi::stream::DEFAULT);
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
    assert_eq!(scale(kernel, data, 3, 4, CUstream::NULL), Status::SUCCESS);
    assert_eq!(scale(kernel, data, 5, 4, stream), Status::SUCCESS);
    ok!(cuStreamSynchronize(stream));
    assert!(!bench.session.is_busy());
    assert_eq!(bench.download(data, 4)[0], 21);
}

#[test]
fn host_functions_run_in_stream_order_and_may_not_call_the_driver() {
    unsafe extern "C" fn note(seen: *mut std::ffi::c_void) {
        let refused = status!(cuCtxSynchronize());
        // SAFETY: the test passes a pointer to one status that outlives the stream's work.
        unsafe { seen.cast::<Status>().write(refused) };
    }
    let bench = Bench::new("schedule=lazy");
    let stream = bench.stream();
    let mut seen = Status::SUCCESS;
    ok!(cuLaunchHostFunc(stream, Some(note), (&raw mut seen).cast()));
    assert!(bench.session.is_busy());
    ok!(cuStreamSynchronize(stream));
    assert_eq!(seen, Status::NOT_PERMITTED);
}

#[test]
fn elapsed_time_is_simulated_and_positive() {
    let bench = Bench::new("schedule=lazy");
    let (stream, start, end) = (bench.stream(), bench.event(), bench.event());
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
    ok!(cuEventRecord(start, stream));
    assert_eq!(scale(kernel, data, 3, 4, stream), Status::SUCCESS);
    ok!(cuEventRecord(end, stream));
    assert_eq!(status!(cuEventElapsedTime(&mut 0.0, start, end)), Status::NOT_READY);
    ok!(cuEventSynchronize(end));
    let milliseconds = written(0.0, |milliseconds| status!(cuEventElapsedTime(milliseconds, start, end)));
    assert!(milliseconds > 0.0 && milliseconds < 1.0, "{milliseconds}");
}

#[test]
fn an_event_has_times_once_it_was_recorded() {
    let bench = Bench::new("");
    let (stream, [first, second, empty]) = (bench.stream(), [(); 3].map(|()| bench.event()));
    let untimed = written(CUevent::NULL, |event| status!(cuEventCreate(event, ffi::event::DISABLE_TIMING)));
    let data = bench.upload(&[0; 1000]);
    ok!(cuEventRecord(first, stream));
    // A fill takes 1000 ns, and another for each 100 bytes.
    ok!(cuMemsetD32Async(data, 1, 1000, stream));
    ok!(cuEventRecord(second, stream));
    ok!(cuEventRecord(untimed, stream));
    let elapsed = |start, end| {
        let mut milliseconds = 9.0;
        (status!(cuEventElapsedTime(&raw mut milliseconds, start, end)), milliseconds)
    };
    assert_eq!(elapsed(first, second), (Status::SUCCESS, 0.001_04));
    assert_eq!(elapsed(second, first), (Status::SUCCESS, -0.001_04));
    for (start, end) in [(first, empty), (empty, first), (first, untimed), (untimed, first)] {
        assert_eq!(elapsed(start, end).0, Status::INVALID_HANDLE);
    }
    // An event that was never recorded has nothing to wait for.
    ok!(cuEventQuery(empty));
    ok!(cuEventSynchronize(empty));
    // Both handles of the legacy stream.
    for handle in [CUstream::NULL, CUstream(std::ptr::without_provenance_mut(1))] {
        assert_eq!(written(9, |flags| status!(cuStreamGetFlags(handle, flags))), ffi::stream::DEFAULT);
    }
}

#[test]
fn streams_report_what_they_were_made_with() {
    let bench = Bench::new("");
    let mut stream = CUstream::NULL;
    ok!(cuStreamCreateWithPriority(&raw mut stream, ffi::stream::NON_BLOCKING, -99));
    let (mut flags, mut priority, mut least, mut greatest) = (0, 0, 0, 0);
    ok!(cuStreamGetFlags(stream, &raw mut flags));
    ok!(cuStreamGetPriority(stream, &raw mut priority));
    ok!(cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest));
    assert_eq!((flags, priority), (ffi::stream::NON_BLOCKING, greatest));
    assert!(greatest < least);
    ok!(cuStreamDestroy_v2(stream));
    assert_eq!(status!(cuStreamSynchronize(stream)), Status::INVALID_HANDLE);
    // No other flag is defined.
    for flags in [2, 3, u32::MAX] {
        assert_eq!(status!(cuStreamCreate(&raw mut stream, flags)), Status::INVALID_VALUE, "{flags}");
        assert_eq!(status!(cuStreamCreateWithPriority(&raw mut stream, flags, 0)), Status::INVALID_VALUE, "{flags}");
    }
    drop(bench);
}

#[test]
fn an_event_for_other_processes_has_no_times() {
    use ffi::event::{BLOCKING_SYNC, DISABLE_TIMING, INTERPROCESS};

    let _bench = Bench::new("");
    let all = BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS;
    for (flags, expected) in [
        (all, Status::SUCCESS),
        (INTERPROCESS | DISABLE_TIMING, Status::SUCCESS),
        (INTERPROCESS, Status::INVALID_VALUE),
        (INTERPROCESS | BLOCKING_SYNC, Status::INVALID_VALUE),
        (all + 1, Status::INVALID_VALUE),
    ] {
        assert_eq!(status!(cuEventCreate(&mut CUevent::default(), flags)), expected, "{flags}");
    }
}

#[test]
fn threads_share_the_driver() {
    for schedule in ["eager", "lazy", "random"] {
        let bench = Bench::new(&format!("schedule={schedule}"));
        let (kernel, context) = (bench.kernel("scale"), bench.context);
        test_process::scope(|scope| {
            for thread in 0..4u32 {
                let bench = &bench;
                scope.spawn(move || {
                    ok!(cuCtxSetCurrent(context));
                    let (stream, data) = (bench.stream(), bench.upload(&[thread; 4]));
                    for round in 1..=50 {
                        assert_eq!(scale(kernel, data, 1, 4, stream), Status::SUCCESS);
                        if round % 10 == 0 {
                            ok!(cuStreamSynchronize(stream));
                        }
                    }
                    assert_eq!(bench.download(data, 4), [thread + 50; 4]);
                });
            }
        });
        assert_eq!(bench.session.counters().launches, 200);
        assert_eq!(bench.session.reports(), []);
    }
}
