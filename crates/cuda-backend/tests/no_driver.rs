//! A machine without a driver, in separate processes: a process chooses its driver once.

use cuda_backend::{CudaConfig, CudaQueue, OpenError};
use cuda_loader::{Source, Unavailable};
use test_process::alone;

#[test]
fn a_machine_without_a_driver_says_so_and_makes_no_call() {
    alone(|| {
        assert!(matches!(cuda_loader::open(&Source::None), Err(Unavailable::Disabled)));
        let refused = OpenError::Driver(Unavailable::Disabled);
        assert_eq!(CudaQueue::open(CudaConfig::default()).unwrap_err(), refused);
        assert_eq!(cuda_backend::devices().unwrap_err(), refused);
        assert_eq!(cuda_backend::driver().unwrap_err(), refused);
        assert_eq!(refused.to_string(), "the CUDA driver is switched off");
    });
}

#[test]
fn a_process_without_nccl_says_why() {
    alone(|| {
        assert_eq!(cuda_loader::nccl::open(&Source::None).unwrap_err(), cuda_loader::nccl::Unavailable::Disabled);
        assert_eq!(cuda_backend::nccl(), Err(cuda_loader::nccl::Unavailable::Disabled));
    });
}
