//! The functions of one driver, by their names.

use std::ffi::{c_char, c_void};

use super::missing::MissingFunction;
use crate::{
    functions::driver_functions,
    results::status::Status,
    types::{
        BlockToSharedFn, CUarray, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec,
        CUgraphNode, CUlinkState, CUmemoryPool, CUmodule, CUstream, HostFn, HostNodeParams, KernelNodeParams,
        MemAccessDesc, MemAllocNodeParams, MemLocation, MemPoolProps, Memcpy2D, Memcpy3D, MemsetNodeParams,
        StreamCallback, Uuid,
    },
};

/// Expands the list of typed functions to the table of them.
macro_rules! table {
    (
        forward { $( $fwd:ident ( $( $fwd_arg:ident : $fwd_ty:ty ),* ); )* }
        own { $( $own:ident ( $( $own_arg:ident : $own_ty:ty ),* ) since $since:literal; )* }
    ) => {
        /// The functions of a driver; `None` where it lacks one.
        #[derive(Clone, Debug, Default)]
        #[allow(non_snake_case, reason = "the fields carry the names of the C functions")]
        pub struct Table {
            $(
                #[doc = concat!("`", stringify!($fwd), "`")]
                pub $fwd: Option<unsafe extern "C" fn($( $fwd_ty ),*) -> Status>,
            )*
            $(
                #[doc = concat!("`", stringify!($own), "`, since CUDA ", $since)]
                pub $own: Option<unsafe extern "C" fn($( $own_ty ),*) -> Status>,
            )*
        }

        impl Table {
            /// A table of the functions that `lookup` finds by name.
            ///
            /// # Safety
            /// Whatever `lookup` returns for a name is a function with the driver API's signature
            /// of that name, valid for as long as the table is used.
            pub(crate) unsafe fn from_lookup(
                mut lookup: impl FnMut(&'static str) -> Option<std::ptr::NonNull<c_void>>,
            ) -> Self {
                Self {
                    $(
                        // SAFETY: by this function's contract this is the address of a function of this type.
                        $fwd: lookup(stringify!($fwd)).map(|address| unsafe {
                            std::mem::transmute::<
                                std::ptr::NonNull<c_void>,
                                unsafe extern "C" fn($( $fwd_ty ),*) -> Status,
                            >(address)
                        }),
                    )*
                    $(
                        // SAFETY: as above.
                        $own: lookup(stringify!($own)).map(|address| unsafe {
                            std::mem::transmute::<
                                std::ptr::NonNull<c_void>,
                                unsafe extern "C" fn($( $own_ty ),*) -> Status,
                            >(address)
                        }),
                    )*
                }
            }

            /// Every function the table lacks, in the order of the list.
            ///
            /// Each comes with the CUDA release that introduced it.
            pub(crate) fn absent(&self) -> Vec<MissingFunction> {
                let mut absent = Vec::new();
                $( if self.$fwd.is_none() { absent.push(MissingFunction::new(stringify!($fwd), None)); } )*
                $( if self.$own.is_none() { absent.push(MissingFunction::new(stringify!($own), Some($since))); } )*
                absent
            }
        }
    };
}

driver_functions! { table }
