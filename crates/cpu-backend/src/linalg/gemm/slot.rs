//! Slots of panels.

use crate::simd::floats::TermPair;

/// Lines of a panel.
pub(super) const LINES: usize = 16;

/// A slot that may hold no terms.
pub(super) trait Empty: Copy {
    /// No terms.
    const ZERO: Self;
}

impl Empty for f32 {
    const ZERO: Self = 0.0;
}

impl Empty for TermPair {
    const ZERO: Self = Self::ZERO;
}
