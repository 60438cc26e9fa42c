//! The tables of all sets, and the traits that they make.

use crate::{BackendError, Queue, Real};

/// Passes the op sets, one by one, to a macro of the caller.
///
/// A set comes with its trait, its supertrait, and its methods, each with its record and the value
/// that the record's `check` returns; this table opens the file of the set. Wrappers of queues
/// implement all sets this way; a backend does by `op_sets!(checked CpuQueue)`: see
/// [`checked!`](crate::checked!).
#[macro_export]
macro_rules! op_sets {
    ($with:ident $($queue:ident)?) => {
        $crate::circle_ops! { $with $($queue)? }
        $crate::merkle_ops! { $with $($queue)? }
        $crate::channel_ops! { $with $($queue)? }
        $crate::deep_ops! { $with $($queue)? }
        $crate::fri_ops! { $with $($queue)? }
        $crate::air_ops! { $with $($queue)? }
        $crate::share_ops! { $with $($queue)? }
        $crate::fss_ops! { $with $($queue)? }
        $crate::correction_ops! { $with $($queue)? }
        $crate::factor_ops! { $with $($queue)? }
        $crate::elementwise_ops! { $with $($queue)? }
        $crate::gemm_ops! { $with $($queue)? }
        $crate::row_ops! { $with $($queue)? }
        $crate::attention_ops! { $with $($queue)? }
        $crate::loss_ops! { $with $($queue)? }
        $crate::optim_ops! { $with $($queue)? }
        $crate::recurrent_ops! { $with $($queue)? }
        $crate::tensor_ops! { $with $($queue)? }
    };
}

/// Implements an op set for a queue of a backend, with the check of each op.
///
/// The methods come from a trait of the same name, which this defines in the backend's crate: they
/// run on checked ops, and get the value that `check` returned. An op that is generic in the
/// element type is compiled for each type in that crate ([`RealOp`](crate::RealOp)).
#[macro_export]
macro_rules! checked {
    ([$queue:ident] $(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
        $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
    }) => {
        #[doc = concat!("[`", stringify!($set), "`](backend_api::ops::", stringify!($module), "::", stringify!($set), ") on checked ops.")]
        pub(crate) trait $set: $crate::Queue {
            $(
                fn $method $(<$t: $crate::Real>)? (
                    &self,
                    op: $crate::ops::$module::$record<'_, Self $(, $t)?>,
                    $(shape: $crate::ops::$module::$shape,)?
                ) -> Result<(), $crate::BackendError>;
            )*
        }

        impl $crate::ops::$module::$set for $queue {
            $($crate::checked!(@method $queue $set $module $method $record $($t)? $(-> $shape)?);)*
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident) => {
        fn $method(&self, op: $crate::ops::$module::$record<'_, Self>) -> Result<(), $crate::BackendError> {
            op.check()?;
            $set::$method(self, op)
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident -> $shape:ident) => {
        fn $method(&self, op: $crate::ops::$module::$record<'_, Self>) -> Result<(), $crate::BackendError> {
            let shape = op.check()?;
            $set::$method(self, op, shape)
        }
    };
    (@method $queue:ident $set:ident $module:ident $method:ident $record:ident $t:ident) => {
        $crate::real_op!($method, $queue, $module::$record, {
            fn run<$t: $crate::Real>(
                q: &$queue,
                op: $crate::ops::$module::$record<'_, $queue, $t>,
            ) -> Result<(), $crate::BackendError> {
                op.check()?;
                $set::$method(q, op)
            }
            run
        });
    };
}

/// The trait of an op set.
macro_rules! define {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
        $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
    }) => {
        $(#[$doc])*
        pub trait $set: $super {
            $(
                #[doc = concat!("Runs a [`", stringify!($record), "`](super::", stringify!($module), "::", stringify!($record), ").")]
                ///
                /// # Errors
                /// Errors of the record's `check`, and errors that the device reports.
                fn $method $(<$t: Real>)? (
                    &self,
                    op: super::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError>;
            )*
        }
    };
}

op_sets!(define);
