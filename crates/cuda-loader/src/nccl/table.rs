//! The functions of one library, by their names.

use std::{
    ffi::{c_char, c_void},
    ptr::NonNull,
};

use super::{
    functions::nccl_functions,
    status::Status,
    types::{Comm, Config, UniqueId},
};
use crate::types::CUstream;

/// Expands the list of functions to tables of them.
macro_rules! tables {
    (
        needed { $( $name:ident ( $( $arg:ident : $ty:ty ),* ) -> $out:ty; )* }
        newer { $( $new:ident ( $( $new_arg:ident : $new_ty:ty ),* ) -> $new_out:ty, since $since:literal; )* }
    ) => {
        /// Functions of NCCL; `None` where one is lacking.
        #[derive(Clone, Copy, Debug, Default)]
        #[allow(non_snake_case, reason = "the fields carry the names of the C functions")]
        pub struct Table {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: Option<unsafe extern "C" fn($( $arg: $ty ),*) -> $out>,
            )*
            $(
                #[doc = concat!("`", stringify!($new), "`, since NCCL ", $since)]
                pub $new: Option<unsafe extern "C" fn($( $new_arg: $new_ty ),*) -> $new_out>,
            )*
        }

        /// The functions of a library that can be used.
        ///
        /// Arguments are as NCCL requires of each function.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_snake_case, reason = "the fields carry the names of the C functions")]
        pub struct Functions {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($( $arg: $ty ),*) -> $out,
            )*
            $(
                #[doc = concat!("`", stringify!($new), "`, since NCCL ", $since)]
                pub $new: Option<unsafe extern "C" fn($( $new_arg: $new_ty ),*) -> $new_out>,
            )*
        }

        impl Table {
            /// A table of the functions that `lookup` finds by name.
            ///
            /// # Safety
            /// Whatever `lookup` returns for a name is a function with NCCL's signature of that
            /// name, valid for as long as the table is used.
            pub(super) unsafe fn from_lookup(lookup: impl Fn(&'static str) -> Option<NonNull<c_void>>) -> Self {
                Self {
                    $(
                        // SAFETY: by this function's contract this is the address of a function of this type.
                        $name: lookup(stringify!($name)).map(|address| unsafe {
                            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($( $ty ),*) -> $out>(address)
                        }),
                    )*
                    $(
                        // SAFETY: as above.
                        $new: lookup(stringify!($new)).map(|address| unsafe {
                            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($( $new_ty ),*) -> $new_out>(address)
                        }),
                    )*
                }
            }

            /// The functions, or the name of the first that is needed and lacking.
            pub(super) fn complete(&self) -> Result<Functions, &'static str> {
                Ok(Functions {
                    $( $name: self.$name.ok_or(stringify!($name))?, )*
                    $( $new: self.$new, )*
                })
            }
        }

        impl Functions {
            /// The functions that are lacking, each with the release that brought it.
            #[must_use]
            pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
                let mut missing = Vec::new();
                $( if self.$new.is_none() { missing.push((stringify!($new), $since)); } )*
                missing
            }
        }
    };
}

nccl_functions! { tables }
