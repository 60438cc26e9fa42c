//! The weights of gated recurrent units.

use core_types::params::recurrent::{GruParams, GruVariant};

use crate::{
    BackendError, Queue, Real,
    ops::{linalg::shape::elements, op::views},
};

views! {
    /// The weights of all members.
    ///
    /// Columns are ordered: update gate z, reset gate r, candidate c. 16-bit weights are widened
    /// when used: states, gates and sums are f32.
    pub struct GruLayer<'a, Q, T: Real> {
        /// `[members, input, 3 hidden]`.
        w: read T,
        /// `[members, hidden, 3 hidden]`.
        u: read T,
        /// `[members, 3 hidden]`.
        b: read T,
        /// Added to the candidate's product with U, `[members, hidden]`.
        ///
        /// Present if and only if the reset comes after that product.
        bu: read_if T,
    }
}

impl<'a, Q: Queue + 'a, T: Real> Clone for GruLayer<'a, Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a, T: Real> Copy for GruLayer<'a, Q, T> {}

impl<Q: Queue, T: Real> GruLayer<'_, Q, T> {
    /// The lengths of the four views.
    pub(super) fn lengths(p: &GruParams) -> [usize; 4] {
        let GruParams { members, input, hidden, .. } = *p;
        let of = |rows| elements(&[members, rows, 3, hidden]);
        [of(input), of(hidden), of(1), elements(&[members, hidden])]
    }

    /// Refuses weights of another variant.
    pub(super) fn check_variant(&self, op: &'static str, p: &GruParams) -> Result<(), BackendError> {
        if self.bu.is_some() == (p.variant == GruVariant::ResetAfter) {
            return Ok(());
        }
        Err(BackendError::Unsupported { op, why: "expected `bu` with `ResetAfter` and with no other variant" })
    }
}
