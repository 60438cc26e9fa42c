//! Devices, contexts, and the leaks that a context reports at its end.

use cuda_loader::{
    Status,
    ffi::{self, CUcontext, device},
};
use cuda_sim::driver::{Report, simulate};

use crate::driver::bench::{Bench, alloc_async, ok, retain, status, with_arguments, written};

fn attribute(which: u32, ordinal: i32) -> i32 {
    written(-1, |value| status!(cuDeviceGetAttribute(value, which, ordinal)))
}

#[test]
fn devices_are_those_of_the_specification() {
    let _session = simulate("devices=3;cc=8.6;mem=64M;driver=12.2").unwrap();
    ok!(cuInit(0));
    assert_eq!(written(0, |version| status!(cuDriverGetVersion(version))), 12_020);
    assert_eq!(written(0, |count| status!(cuDeviceGetCount(count))), 3);
    assert_eq!(written(0, |bytes| status!(cuDeviceTotalMem_v2(bytes, 2))), 64 << 20);
    assert_eq!(attribute(device::COMPUTE_CAPABILITY_MAJOR, 0), 8);
    assert_eq!(attribute(device::COMPUTE_CAPABILITY_MINOR, 0), 6);
    // The published figures of compute capability 8.6.
    assert_eq!(attribute(device::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), 99 << 10);
    assert_eq!(attribute(device::MAX_THREADS_PER_MULTIPROCESSOR, 0), 1536);
    assert_ne!(attribute(device::PCI_BUS_ID, 0), attribute(device::PCI_BUS_ID, 1));
    assert_eq!(status!(cuDeviceGet(&mut 0, 3)), Status::INVALID_DEVICE);
    assert_eq!(status!(cuDeviceGetAttribute(&mut 0, device::WARP_SIZE, -1)), Status::INVALID_DEVICE);
    assert_eq!(status!(cuDeviceGetCount(std::ptr::null_mut())), Status::INVALID_VALUE);
}

#[test]
fn limits_follow_the_capability_and_multiprocessors_are_as_many_as_asked_for() {
    // From compute capability 8.0 on the system keeps 1 KiB of shared memory for each block.
    for (machine, multiprocessors, shared_kib, cache_mib) in [
        ("cc=7.0", 4, 96, 6),
        ("cc=7.5", 4, 64, 4),
        ("", 4, 163, 40),
        ("cc=8.6", 4, 99, 6),
        ("cc=9.0;sms=132;driver=13.0", 132, 227, 50),
    ] {
        let _bench = Bench::new(machine);
        assert_eq!(attribute(device::MULTIPROCESSOR_COUNT, 0), multiprocessors, "{machine}");
        assert_eq!(attribute(device::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), shared_kib << 10, "{machine}");
        assert_eq!(attribute(device::L2_CACHE_SIZE, 0), cache_mib << 20, "{machine}");
        assert_eq!(attribute(device::MAX_REGISTERS_PER_BLOCK, 0), 65_536, "{machine}");
    }
}

#[test]
fn a_block_takes_as_much_shared_memory_as_its_device_has() {
    for (machine, kib, expected) in [
        ("cc=9.0", 227, Status::SUCCESS),
        ("cc=9.0", 228, Status::INVALID_VALUE),
        ("cc=8.0", 164, Status::INVALID_VALUE),
    ] {
        let bench = Bench::new(machine);
        let (kernel, data) = (bench.kernel("scale"), bench.upload(&[1; 4]));
        let shared = ffi::function::MAX_DYNAMIC_SHARED_SIZE_BYTES;
        assert_eq!(status!(cuFuncSetAttribute(kernel, shared, kib << 10)), expected, "{machine}, {kib}");
        if expected == Status::SUCCESS {
            let (stream, bytes, null) = (bench.stream(), (kib << 10) as u32, std::ptr::null_mut());
            with_arguments(data, 2, 4, |arguments| {
                ok!(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, bytes, stream, arguments, null));
            });
            assert_eq!(bench.download(data, 4), [3; 4]);
        }
    }
}

#[test]
fn a_machine_without_devices_says_so() {
    let _session = simulate("devices=0").unwrap();
    assert_eq!(status!(cuInit(0)), Status::NO_DEVICE);
}

#[test]
fn the_primary_context_is_shared_and_ends_with_its_last_holder() {
    let bench = Bench::new("");
    assert_eq!(retain(0), bench.context);
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    ok!(cuCtxSynchronize());
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(status!(cuCtxSynchronize()), Status::CONTEXT_IS_DESTROYED);
    assert_eq!(status!(cuDevicePrimaryCtxRelease_v2(0)), Status::INVALID_CONTEXT);
    assert_eq!(bench.session.reports(), []);
    assert_ne!(retain(0), bench.context, "a stale handle never names a new context");
}

#[test]
fn contexts_of_a_thread_form_a_stack() {
    let bench = Bench::new("devices=2");
    let now = || written(CUcontext::NULL, |now| status!(cuCtxGetCurrent(now)));
    let made = written(CUcontext::NULL, |made| status!(cuCtxCreate_v2(made, 0, 1)));
    assert_eq!(now(), made);
    assert_eq!(written(CUcontext::NULL, |popped| status!(cuCtxPopCurrent_v2(popped))), made);
    assert_eq!(now(), bench.context);
    ok!(cuCtxPushCurrent_v2(made));
    ok!(cuCtxDestroy_v2(made));
    assert_eq!(now(), bench.context);
    assert_eq!(status!(cuCtxSetCurrent(made)), Status::INVALID_CONTEXT);
}

#[test]
fn what_belongs_to_a_context_is_given_back_while_one_is_current() {
    let bench = Bench::new("devices=2");
    let (module, stream, event) = (bench.module(), bench.stream(), bench.event());
    let (data, pinned) = (bench.upload(&[1; 4]), bench.pinned(4).as_mut_ptr().cast());
    let other = retain(1);
    let give_back = || {
        [
            status!(cuMemFree_v2(data)),
            status!(cuMemFreeHost(pinned)),
            status!(cuStreamDestroy_v2(stream)),
            status!(cuEventDestroy_v2(event)),
            status!(cuModuleUnload(module)),
        ]
    };
    ok!(cuCtxSetCurrent(CUcontext::NULL));
    assert_eq!(give_back(), [Status::INVALID_CONTEXT; 5]);
    // A module is unloaded from the current context.
    ok!(cuCtxSetCurrent(other));
    assert_eq!(status!(cuModuleUnload(module)), Status::INVALID_HANDLE);
    ok!(cuCtxSetCurrent(bench.context));
    assert_eq!(give_back(), [Status::SUCCESS; 5]);
}

#[test]
fn what_a_context_still_holds_at_its_end_is_reported_and_freed() {
    let bench = Bench::new("");
    let address = bench.upload(&[1; 16]);
    let ordered = alloc_async(256, bench.stream());
    let kept = bench.upload(&[2; 4]);
    ok!(cuMemFree_v2(kept));
    bench.event();
    bench.module();
    bench.pinned(4);
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    let reports = bench.session.reports();
    let [Report::Leak(leak)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(leak.allocations, [(address, 64), (ordered, 256)]);
    assert_eq!((leak.bytes, leak.streams, leak.events, leak.modules, leak.pinned), (320, 1, 1, 1, 1));
    assert_eq!(bench.session.usage(0).used, 0);
}

#[test]
fn a_function_outside_the_simulated_surface_is_refused_and_recorded() {
    let _bench = Bench::new("");
    let null = std::ptr::null();
    assert_eq!(status!(cuTexObjectCreate(&mut 0, null, null, null)), Status::NOT_SUPPORTED);
    assert!(cuda_loader::available().unwrap().refused().contains(&"cuTexObjectCreate"));
}
