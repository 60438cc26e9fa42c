//! A process without a driver: every question has a named answer, and nothing links against one.

use cuda_loader::{Source, Status, Unavailable, available, ffi, install, open};
use cust::CudaFlags;
use test_process::alone;

#[test]
fn a_switched_off_driver_is_named_as_the_reason_everywhere() {
    alone(|| {
        let reason = open(&Source::None).unwrap_err();
        assert_eq!(reason, Unavailable::Disabled);
        // The choice is frozen: nothing later replaces it.
        assert_eq!(available().unwrap_err(), Unavailable::Disabled);
        assert_eq!(open(&Source::Path("/nowhere/libcuda.so".into())).unwrap_err(), Unavailable::Disabled);
        assert!(install(ffi::Table::default()).is_err());

        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { ffi::cuInit(0) }, Status::STUB_LIBRARY);
        // `cust` has no case for code 34 and shows it as unknown, which is why `available` exists.
        assert!(matches!(cust::init(CudaFlags::empty()), Err(cust::error::CudaError::UnknownError)));
    });
}
