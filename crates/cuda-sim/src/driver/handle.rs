//! Handles: numbers that are never reused in a process.
//!
//! A stale handle is therefore always noticed.

use std::{
    ffi::c_void,
    ptr::without_provenance_mut,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use cuda_loader::{
    ffi::{CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUmemoryPool, CUmodule, CUstream},
    nccl::Comm,
};

/// The objects that handles name, by number.
pub(super) type Id = usize;

/// Handles start here: far from small integers and from addresses of the process.
static NEXT: AtomicUsize = AtomicUsize::new(0x5AFE_0000_0000);

/// A number that no handle had before.
pub(super) fn fresh() -> Id {
    NEXT.fetch_add(16, Relaxed)
}

/// A handle type of the driver API, or of NCCL.
pub(super) trait ApiHandle: Copy {
    /// Its number.
    fn id(self) -> Id;
    /// The handle of a number.
    fn of(id: Id) -> Self;
}

macro_rules! handles {
    ($($name:ident)*) => {$(
        impl ApiHandle for $name {
            fn id(self) -> Id {
                self.0.addr()
            }

            fn of(id: Id) -> Self {
                Self(without_provenance_mut::<c_void>(id))
            }
        }
    )*};
}

handles! { CUcontext CUevent CUfunction CUgraph CUgraphExec CUgraphNode CUmemoryPool CUmodule CUstream Comm }
