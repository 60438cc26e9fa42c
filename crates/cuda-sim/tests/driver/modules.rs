//! Modules, functions and launches: accepted and rejected calls.

use std::ffi::{CString, c_void};

use cuda_loader::{
    Status,
    ffi::{CUfunction, CUmodule, CUstream, function, jit},
};
use cuda_sim::driver::Report;

use crate::driver::bench::{Bench, KERNELS, enter, ok, scale, status, with_arguments, written};

/// Loads a text with logs; the status, the information and the error.
fn load(text: &str) -> (Status, String, String) {
    let image = CString::new(text).unwrap();
    let (mut info, mut error) = ([0u8; 200], [0u8; 200]);
    let size = std::ptr::without_provenance_mut::<c_void>(200);
    let mut options = [
        jit::INFO_LOG_BUFFER,
        jit::INFO_LOG_BUFFER_SIZE_BYTES,
        jit::ERROR_LOG_BUFFER,
        jit::ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [info.as_mut_ptr().cast(), size, error.as_mut_ptr().cast(), size];
    let mut module = CUmodule::NULL;
    let status = status!(cuModuleLoadDataEx(
        &raw mut module,
        image.as_ptr().cast(),
        4,
        options.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    assert_eq!(module.is_null(), status != Status::SUCCESS);
    let said = |buffer: &[u8], length: *mut c_void| String::from_utf8_lossy(&buffer[..length.addr()]).into_owned();
    (status, said(&info, values[1]), said(&error, values[3]))
}

#[test]
fn a_module_that_is_not_for_the_device_is_refused_with_the_reason() {
    let bench = Bench::new("cc=7.5");
    let (status, info, error) = load(KERNELS);
    assert_eq!((status, info.as_str()), (Status::INVALID_PTX, ""));
    assert!(error.contains("sm_80") && error.contains("sm_75"), "{error}");
    assert!(matches!(bench.session.reports()[..], [Report::Module(_)]));
}

#[test]
fn a_good_module_leaves_an_information_log() {
    let _bench = Bench::new("");
    let (status, info, error) = load(KERNELS);
    assert_eq!((status, error.as_str()), (Status::SUCCESS, ""));
    assert!(info.contains("PTX"), "{info}");
}

#[test]
fn a_truncated_module_is_refused_wherever_it_is_cut() {
    let _bench = Bench::new("");
    // The text ends with the brace of its last kernel; each cut falls inside some kernel.
    let first = KERNELS.find(".param").unwrap();
    for at in (first..KERNELS.trim_end().len()).step_by(41) {
        let before = &KERNELS[..at];
        if before.matches('{').count() == before.matches('}').count() && !before.contains(".entry sum") {
            continue;
        }
        let (status, _, error) = load(before);
        assert!(status == Status::INVALID_PTX && !error.is_empty(), "cut at {at}: {status:?}");
    }
    assert_eq!(load("").0, Status::INVALID_PTX);
    assert_eq!(load("\x7fELF not a text").0, Status::NO_BINARY_FOR_GPU);
    assert_eq!(load(".version 9.9\n.target sm_80\n.address_size 64\n").0, Status::UNSUPPORTED_PTX_VERSION);
}

#[test]
fn names_are_found_or_not() {
    let bench = Bench::new("");
    let module = bench.module();
    let (mut address, mut size) = (0, 0);
    ok!(cuModuleGetGlobal_v2(&raw mut address, &raw mut size, module, c"answer".as_ptr()));
    assert_eq!((size, bench.download(address, 1)), (4, vec![42]));
    let mut function = CUfunction::NULL;
    assert_eq!(status!(cuModuleGetFunction(&raw mut function, module, c"nothing".as_ptr())), Status::NOT_FOUND);
    ok!(cuModuleGetFunction(&raw mut function, module, c"sum".as_ptr()));
    ok!(cuModuleUnload(module));
    assert_eq!(status!(cuModuleUnload(module)), Status::INVALID_HANDLE);
    assert_eq!(status!(cuFuncGetAttribute(&mut 0, function::NUM_REGS, function)), Status::INVALID_HANDLE);
}

#[test]
fn shapes_that_the_device_cannot_run_are_refused() {
    let bench = Bench::new("");
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[0; 4]));
    let launch = |[gx, gy, gz]: [u32; 3], [bx, by, bz]: [u32; 3], shared: u32| {
        let (stream, null) = (CUstream::NULL, std::ptr::null_mut());
        with_arguments(data, 1, 4, |arguments| {
            status!(cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, null))
        })
    };
    assert_eq!(launch([1, 1, 1], [4, 1, 1], 0), Status::SUCCESS);
    for (grid, block) in [
        ([0, 1, 1], [4, 1, 1]),
        ([1, 65_536, 1], [4, 1, 1]),
        ([1, 1, 1], [0, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [32, 64, 1]),
        ([1, 1, 1], [1, 1, 65]),
    ] {
        assert_eq!(launch(grid, block, 0), Status::INVALID_VALUE, "{grid:?} {block:?}");
    }
    assert_eq!(launch([1, 1, 1], [4, 1, 1], 100 << 10), Status::INVALID_VALUE);
    ok!(cuFuncSetAttribute(kernel, function::MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    assert_eq!(launch([1, 1, 1], [4, 1, 1], 100 << 10), Status::SUCCESS);
    assert_eq!(
        status!(cuFuncSetAttribute(kernel, function::MAX_DYNAMIC_SHARED_SIZE_BYTES, 164 << 10)),
        Status::INVALID_VALUE
    );
}

#[test]
fn a_cooperative_grid_has_at_most_the_blocks_that_the_device_holds_at_once() {
    let bench = Bench::new("sms=3");
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[0; 4]));
    let resident = written(0, |blocks| status!(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, 64, 0)));
    assert!(resident > 3, "a sum and a product differ");
    let launch = |blocks: u32| {
        with_arguments(data, 1, 4, |arguments| {
            status!(cuLaunchCooperativeKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, CUstream::NULL, arguments))
        })
    };
    let most = 3 * resident as u32;
    assert_eq!(launch(most), Status::SUCCESS);
    assert_eq!(launch(most + 1), Status::COOPERATIVE_LAUNCH_TOO_LARGE);
}

#[test]
fn packed_arguments_are_those_given_one_by_one() {
    let bench = Bench::new("");
    let (kernel, data) = (bench.kernel("scale"), bench.upload(&[5; 4]));
    let mut packed = Vec::from(data.to_ne_bytes());
    packed.extend(3u32.to_ne_bytes());
    packed.extend(4u32.to_ne_bytes());
    let mut size = packed.len();
    let mark = std::ptr::without_provenance_mut::<c_void>;
    let mut extra = [mark(1), packed.as_mut_ptr().cast(), mark(2), (&raw mut size).cast(), mark(0)];
    let (stream, null) = (CUstream::NULL, std::ptr::null_mut());
    ok!(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, stream, null, extra.as_mut_ptr()));
    assert_eq!(bench.download(data, 4), [16; 4]);
    assert_eq!(status!(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, stream, null, null)), Status::INVALID_VALUE);
}

#[test]
fn a_launch_with_a_stream_of_another_context_is_refused() {
    let bench = Bench::new("devices=2");
    let (kernel, data, stream) = (bench.kernel("scale"), bench.upload(&[0; 4]), bench.stream());
    enter(1);
    assert_eq!(scale(kernel, data, 1, 4, stream), Status::INVALID_HANDLE);
}
