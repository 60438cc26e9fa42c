//! Interaction columns that the host makes.

use core_types::field::{M31, QM31};

/// What the host makes of the challenges that a proof draws: interaction columns, and what goes with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interaction {
    /// The claimed sum of each component, zero where it has no look-ups; none if no component has any. They are not said by
    /// themselves.
    pub claimed_sums: Vec<QM31>,
    /// What is said before the columns are committed to, in order and at once: claimed sums, say.
    pub said: Vec<QM31>,
    /// The interaction columns of all components, one after the other, in stored order.
    pub columns: Vec<Vec<M31>>,
}
