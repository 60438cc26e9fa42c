//! What devices and contexts report, and the arguments that they refuse.

use std::ffi::c_char;

use cuda_loader::{
    Status,
    ffi::{CUcontext, Uuid, context, limit},
};

use crate::driver::bench::{Bench, ok, retain, status, written};

/// Attributes of the second device of compute capability 8.6 with 7 multiprocessors: numbers of `cuda.h`, and values.
const ATTRIBUTES: &str = "
    1:1024 2:1024 3:1024 4:64 5:2147483647 6:65535 7:65535 8:49152 9:65536 10:32 11:2147483647 12:65536 13:1000000
    14:512 15:1 16:7 17:0 18:0 19:1 20:0 31:1 32:0 33:2 34:0 35:0 36:1000000 37:4096 38:6291456 39:1536 40:2 41:1 50:0
    51:32 75:8 76:6 78:1 79:1 80:1 81:102400 82:65536 83:0 84:0 86:0 88:0 89:0 90:1 91:1 95:1 97:101376 99:1 106:16
    111:1024 115:1";

#[test]
fn every_attribute_of_a_device_has_its_published_value() {
    let _bench = Bench::new("devices=2;cc=8.6;sms=7");
    let mut known = 0;
    for pair in ATTRIBUTES.split_whitespace() {
        let (number, expected) = pair.split_once(':').unwrap();
        let value = written(-1, |value| status!(cuDeviceGetAttribute(value, number.parse().unwrap(), 1)));
        assert_eq!(value.to_string(), expected, "attribute {number}");
        known += 1;
    }
    let is_known = |number: &u32| status!(cuDeviceGetAttribute(&mut 0, *number, 1)) == Status::SUCCESS;
    assert_eq!((0..200).filter(is_known).count(), known);
}

#[test]
fn a_device_has_a_name_and_an_address_cut_to_the_room_there_is() {
    let _bench = Bench::new("devices=11;cc=7.5");
    let mut buffer: [c_char; 14] = [7; 14];
    for (room, kept) in [(1, 0), (2, 1), (12, 11), (13, 12), (14, 12)] {
        buffer = [7; 14];
        ok!(cuDeviceGetPCIBusId(buffer.as_mut_ptr(), room, 10));
        let expected: Vec<u8> = b"0000:0B:00.0"[..kept].iter().copied().chain([0]).chain([7; 14]).take(14).collect();
        assert_eq!(buffer.map(|byte| byte as u8)[..], expected, "{room}");
    }
    for room in [0, -1] {
        let refused = [
            status!(cuDeviceGetName(buffer.as_mut_ptr(), room, 10)),
            status!(cuDeviceGetPCIBusId(buffer.as_mut_ptr(), room, 10)),
        ];
        assert_eq!(refused, [Status::INVALID_VALUE; 2], "{room}");
    }
    let (mut found, mut uuid, mut major, mut minor) = (-1, Uuid::default(), 0, 0);
    ok!(cuDeviceGetByPCIBusId(&raw mut found, c"0000:0b:00.0".as_ptr()));
    assert_eq!(status!(cuDeviceGetByPCIBusId(&raw mut found, c"0000:0C:00.0".as_ptr())), Status::INVALID_DEVICE);
    ok!(cuDeviceGetUuid_v2(&raw mut uuid, 1));
    ok!(cuDeviceComputeCapability(&raw mut major, &raw mut minor, 1));
    assert_eq!((found, uuid.bytes.map(|byte| byte as u8), major, minor), (10, *b"Trefoil-sim----1", 7, 5));
    assert_eq!(status!(cuDeviceComputeCapability(std::ptr::null_mut(), &raw mut minor, 1)), Status::INVALID_VALUE);
    for dev in [-1, 11] {
        let refused = [
            status!(cuDeviceTotalMem_v2(&mut 0, dev)),
            status!(cuDeviceComputeCapability(&raw mut major, &raw mut minor, dev)),
        ];
        assert_eq!(refused, [Status::INVALID_DEVICE; 2], "{dev}");
    }
}

#[test]
fn a_context_has_limits_of_its_own() {
    let _bench = Bench::new("");
    let get = |which: u32| written(0, |value| status!(cuCtxGetLimit(value, which)));
    for (which, default) in (0..).zip([1 << 10, 1 << 20, 8 << 20, 2, 2048, 128, 0]) {
        assert_eq!(get(which), default, "limit {which}");
        for value in [7, 4096] {
            ok!(cuCtxSetLimit(which, value));
            assert_eq!(get(which), value, "limit {which}");
        }
    }
    for beyond in [limit::PERSISTING_L2_CACHE_SIZE + 1, 99] {
        assert_eq!(status!(cuCtxSetLimit(beyond, 7)), Status::UNSUPPORTED_LIMIT);
        assert_eq!(status!(cuCtxGetLimit(&mut 0, beyond)), Status::UNSUPPORTED_LIMIT);
    }
}

/// Flags of a device's primary context, and whether it is retained.
fn primary(dev: i32) -> (u32, i32) {
    let (mut flags, mut active) = (9, 9);
    ok!(cuDevicePrimaryCtxGetState(dev, &raw mut flags, &raw mut active));
    (flags, active)
}

#[test]
fn a_context_reports_what_it_was_given() {
    let bench = Bench::new("devices=2");
    ok!(cuDevicePrimaryCtxSetFlags_v2(0, context::SCHED_BLOCKING_SYNC));
    let flags = written(9, |flags| status!(cuCtxGetFlags(flags)));
    assert_eq!((flags, primary(0), primary(1)), (4, (4, 1), (0, 0)));
    assert_eq!(status!(cuDevicePrimaryCtxGetState(0, std::ptr::null_mut(), &mut 0)), Status::INVALID_VALUE);
    // A context that is not the last of the thread leaves the others there, and a primary one stays.
    let mut made = written(CUcontext::NULL, |made| status!(cuCtxCreate_v2(made, context::SCHED_SPIN, 1)));
    ok!(cuCtxGetApiVersion(made, &mut 0));
    ok!(cuCtxPushCurrent_v2(bench.context));
    ok!(cuCtxDestroy_v2(made));
    assert_eq!(written(9, |device| status!(cuCtxGetDevice(device))), 0);
    let refused = [
        status!(cuCtxGetApiVersion(made, &mut 0)),
        status!(cuCtxGetId(made, &mut 0)),
        status!(cuCtxDestroy_v2(bench.context)),
    ];
    assert_eq!(refused, [Status::INVALID_CONTEXT; 3]);
    ok!(cuCtxSynchronize());
    while status!(cuCtxPopCurrent_v2(&raw mut made)) == Status::SUCCESS {}
    assert_eq!(status!(cuProfilerStart()), Status::INVALID_CONTEXT);
    // A reset ends the primary context for all who hold it.
    retain(0);
    ok!(cuDevicePrimaryCtxReset_v2(0));
    assert_eq!(primary(0).1, 0);
    assert_ne!(retain(0), bench.context);
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!((primary(0).1, status!(cuDevicePrimaryCtxRelease_v2(0))), (0, Status::INVALID_CONTEXT));
}
