//! Components: AIRs put into a proof.

use core_types::air::Air;
use stark_air::{RecordError, Recorded};

/// An AIR in a proof.
///
/// It has its constraints, recorded once, and the preprocessed column of each slot.
#[derive(Clone, Debug)]
pub struct Component {
    pub(crate) air: Recorded,
    pub(crate) preprocessed: Vec<usize>,
}

impl Component {
    /// The component with the constraints of `air`.
    ///
    /// Slot `k` of the AIR is preprocessed column `preprocessed[k]` of the statement.
    ///
    /// # Errors
    /// Why the AIR cannot be recorded.
    pub fn new<A: Air>(air: &A, preprocessed: &[usize]) -> Result<Self, RecordError> {
        Ok(Self { air: Recorded::new(air)?, preprocessed: preprocessed.to_vec() })
    }

    /// The AIR, recorded.
    #[must_use]
    pub const fn air(&self) -> &Recorded {
        &self.air
    }
}
