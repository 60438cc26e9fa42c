//! Components: AIRs put into a proof.

use alloc::vec::Vec;
use core::fmt;

use core_types::air::Air;

use crate::statement::{census::Census, out_of_domain::PointRow};

/// An AIR in a proof: its constraints, and which preprocessed columns its slots are.
#[derive(Clone)]
pub struct Component<'a> {
    air: &'a dyn VerifierAir,
    preprocessed: Vec<usize>,
}

/// An [`Air`] on the rows that a verifier has.
trait VerifierAir {
    fn log_rows(&self) -> u32;
    fn log_degree_bound(&self) -> u32;
    fn count(&self, row: &mut Census);
    fn evaluate(&self, row: &mut PointRow<'_>);
}

impl<A: Air> VerifierAir for A {
    fn log_rows(&self) -> u32 {
        Air::log_rows(self)
    }

    fn log_degree_bound(&self) -> u32 {
        Air::log_degree_bound(self)
    }

    fn count(&self, row: &mut Census) {
        self.eval(row);
    }

    fn evaluate(&self, row: &mut PointRow<'_>) {
        self.eval(row);
    }
}

impl<'a> Component<'a> {
    /// The component with the constraints of `air`.
    ///
    /// Slot `k` of the AIR is preprocessed column `preprocessed[k]` of the statement.
    #[must_use]
    pub fn new<A: Air>(air: &'a A, preprocessed: &[usize]) -> Self {
        Self { air, preprocessed: preprocessed.to_vec() }
    }

    pub(crate) fn preprocessed(&self) -> &[usize] {
        &self.preprocessed
    }

    pub(crate) fn log_rows(&self) -> u32 {
        self.air.log_rows()
    }

    pub(crate) fn log_degree_bound(&self) -> u32 {
        self.air.log_degree_bound()
    }

    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        self.air.count(&mut census);
        census
    }

    pub(crate) fn evaluate(&self, row: &mut PointRow<'_>) {
        self.air.evaluate(row);
    }
}

impl fmt::Debug for Component<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("log_rows", &self.log_rows())
            .field("preprocessed", &self.preprocessed)
            .finish_non_exhaustive()
    }
}
