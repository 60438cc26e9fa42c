//! The weights of gated recurrent units.

use core_types::params::recurrent::{GruParams, GruVariant};

use crate::{
    BackendError, Queue,
    ops::{linalg::shape::elements, op::views},
};

views! {
    /// The weights of all members. The columns of the update gate z stand first, then those of the reset gate r and of the
    /// candidate c.
    pub struct GruLayer<'a, Q> {
        /// `[members, input, 3 hidden]`.
        w: read f32,
        /// `[members, hidden, 3 hidden]`.
        u: read f32,
        /// `[members, 3 hidden]`.
        b: read f32,
        /// `[members, hidden]`, added to the candidate's product with U; there if and only if the reset comes after it.
        bu: read_if f32,
    }
}

impl<'a, Q: Queue + 'a> Clone for GruLayer<'a, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a> Copy for GruLayer<'a, Q> {}

impl<Q: Queue> GruLayer<'_, Q> {
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
        Err(BackendError::Unsupported { op, why: "bu belongs to a reset after the product, and to no other" })
    }
}
