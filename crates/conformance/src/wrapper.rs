//! The op sets of the queues that wrap another: their views are views of the queue that they wrap, and each wrapper says how
//! it submits to that queue.

use backend_api::{BackendError, Element, Mut, Queue, Real, Record, Ref, ops::MapViews};

use crate::{Guarded, Recorded};

/// The same views, which are of the wrapped queue.
struct Unwrapped;

/// The views of a wrapper, whose queue has this bound.
macro_rules! unwrap {
    ($wrapper:ident: $bound:ident) => {
        impl<Q: Queue + $bound> MapViews<$wrapper<Q>, Q> for Unwrapped {
            fn read<'a, T: Element + 'a>(
                &mut self,
                _: &'static str,
                view: Ref<'a, Q, T>,
            ) -> Result<Ref<'a, Q, T>, BackendError>
            where
                Q: 'a,
            {
                Ok(view)
            }

            fn write<'a, T: Element + 'a>(
                &mut self,
                _: &'static str,
                view: Mut<'a, Q, T>,
            ) -> Result<Mut<'a, Q, T>, BackendError>
            where
                Q: 'a,
            {
                Ok(view)
            }
        }
    };
}

unwrap!(Guarded: Clone);
unwrap!(Recorded: Record);

/// An op set of a wrapper, whose queue has this bound.
macro_rules! submit {
    ($module:ident::$set:ident for $wrapper:ident: $bound:ident {
        $($method:ident $(<$t:ident>)? ($record:ident),)*
    }) => {
        impl<Q: backend_api::ops::$module::$set + $bound> backend_api::ops::$module::$set for $wrapper<Q> {
            $(
                fn $method $(<$t: Real>)? (
                    &self,
                    op: backend_api::ops::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError> {
                    let op = op.map(&mut Unwrapped)?;
                    self.submit(|queue| queue.$method(op))
                }
            )*
        }
    };
}

macro_rules! guarded {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident),)* }) => {
        submit!($module::$set for Guarded: Clone { $($method $(<$t>)? ($record),)* });
    };
}

backend_api::op_sets!(guarded);

macro_rules! recorded {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident),)* }) => {
        submit!($module::$set for Recorded: Record { $($method $(<$t>)? ($record),)* });
    };
}

backend_api::op_sets!(recorded);
