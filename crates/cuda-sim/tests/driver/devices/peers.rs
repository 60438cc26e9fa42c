//! Devices that reach each other, and links that lie.

use std::collections::BTreeMap;

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUdeviceptr, CUmemoryPool, CUstream, MemAccessDesc, MemLocation, mem_access, mem_location, p2p},
};

use crate::driver::bench::{Bench, alloc_async, ok, retain, scale, status, written};

/// Runs `work` in another context, and waits for it there.
fn within(context: CUcontext, work: impl FnOnce() -> CUdeviceptr) -> CUdeviceptr {
    ok!(cuCtxPushCurrent_v2(context));
    let address = work();
    ok!(cuCtxSynchronize());
    ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
    address
}

/// A second context in addition to the bench's, with four words on its device.
fn second(ordinal: i32, words: [u32; 4]) -> (CUcontext, CUdeviceptr) {
    let context = retain(ordinal);
    let address = within(context, || {
        let address = written(0, |address| status!(cuMemAlloc_v2(address, 16)));
        ok!(cuMemcpyHtoD_v2(address, words.as_ptr().cast(), 16));
        address
    });
    (context, address)
}

fn can_access(a: i32, b: i32) -> bool {
    written(-1, |can| status!(cuDeviceCanAccessPeer(can, a, b))) == 1
}

fn attribute(which: u32, a: i32, b: i32) -> i32 {
    written(-1, |value| status!(cuDeviceGetP2PAttribute(value, which, a, b)))
}

#[test]
fn links_are_those_of_the_specification() {
    let _bench = Bench::new("devices=4;links=0-1:nvlink,0-2:pcie,2-3:dropped");
    assert!(can_access(0, 1) && can_access(2, 0) && can_access(2, 3) && !can_access(1, 3) && !can_access(1, 1));
    let rank = |a, b| attribute(p2p::PERFORMANCE_RANK, a, b);
    assert!(rank(0, 1) < rank(0, 2));
    assert_eq!(attribute(p2p::NATIVE_ATOMIC_SUPPORTED, 1, 0), 1);
    assert_eq!(attribute(p2p::NATIVE_ATOMIC_SUPPORTED, 2, 0), 0);
    assert_eq!(attribute(p2p::ACCESS_SUPPORTED, 3, 1), 0);
    assert_eq!([attribute(p2p::ARRAY_ACCESS_SUPPORTED, 3, 1), attribute(p2p::ARRAY_ACCESS_SUPPORTED, 3, 2)], [0, 1]);
    for (which, other, expected) in [(p2p::ACCESS_SUPPORTED, 1, Status::INVALID_DEVICE), (9, 0, Status::INVALID_VALUE)]
    {
        assert_eq!(status!(cuDeviceGetP2PAttribute(&mut 0, which, 1, other)), expected, "{which}");
    }
}

#[test]
fn a_kernel_reaches_a_peer_only_once_access_is_enabled() {
    for enabled in [true, false] {
        let bench = Bench::new("devices=2");
        let (kernel, stream) = (bench.kernel("scale"), bench.stream());
        let (context, data) = second(1, [3; 4]);
        if enabled {
            ok!(cuCtxEnablePeerAccess(context, 0));
            assert_eq!(status!(cuCtxEnablePeerAccess(context, 0)), Status::PEER_ACCESS_ALREADY_ENABLED);
        }
        assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
        let expected = if enabled { Status::SUCCESS } else { Status::ILLEGAL_ADDRESS };
        assert_eq!(status!(cuStreamSynchronize(stream)), expected);
    }
}

#[test]
fn a_kernel_reaches_pool_memory_of_a_peer_by_the_access_of_the_pool_alone() {
    for (of_context, of_pool) in [(false, false), (true, false), (false, true), (true, true)] {
        let bench = Bench::new("devices=2");
        let (kernel, stream) = (bench.kernel("scale"), bench.stream());
        let (context, _) = second(1, [3; 4]);
        let pool = written(CUmemoryPool::NULL, |pool| status!(cuDeviceGetDefaultMemPool(pool, 1)));
        let data = within(context, || {
            let data = alloc_async(16, CUstream::NULL);
            ok!(cuMemcpyHtoD_v2(data, [3u32; 4].as_ptr().cast(), 16));
            data
        });
        if of_context {
            ok!(cuCtxEnablePeerAccess(context, 0));
        }
        if of_pool {
            let location = MemLocation { kind: mem_location::DEVICE, id: 0 };
            let access = MemAccessDesc { location, flags: mem_access::READ_WRITE };
            ok!(cuMemPoolSetAccess(pool, &raw const access, 1));
        }
        assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
        let expected = if of_pool { Status::SUCCESS } else { Status::ILLEGAL_ADDRESS };
        assert_eq!(status!(cuStreamSynchronize(stream)), expected, "{of_context} {of_pool}");
    }
}

#[test]
fn where_links_serve_copies_alone_a_kernel_reaches_no_peer() {
    let bench = Bench::new("devices=2;peer=copies");
    let (kernel, stream, target) = (bench.kernel("scale"), bench.stream(), bench.upload(&[0; 4]));
    let (context, data) = second(1, [3; 4]);
    ok!(cuCtxEnablePeerAccess(context, 0));
    ok!(cuMemcpyPeerAsync(target, bench.context, data, context, 16, stream));
    assert_eq!(bench.download(target, 4), [3; 4]);
    assert_eq!(scale(kernel, data, 2, 4, stream), Status::SUCCESS);
    assert_eq!(status!(cuStreamSynchronize(stream)), Status::ILLEGAL_ADDRESS);
}

#[test]
fn access_has_to_be_possible_and_is_ended_once() {
    let bench = Bench::new("devices=3;links=0-1:pcie");
    let ((one, _), (two, _)) = (second(1, [0; 4]), second(2, [0; 4]));
    assert_eq!(status!(cuCtxEnablePeerAccess(two, 0)), Status::PEER_ACCESS_UNSUPPORTED);
    assert_eq!(status!(cuCtxEnablePeerAccess(bench.context, 0)), Status::INVALID_DEVICE);
    assert_eq!(status!(cuCtxDisablePeerAccess(one)), Status::PEER_ACCESS_NOT_ENABLED);
    assert_eq!(status!(cuCtxEnablePeerAccess(one, 1)), Status::INVALID_VALUE, "no flag is defined");
    ok!(cuCtxEnablePeerAccess(one, 0));
    ok!(cuCtxDisablePeerAccess(one));
}

#[test]
fn a_dropped_link_reports_success_and_writes_nothing() {
    for (link, arrived) in [("nvlink", 7), ("pcie", 7), ("none", 7), ("dropped", 0)] {
        let bench = Bench::new(&format!("devices=2;links=0-1:{link}"));
        let (stream, target) = (bench.stream(), bench.upload(&[0; 4]));
        let (context, source) = second(1, [7; 4]);
        ok!(cuMemcpyPeerAsync(target, bench.context, source, context, 16, stream));
        assert_eq!(bench.download(target, 4), [arrived; 4], "{link}");
        ok!(cuMemsetD32_v2(target, 1, 4));
        ok!(cuMemcpyPeer(target, bench.context, source, context, 16));
        assert_eq!(bench.download(target, 4), [if arrived == 0 { 1 } else { 7 }; 4], "{link}");
        // From device 1 to device 0, twice; bytes that a bad link drops were sent too.
        assert_eq!(bench.session.counters().bytes_between_devices, BTreeMap::from([((1, 0), 32)]));
    }
}

#[test]
fn a_peer_copy_names_the_right_contexts() {
    let bench = Bench::new("devices=2");
    let target = bench.upload(&[0; 4]);
    let (context, source) = second(1, [7; 4]);
    assert_eq!(status!(cuMemcpyPeer(target, context, source, bench.context, 16)), Status::INVALID_VALUE);
    assert_eq!(status!(cuMemcpyPeer(target, CUcontext::NULL, source, context, 16)), Status::INVALID_CONTEXT);
}
