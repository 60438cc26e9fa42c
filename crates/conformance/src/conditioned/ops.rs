//! The op sets of the queue that cases run on: its views are views of the queue inside.

use backend_api::{BackendError, Element, Mut, Real, Record, Ref, ops::MapViews};

use super::Conditioned;

/// The same views, which are of the queue inside.
struct Unwrapped;

impl<Q: Record + Clone> MapViews<Conditioned<Q>, Q> for Unwrapped {
    fn read<'a, T: Element + 'a>(&mut self, _: &'static str, view: Ref<'a, Q, T>) -> Result<Ref<'a, Q, T>, BackendError>
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

/// An op set, each op of which is submitted to the queue inside.
macro_rules! submit {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident),)* }) => {
        impl<Q: backend_api::ops::$module::$set + Record + Clone> backend_api::ops::$module::$set for Conditioned<Q> {
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

backend_api::op_sets!(submit);
