//! The weights of gated recurrent units.

use core_types::params::recurrent::GruParams;

use crate::{Real, ops::op::views};

views! {
    /// The weights of all members.
    ///
    /// Columns are ordered: update gate z, reset gate r, candidate c. 16-bit weights are widened
    /// when used: states, gates and sums are f32.
    pub struct GruLayer<'a, Q, T: Real> {
        /// The weights of the features.
        w: read T [members, input, 3, hidden],
        /// The weights of the state.
        u: read T [members, hidden, 3, hidden],
        /// The biases.
        b: read T [members, 3, hidden],
        /// Added to the candidate's product with U.
        ///
        /// Present if and only if the reset comes after that product.
        bu: read_if T [members, hidden],
    }
    sizes(params: &GruParams) {
        let GruParams { members, input, hidden, .. } = *params;
    }
}
