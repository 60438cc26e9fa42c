//! Programs that the driver rejects although the executor could run them.

use std::ffi::{CString, c_void};

use cuda_loader::{
    Status,
    ffi::{CUfunction, CUmodule, CUstream},
};
use cuda_sim::driver::{Report, simulate};

use crate::driver::bench::{Bench, kernel_of, status};

/// A module of one kernel `k`, by what stands before it, its parameters and directives, and its body.
fn text(version: &str, before: &str, head: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target sm_80\n.address_size 64\n{before}\n.visible .entry k{head}\n{{ {body} ret; }}\n"
    )
}

fn load(text: &str) -> Status {
    let image = CString::new(text).unwrap();
    status!(cuModuleLoadData(&mut CUmodule::default(), image.as_ptr().cast()))
}

fn launch(kernel: CUfunction, block: [u32; 3], params: *mut *mut c_void, extra: *mut *mut c_void) -> Status {
    let [x, y, z] = block;
    status!(cuLaunchKernel(kernel, 1, 1, 1, x, y, z, 0, CUstream::NULL, params, extra))
}

#[test]
fn what_is_too_large_for_every_device_is_not_compiled() {
    let bench = Bench::new("driver=12.4");
    let shared = |bytes: u32| text("7.0", "", "()", &format!(".shared .align 4 .b8 s[{bytes}];"));
    let constant = |bytes: u32| text("7.0", &format!(".const .align 4 .b8 c[{bytes}];"), "()", "");
    let parameters = |version, bytes: u32| text(version, "", &format!("(.param .align 8 .b8 p[{bytes}])"), "");
    for (fits, too_large, why) in [
        (shared(48 << 10), shared((48 << 10) + 1), "too much shared memory"),
        (constant(64 << 10), constant((64 << 10) + 4), "too much constant memory"),
        (parameters("8.0", 4352), parameters("8.0", 4353), "parameters above 4352 bytes needs PTX 8.1"),
        (parameters("8.1", 32_764), parameters("8.1", 32_765), "parameters take at most 32764 bytes"),
    ] {
        assert_eq!(load(&fits), Status::SUCCESS, "{fits}");
        assert_eq!(load(&too_large), Status::INVALID_PTX, "{too_large}");
        assert!(
            matches!(bench.session.reports().last(), Some(Report::Module(reason)) if reason.contains(why)),
            "{why}"
        );
    }
}

#[test]
fn texts_are_compiled_for_the_versions_of_the_machine() {
    for (machine, version, expected) in [
        ("driver=11.8", "7.8", Status::SUCCESS),
        ("driver=11.8", "8.0", Status::UNSUPPORTED_PTX_VERSION),
        ("driver=12.4", "8.5", Status::UNSUPPORTED_PTX_VERSION),
        ("cc=9.0;driver=13.0", "9.0", Status::SUCCESS),
        ("", "6.5", Status::INVALID_PTX),
    ] {
        let _bench = Bench::new(machine);
        assert_eq!(load(&text(version, "", "()", "")), expected, "{machine}, PTX {version}");
    }
    assert!(simulate("cc=9.0;driver=11.4").is_err(), "that release knows no such device");
}

#[test]
fn a_block_of_another_shape_than_required_is_refused() {
    let _bench = Bench::new("");
    let kernel = kernel_of(&text("7.0", "", "() .reqntid 8, 4", ""), "k");
    let null = std::ptr::null_mut();
    assert_eq!(launch(kernel, [8, 4, 1], null, null), Status::SUCCESS);
    for block in [[8, 4, 2], [4, 8, 1], [32, 1, 1], [8, 1, 1], [64, 1, 1]] {
        assert_eq!(launch(kernel, block, null, null), Status::INVALID_VALUE, "{block:?}");
    }
}

#[test]
fn local_memory_beyond_what_a_thread_may_have_is_refused_at_the_launch() {
    let _bench = Bench::new("");
    let null = std::ptr::null_mut();
    for (bytes, expected) in [(512 << 10, Status::SUCCESS), ((512 << 10) + 1, Status::LAUNCH_OUT_OF_RESOURCES)] {
        let kernel = kernel_of(&text("7.0", "", "()", &format!(".local .align 4 .b8 l[{bytes}];")), "k");
        assert_eq!(launch(kernel, [1, 1, 1], null, null), expected, "{bytes}");
    }
}

#[test]
fn arguments_come_in_one_form_and_are_as_long_as_the_parameters() {
    let _bench = Bench::new("");
    let kernel = kernel_of(&text("7.0", "", "(.param .u64 a, .param .u32 b)", ""), "k");
    let mark = std::ptr::without_provenance_mut::<c_void>;
    let mut packed = [0u64; 4];
    let mut one_by_one: [*mut c_void; 2] = [packed.as_mut_ptr().cast(), packed.as_mut_ptr().cast()];
    let null = std::ptr::null_mut();
    // The parameters end after 12 bytes, and a record of them after 16.
    for (bytes, expected) in [
        (8, Status::INVALID_VALUE),
        (12, Status::SUCCESS),
        (16, Status::SUCCESS),
        (17, Status::LAUNCH_OUT_OF_RESOURCES),
        (32, Status::LAUNCH_OUT_OF_RESOURCES),
    ] {
        let mut size: usize = bytes;
        let mut extra = [mark(1), packed.as_mut_ptr().cast(), mark(2), (&raw mut size).cast(), mark(0)];
        assert_eq!(launch(kernel, [1, 1, 1], null, extra.as_mut_ptr()), expected, "{bytes}");
        let both = launch(kernel, [1, 1, 1], one_by_one.as_mut_ptr(), extra.as_mut_ptr());
        assert_eq!(both, Status::INVALID_VALUE, "{bytes}");
    }
    assert_eq!(launch(kernel, [1, 1, 1], one_by_one.as_mut_ptr(), null), Status::SUCCESS);
}
