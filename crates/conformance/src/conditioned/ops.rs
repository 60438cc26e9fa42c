//! The op sets of the queue that cases run on: its views are views of the queue inside.

use backend_api::{Real, ops::Op as _};
use runtime::AnyQueue;

use super::{
    BackendError, Conditioned,
    short::{Borrowed, GivenViews, OnInner, OpAction},
};

/// Implements an op set by submitting each op to the wrapped queue.
///
/// Before a valid op, the wrapped queue must refuse it with a view one element short, unless the
/// op's check allows that. Whatever does not depend on the op is in
/// [`submit_op`](Conditioned::submit_op), which is compiled once.
macro_rules! submit {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)* }) => {
        impl backend_api::ops::$module::$set for Conditioned {
            $(
                fn $method $(<$t: Real>)? (
                    &self,
                    mut op: backend_api::ops::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError> {
                    let mut views = GivenViews::default();
                    op.each_view(&mut views.see());
                    self.submit_op(stringify!($method), &views, &mut |step, short| {
                        let op = op.lend::<Borrowed>().map::<AnyQueue>(&mut OnInner::new(short))?;
                        match step {
                            OpAction::Check => op.check().map(drop),
                            OpAction::Run(queue) => queue.$method(op),
                        }
                    })
                }
            )*
        }
    };
}

backend_api::op_sets!(submit);
