//! Interaction columns that the host makes.

use core_types::field::{M31, QM31};

/// Interaction columns computed on the host from drawn challenges, with their claimed sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interaction {
    /// The claimed sum of each component, zero if it has no look-ups.
    ///
    /// Empty if no component has any. Claimed sums are not absorbed automatically.
    pub claimed_sums: Vec<QM31>,
    /// Elements absorbed at once before the commitment to the columns, such as claimed sums.
    pub absorbed: Vec<QM31>,
    /// The interaction columns of all components, one after the other, in stored order.
    pub columns: Vec<Vec<M31>>,
}
