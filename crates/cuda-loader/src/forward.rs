//! Macros that expand the generated lists.

/// Expands the list of typed functions to callers and C symbols.
///
/// Each function has a caller, and the functions that `cust_raw` imports also have a C symbol.
///
/// The list's `forward` part are functions `cust_raw` imports; its `own` part are newer ones, each
/// with the CUDA release that brought it.
macro_rules! callers {
    (
        forward { $( $fwd:ident ( $( $fwd_arg:ident : $fwd_ty:ty ),* ); )* }
        own { $( $own:ident ( $( $own_arg:ident : $own_ty:ty ),* ) since $since:literal; )* }
    ) => {
        $(
            callers!(@call $fwd ( $( $fwd_arg : $fwd_ty ),* ));
        )*
        $(
            callers!(@call $own ( $( $own_arg : $own_ty ),* ));
        )*

        /// The C symbols.
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver API's own names and signatures")]
        mod symbols {
            use super::*;

            $(
                // SAFETY: no other definition of the symbol is linked: `CUDA_LIBRARY_PATH` names an empty archive.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $fwd($( $fwd_arg: $fwd_ty ),*) -> i32 {
                    // SAFETY: the caller keeps the contract of the driver function, which this passes on.
                    unsafe { super::$fwd($( $fwd_arg ),*) }.closed()
                }
            )*
        }
    };
    (@call $name:ident ( $( $arg:ident : $ty:ty ),* )) => {
        #[doc = concat!("Calls `", stringify!($name), "` of the chosen driver.")]
        ///
        /// # Safety
        /// Arguments are as the CUDA driver API requires of the function.
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver API's own names and signatures")]
        #[inline]
        pub unsafe fn $name($( $arg: $ty ),*) -> Status {
            let driver = $crate::driver::state::chosen();
            match driver.table.$name {
                // SAFETY: the table holds the driver's function of this name; the caller keeps its contract.
                Some(function) => unsafe { function($( $arg ),*) },
                None => driver.lacks(stringify!($name)),
            }
        }
    };
}

/// Expands a list of names to C symbols that refuse every call.
macro_rules! stubs {
    ($( $name:ident )*) => {$(
        // SAFETY: no other definition of the symbol is linked: `CUDA_LIBRARY_PATH` names an empty archive. The caller's
        // arguments are ignored, which every C calling convention of a supported target permits.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the driver API's own name")]
        extern "C" fn $name() -> i32 {
            $crate::driver::state::chosen().lacks(stringify!($name)).closed()
        }
    )*};
}

pub(crate) use {callers, stubs};
