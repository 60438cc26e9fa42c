//! A table installed in place of NCCL: its missing functions are named.
//!
//! # Safety
//! Functions of the table are called by NCCL's contract: each pointer is valid for one value.

use cuda_loader::nccl::{Status, Table, Unavailable, available, install};
use test_process::alone;

unsafe extern "C" fn version(version: *mut i32) -> Status {
    // SAFETY: the caller passes a pointer to one integer.
    unsafe { *version = 22_703 };
    Status::SUCCESS
}

#[test]
fn a_table_without_a_needed_function_is_refused_with_its_name() {
    alone(|| {
        install(Table { ncclGetVersion: Some(version), ..Table::default() }).unwrap();
        let refused = available().unwrap_err();
        let path = "installed table".into();
        assert_eq!(refused, Unavailable::Lacks { path, function: "ncclGetErrorString" });
        assert!(install(Table::default()).is_err());
    });
}
