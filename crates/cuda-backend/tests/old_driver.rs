//! A driver that is too old, in a separate process: a process chooses its driver once.

use cuda_backend::{CudaConfig, CudaQueue, OpenError};
use cuda_loader::{DriverVersion, Unavailable};
use test_process::alone;

#[test]
fn a_driver_that_is_too_old_is_refused_with_both_releases() {
    alone(|| {
        assert!(cuda_sim::driver::install("driver=11.2".parse().unwrap()).is_err());
        let refused = CudaQueue::open(CudaConfig::default()).unwrap_err();
        let too_old = Unavailable::TooOld { found: DriverVersion(11_020), oldest: DriverVersion::OLDEST };
        assert_eq!(refused, OpenError::Driver(too_old));
        assert_eq!(refused.to_string(), "expected a CUDA driver of release 11.4 or newer, got 11.2");
    });
}
