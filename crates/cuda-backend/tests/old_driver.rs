//! A driver that is too old, in a process of its own: the driver of a process is chosen once.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_backend::{CudaConfig, CudaQueue, OpenError};
use cuda_loader::{DriverVersion, Unavailable};

#[test]
fn a_driver_that_is_too_old_is_refused_with_both_releases() {
    assert!(cuda_sim::driver::install("driver=11.2".parse().unwrap()).is_err());
    let refused = CudaQueue::open(CudaConfig::default()).unwrap_err();
    let too_old = Unavailable::TooOld { found: DriverVersion(11_020), oldest: DriverVersion::OLDEST };
    assert_eq!(refused, OpenError::Driver(too_old));
    assert_eq!(refused.to_string(), "the CUDA driver is of release 11.2, at least 11.4 is needed");
}
