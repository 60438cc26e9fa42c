//! Interaction columns that the host makes.

use core_types::field::{M31, QM31};

/// What the host makes of the challenges that a proof draws: interaction columns, and what is said of them before they are committed to, as
/// claimed sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// What is said, in order.
    pub said: Vec<QM31>,
    /// The interaction columns of all components, one after the other, in stored order.
    pub columns: Vec<Vec<M31>>,
}
