//! Each class is flushed at most once in a phase.

use crate::error::{BatchError, Class};

/// Limits each phase to one grouped flush of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhasePlanner {
    phase: u64,
    flushed: [bool; 2],
}

impl PhasePlanner {
    /// Number of the phase, from 1 on; 0 before the first.
    #[must_use]
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// Begins the next phase.
    pub fn start(&mut self) {
        *self = Self { phase: self.phase + 1, flushed: [false; 2] };
    }

    /// Notes the flush of `class`.
    ///
    /// # Errors
    /// [`BatchError::FlushedTwice`] if the phase has flushed it already.
    pub fn flush(&mut self, class: Class) -> Result<(), BatchError> {
        let flushed = &mut self.flushed[class.index()];
        if core::mem::replace(flushed, true) { Err(BatchError::FlushedTwice { class }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_flushes_each_class_once() {
        let mut phase = PhasePlanner::default();
        for number in 1..=3 {
            phase.start();
            assert_eq!(phase.phase(), number);
            assert_eq!(phase.flush(Class::Trunc), Ok(()));
            assert_eq!(phase.flush(Class::Coeff), Ok(()));
            assert_eq!(phase.flush(Class::Trunc), Err(BatchError::FlushedTwice { class: Class::Trunc }));
        }
    }
}
