//! The purpose of a forward pass.

/// The purpose of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is saved and nothing is dropped.
    Inference,
    /// Values are saved for a backward pass, and dropout drops elements.
    Training {
        /// The training step, which chooses the masks of dropout.
        step: u32,
    },
}

impl Mode {
    /// Whether values are saved for a backward pass.
    #[must_use]
    pub fn is_training(self) -> bool {
        matches!(self, Self::Training { .. })
    }
}
