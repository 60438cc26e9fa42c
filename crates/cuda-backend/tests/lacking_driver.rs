//! A driver that lacks functions, in a separate process: a process chooses its driver once.
//!
//! # Safety
//! Its two functions are called as the driver API calls them: with pointers that are valid for a write.

use cuda_backend::{CudaConfig, CudaQueue, OpenError};
use cuda_loader::{Status, Table};
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
