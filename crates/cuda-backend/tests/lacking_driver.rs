//! A driver that lacks functions, in a separate process: a process chooses its driver once.
//!
//! # Safety
//! Functions of the driver are called as its API requires: with pointers valid for a write.

use core::ptr::null_mut;

use backend_api::Queue;
use cuda_backend::{CallerError, CallerStream, CudaConfig, CudaQueue, KernelSource, OpenError};
use cuda_loader::{Status, Table, ffi};
use test_process::alone;

#[test]
fn a_driver_without_what_every_device_needs_is_refused_by_name() {
    alone(|| {
        unsafe extern "C" fn init(_flags: u32) -> Status {
            Status::SUCCESS
        }
        unsafe extern "C" fn version(version: *mut i32) -> Status {
            // SAFETY: the loader passes a pointer to an integer.
            unsafe { version.write(12_040) };
            Status::SUCCESS
        }
        let table = Table { cuInit: Some(init), cuDriverGetVersion: Some(version), ..Table::default() };
        cuda_loader::install(table).unwrap();
        let Err(OpenError::MissingFunctions { names }) = CudaQueue::open(CudaConfig::default()) else {
            panic!("opened")
        };
        assert!(names.contains(&"cuLaunchKernel") && !names.contains(&"cuInit"), "{names:?}");
        let missing = cuda_backend::driver().unwrap().missing;
        let lacks = |function| missing.iter().any(|name| name.starts_with(function));
        assert!(lacks("cuLaunchKernel") && lacks("cuGraphLaunch"), "{missing:?}");
        assert!(!lacks("cuInit") && !lacks("cuTensorMapEncodeTiled"), "nothing calls it: {missing:?}");
    });
}

#[test]
fn a_driver_that_does_not_describe_memory_serves_arrays_on_the_host_alone() {
    alone(|| {
        let lacking = ["cuPointerGetAttributes", "cuStreamGetCtx", "cuStreamIsCapturing"];
        let remove = |table: &mut Table| {
            table.cuPointerGetAttributes = None;
            table.cuStreamGetCtx = None;
            table.cuStreamIsCapturing = None;
        };
        cuda_sim::driver::install_changed("".parse().unwrap(), remove).unwrap();
        let missing = cuda_backend::driver().unwrap().missing;
        assert!(lacking.iter().all(|name| missing.iter().any(|missing| missing == name)), "{missing:?}");
        // The queue does all it did.
        let kernels = KernelSource::Texts(Vec::new());
        let queue = CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).unwrap();
        let words = queue.upload(&[5u32; 8]).unwrap();
        assert_eq!(queue.download(&words).unwrap(), [5; 8]);
        // SAFETY: the legacy default stream is never destroyed.
        let caller = unsafe { CallerStream::new(queue.device(), null_mut()) }.unwrap();
        let (host, mut context, mut memory, mut stream) = ([1u64; 8], ffi::CUcontext::NULL, 0, ffi::CUstream::NULL);
        assert_eq!(caller.is_on_device(host.as_ptr().addr() as u64, 64), Ok(false));
        // SAFETY: places for handles, which stay alive until the process ends.
        let made = unsafe {
            [
                ffi::cuDevicePrimaryCtxRetain(&raw mut context, 0),
                ffi::cuCtxSetCurrent(context),
                ffi::cuMemAlloc_v2(&raw mut memory, 64),
                ffi::cuStreamCreate(&raw mut stream, ffi::stream::NON_BLOCKING),
            ]
        };
        assert_eq!(made, [Status::SUCCESS; 4]);
        let refused = caller.check(memory, 64).unwrap_err();
        assert_eq!(refused, CallerError::MissingFunction { name: "cuPointerGetAttributes" });
        let text =
            "the CUDA driver lacks cuPointerGetAttributes, which arrays and streams of the program on a device need";
        assert_eq!(refused.to_string(), text);
        // SAFETY: the stream is alive until the process ends.
        let refused = unsafe { CallerStream::new(queue.device(), stream.0) }.unwrap_err();
        assert_eq!(refused, CallerError::MissingFunction { name: "cuStreamGetCtx" });
    });
}
