//! The op sets of the queue that cases run on: its views are views of the queue inside.

use backend_api::{BackendError, Element, Real, ops::MapViews};
use runtime::{AnyMut, AnyQueue, AnyRef};

use super::{
    Conditioned,
    short::{Borrowed, Short},
};

/// The same views, which are of the queue inside.
struct Unwrapped;

impl MapViews<Conditioned, AnyQueue> for Unwrapped {
    fn read<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyRef<'a, T>,
    ) -> Result<AnyRef<'a, T>, BackendError> {
        Ok(view)
    }

    fn write<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyMut<'a, T>,
    ) -> Result<AnyMut<'a, T>, BackendError> {
        Ok(view)
    }
}

/// Implements an op set by submitting each op to the wrapped queue.
///
/// Before a valid op, the wrapped queue must refuse it with a view one element short, unless the
/// op's check allows that.
macro_rules! submit {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)* }) => {
        impl backend_api::ops::$module::$set for Conditioned {
            $(
                fn $method $(<$t: Real>)? (
                    &self,
                    op: backend_api::ops::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError> {
                    let mut op = op.map(&mut Unwrapped)?;
                    for (at, view) in self.to_shorten(&op) {
                        let is_valid = op.check().is_ok();
                        let short = op.lend::<Borrowed>().map(&mut Short::new(at))?;
                        if is_valid && short.check().is_err() {
                            self.note_short(stringify!($method), view, self.queue.$method(short));
                        }
                    }
                    self.submit(|queue| queue.$method(op))
                }
            )*
        }
    };
}

backend_api::op_sets!(submit);
