//! Device memory, stream-ordered memory, pools and pinned memory.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{self, CUdeviceptr, CUmemoryPool, CUstream, MemPoolProps},
};
use cuda_sim::driver::Report;

use crate::driver::bench::{Bench, alloc_async, ok, scale, status, written};

#[test]
fn memory_runs_out_and_comes_back() {
    let bench = Bench::new("mem=1M");
    let first = written(0, |first| status!(cuMemAlloc_v2(first, 700 << 10)));
    assert_eq!(status!(cuMemAlloc_v2(&mut 0, 700 << 10)), Status::OUT_OF_MEMORY);
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&raw mut free, &raw mut total));
    assert_eq!((free, total), (324 << 10, 1 << 20));
    ok!(cuMemFree_v2(first));
    ok!(cuMemAlloc_v2(&mut 0, 700 << 10));
    assert_eq!(status!(cuMemFree_v2(first)), Status::INVALID_VALUE);
    assert_eq!(status!(cuMemAlloc_v2(&mut 0, 0)), Status::INVALID_VALUE);
    assert!(matches!(bench.session.reports()[..], [Report::Address { call: "cuMemFree_v2", .. }]));
}

#[test]
fn memory_that_a_stream_will_release_is_not_freed_again() {
    let bench = Bench::new("schedule=lazy");
    let stream = bench.stream();
    let address = alloc_async(64, stream);
    ok!(cuMemFreeAsync(address, stream));
    assert_eq!(status!(cuMemFree_v2(address)), Status::INVALID_VALUE);
    assert!(matches!(bench.session.reports()[..], [Report::Address { call: "cuMemFree_v2", .. }]));
}

#[test]
fn memory_that_a_stream_will_release_counts_as_free_when_it_is_needed() {
    let bench = Bench::new("mem=1M;schedule=lazy");
    let stream = bench.stream();
    for _ in 0..10 {
        ok!(cuMemFreeAsync(alloc_async(700 << 10, stream), stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_eq!((bench.session.usage(0).used, bench.session.usage(0).peak), (0, 700 << 10));
}

/// Sixteen words that `stream` allocates and fills with ones.
fn filled(stream: CUstream) -> CUdeviceptr {
    let data = alloc_async(64, stream);
    ok!(cuMemsetD32Async(data, 1, 16, stream));
    data
}

#[test]
fn a_use_on_another_stream_needs_an_order_after_the_allocation() {
    for ordered in [true, false] {
        let bench = Bench::new("");
        let (first, second, event, kernel) = (bench.stream(), bench.stream(), bench.event(), bench.kernel("scale"));
        let data = filled(first);
        ok!(cuEventRecord(event, first));
        if ordered {
            ok!(cuStreamWaitEvent(second, event, 0));
        }
        assert_eq!(scale(kernel, data, 2, 16, second), Status::SUCCESS);
        let expected = if ordered { Status::SUCCESS } else { Status::ILLEGAL_ADDRESS };
        assert_eq!(status!(cuStreamSynchronize(second)), expected);
        let seen = bench.session.reports().iter().any(|report| matches!(report, Report::StreamOrder { .. }));
        assert_eq!(seen, !ordered);
    }
}

#[test]
fn a_release_needs_an_order_after_the_uses_on_other_streams() {
    for ordered in [true, false] {
        let bench = Bench::new("schedule=lazy");
        let (first, second, event) = (bench.stream(), bench.stream(), bench.event());
        let (kernel, data) = (bench.kernel("scale"), filled(first));
        ok!(cuStreamSynchronize(first));
        // The host has waited for the allocation, so any stream may use it now.
        assert_eq!(scale(kernel, data, 2, 16, second), Status::SUCCESS);
        ok!(cuEventRecord(event, second));
        if ordered {
            ok!(cuStreamWaitEvent(first, event, 0));
        }
        ok!(cuMemFreeAsync(data, first));
        let expected = if ordered { Status::SUCCESS } else { Status::ILLEGAL_ADDRESS };
        assert_eq!(status!(cuStreamSynchronize(first)), expected);
        assert_eq!(bench.session.reports().is_empty(), ordered);
    }
}

#[test]
fn a_use_after_the_release_fails_whatever_the_schedule() {
    for schedule in ["eager", "lazy", "random"] {
        let bench = Bench::new(&format!("schedule={schedule}"));
        let (stream, kernel) = (bench.stream(), bench.kernel("scale"));
        let data = filled(stream);
        ok!(cuMemFreeAsync(data, stream));
        assert_eq!(scale(kernel, data, 2, 16, stream), Status::SUCCESS);
        assert_eq!(status!(cuStreamSynchronize(stream)), Status::ILLEGAL_ADDRESS);
        let reports = bench.session.reports();
        assert!(
            matches!(reports[0], Report::StreamOrder { relation: "after its release", .. }),
            "{schedule}: {reports:?}"
        );
    }
}

#[test]
fn waiting_for_a_context_covers_its_destroyed_streams() {
    let bench = Bench::new("schedule=lazy");
    let (first, second, kernel) = (bench.stream(), bench.stream(), bench.kernel("scale"));
    let data = filled(first);
    assert_eq!(scale(kernel, data, 2, 16, first), Status::SUCCESS);
    ok!(cuStreamDestroy_v2(first));
    ok!(cuCtxSynchronize());
    ok!(cuMemFreeAsync(data, second));
    ok!(cuStreamSynchronize(second));
    assert_eq!(bench.session.reports(), []);
}

fn pool_value(pool: CUmemoryPool, attribute: u32) -> u64 {
    written(0u64, |value| status!(cuMemPoolGetAttribute(pool, attribute, value.cast())))
}

fn pointer_attribute<T>(before: T, which: u32, address: CUdeviceptr) -> T {
    written(before, |value| status!(cuPointerGetAttribute(value.cast(), which, address)))
}

#[test]
fn a_pool_counts_what_it_hands_out_and_keeps() {
    let bench = Bench::new("");
    let (stream, mut threshold) = (bench.stream(), u64::MAX);
    let pool = written(CUmemoryPool::NULL, |pool| status!(cuMemPoolCreate(pool, &MemPoolProps::on_device(0))));
    let take = |bytes: usize| written(0, |data| status!(cuMemAllocFromPoolAsync(data, bytes, pool, stream)));
    ok!(cuMemPoolSetAttribute(pool, ffi::pool::RELEASE_THRESHOLD, (&raw mut threshold).cast()));
    let data = take(1024);
    assert_eq!(pool_value(pool, ffi::pool::USED_MEM_CURRENT), 1024);
    assert_eq!(pointer_attribute(CUmemoryPool::NULL, ffi::pointer::MEMPOOL_HANDLE, data), pool);
    ok!(cuMemFreeAsync(data, stream));
    assert_eq!(pool_value(pool, ffi::pool::USED_MEM_CURRENT), 0);
    assert_eq!(pool_value(pool, ffi::pool::RESERVED_MEM_CURRENT), 1024);
    let data = take(512);
    assert_eq!(bench.session.counters().pool_hits, 1);
    ok!(cuMemFreeAsync(data, stream));
    ok!(cuMemPoolTrimTo(pool, 0));
    assert_eq!(pool_value(pool, ffi::pool::RESERVED_MEM_CURRENT), 0);
    assert_eq!(pool_value(pool, ffi::pool::USED_MEM_HIGH), 1024);
    ok!(cuMemPoolDestroy(pool));
    assert_eq!(status!(cuMemPoolDestroy(pool)), Status::INVALID_HANDLE);
}

#[test]
fn kernels_reach_pinned_memory_at_its_own_address() {
    let bench = Bench::new("");
    let (kernel, stream) = (bench.kernel("scale"), bench.stream());
    let block = bench.pinned(16);
    block.fill(3);
    let pointer: *mut c_void = block.as_mut_ptr().cast();
    let address = written(0, |address| status!(cuMemHostGetDevicePointer_v2(address, pointer, 0)));
    ok!(cuMemHostGetFlags(&mut 0, pointer));
    assert_eq!(pointer_attribute(0u32, ffi::pointer::MEMORY_TYPE, address), ffi::mem_type::HOST);
    assert_eq!(scale(kernel, address, 2, 16, stream), Status::SUCCESS);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(block, [7; 16]);
    ok!(cuMemFreeHost(pointer));
    assert_eq!(status!(cuMemFreeHost(pointer)), Status::INVALID_VALUE);
}

#[test]
fn registered_memory_is_pinned_until_it_is_unregistered() {
    let bench = Bench::new("schedule=lazy");
    let (target, stream) = (bench.upload(&[0; 4]), bench.stream());
    let mut block = vec![1u32; 4];
    let pointer: *mut c_void = block.as_mut_ptr().cast();
    ok!(cuMemHostRegister_v2(pointer, 16, 0));
    assert_eq!(status!(cuMemHostRegister_v2(pointer, 16, 0)), Status::HOST_MEMORY_ALREADY_REGISTERED);
    ok!(cuMemcpyHtoDAsync_v2(target, pointer, 16, stream));
    assert!(bench.session.is_busy());
    ok!(cuMemHostUnregister(pointer));
    assert!(!bench.session.is_busy(), "unregistering waits for the device");
    assert_eq!(status!(cuMemHostUnregister(pointer)), Status::HOST_MEMORY_NOT_REGISTERED);
    assert_eq!(bench.download(target, 4), [1; 4]);
}

#[test]
fn addresses_tell_their_allocation() {
    let bench = Bench::new("");
    let data = bench.upload(&[0; 16]);
    let (mut base, mut size) = (0, 0);
    ok!(cuMemGetAddressRange_v2(&raw mut base, &raw mut size, data + 20));
    assert_eq!((base, size), (data, 64));
    assert_eq!(pointer_attribute(-1i32, ffi::pointer::DEVICE_ORDINAL, data + 20), 0);
    assert_eq!(status!(cuMemGetAddressRange_v2(&raw mut base, &raw mut size, data + 64)), Status::NOT_FOUND);
    let (mut names, mut place): (_, *mut c_void) = ([ffi::pointer::RANGE_START_ADDR, 99], (&raw mut base).cast());
    ok!(cuPointerGetAttributes(1, names.as_mut_ptr(), &raw mut place, data + 63));
    let mut places = [place; 2];
    let unknown = status!(cuPointerGetAttributes(2, names.as_mut_ptr(), places.as_mut_ptr(), data));
    assert_eq!((unknown, base), (Status::INVALID_VALUE, data));
}

#[test]
fn attributes_of_an_unknown_address_are_defaults_in_a_list_and_an_error_one_by_one() {
    let bench = Bench::new("");
    let (data, host) = (bench.upload(&[0; 16]), [0u64; 2]);
    let gone = bench.upload(&[0; 16]);
    ok!(cuMemFree_v2(gone));
    let attributes = |address| {
        let (mut kind, mut device, mut start, mut bytes) = (9u32, 9i32, 9u64, 9usize);
        let mut names = [
            ffi::pointer::MEMORY_TYPE,
            ffi::pointer::DEVICE_ORDINAL,
            ffi::pointer::RANGE_START_ADDR,
            ffi::pointer::RANGE_SIZE,
        ];
        let mut places: [*mut c_void; 4] =
            [(&raw mut kind).cast(), (&raw mut device).cast(), (&raw mut start).cast(), (&raw mut bytes).cast()];
        ok!(cuPointerGetAttributes(4, names.as_mut_ptr(), places.as_mut_ptr(), address));
        (kind, device, start, bytes)
    };
    assert_eq!(attributes(data + 20), (ffi::mem_type::DEVICE, 0, data, 64));
    for address in [gone, data + 64, host.as_ptr().addr() as u64, 0] {
        assert_eq!(attributes(address), (0, -2, 0, 0), "{address:#x}");
        let mut kind = 0u32;
        let one = status!(cuPointerGetAttribute((&raw mut kind).cast(), ffi::pointer::MEMORY_TYPE, address));
        assert_eq!(one, Status::INVALID_VALUE);
    }
}
