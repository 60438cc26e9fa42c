//! The names of the networks that there are.

use core::fmt;

/// The networks that there are. Public: both parties and the dealer know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Two dense layers of 64 and 10 units with ReLU between them, on 8x8 images.
    Digits,
    /// A transformer block of 4 heads and width 16 with GeLU and layer norms.
    ///
    /// It reads the same images as sequences of 8 rows.
    Transformer,
}

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 2] = [Self::Digits, Self::Transformer];

    /// Its name on a command line and in key folders.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::Transformer => "transformer",
        }
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
