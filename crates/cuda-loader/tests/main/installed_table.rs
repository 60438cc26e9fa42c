//! A table in place of a library: codes, missing functions and the freeze.
//!
//! # Safety
//! Functions of the table are called by the driver API's contract: each pointer is valid for one value.

use cuda_loader::{Driver, DriverVersion, Origin, Status, Table, available, ffi, install, last_raw_code};
use cust::{CudaFlags, device::Device, error::CudaError};
use test_process::alone;

unsafe extern "C" fn init(_flags: u32) -> Status {
    Status::SUCCESS
}

unsafe extern "C" fn version(version: *mut i32) -> Status {
    // SAFETY: the caller passes a pointer to one integer.
    unsafe { *version = 12_040 };
    Status::SUCCESS
}

unsafe extern "C" fn device_count(_count: *mut i32) -> Status {
    Status::DEVICE_UNAVAILABLE
}

unsafe extern "C" fn device_get(_device: *mut i32, _ordinal: i32) -> Status {
    Status::INVALID_DEVICE
}

/// Makes four functions the driver of the process, and nothing else. Called once in a process.
fn driver() -> &'static Driver {
    install(Table {
        cuInit: Some(init),
        cuDriverGetVersion: Some(version),
        cuDeviceGetCount: Some(device_count),
        cuDeviceGet: Some(device_get),
        ..Table::default()
    })
    .unwrap();
    available().unwrap()
}

#[test]
fn the_table_is_the_driver_and_stays_it() {
    alone(|| {
        let driver = driver();
        assert_eq!(*driver.origin(), Origin::Installed);
        assert_eq!(driver.version(), DriverVersion(12_040));
        assert_eq!(driver.version().to_string(), "12.4");
        assert!(install(Table::default()).is_err());
        assert!(cust::init(CudaFlags::empty()).is_ok());
    });
}

#[test]
fn a_code_that_cust_lacks_reaches_it_as_unknown_and_us_as_it_is() {
    alone(|| {
        driver();
        assert!(matches!(Device::num_devices(), Err(CudaError::UnknownError)));
        assert_eq!(last_raw_code(), Some(Status::DEVICE_UNAVAILABLE));

        let mut count = 0;
        // SAFETY: the pointer is to one integer.
        let status = unsafe { ffi::cuDeviceGetCount(&raw mut count) };
        assert_eq!(status, Status(46));
        assert_eq!(status.name(), Some("CUDA_ERROR_DEVICE_UNAVAILABLE"));
        assert!(matches!(Device::get_device(0), Err(CudaError::InvalidDevice)));
    });
}

#[test]
fn a_missing_function_is_listed_and_a_call_of_it_refused_and_recorded() {
    alone(|| {
        let driver = driver();
        let missing = driver.missing();
        assert!(missing.iter().any(|function| function.name == "cuLaunchKernel" && function.since.is_none()));
        assert!(!missing.iter().any(|function| function.name == "cuInit"));
        let newer = missing.iter().find(|function| function.name == "cuTensorMapEncodeTiled").unwrap();
        assert_eq!(newer.to_string(), "cuTensorMapEncodeTiled (needs CUDA 12.0 or newer)");

        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { ffi::cuCtxSynchronize() }, Status::NOT_SUPPORTED);
        // SAFETY: as above.
        assert_eq!(unsafe { ffi::cuCtxSynchronize() }, Status::NOT_SUPPORTED);
        // A function without a typed forwarder is refused as well.
        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { cust::sys::cuCtxResetPersistingL2Cache() } as i32, Status::NOT_SUPPORTED.0);
        let refused = driver.refused();
        assert_eq!(refused.iter().filter(|name| **name == "cuCtxSynchronize").count(), 1);
        assert!(refused.contains(&"cuCtxResetPersistingL2Cache"));
    });
}
