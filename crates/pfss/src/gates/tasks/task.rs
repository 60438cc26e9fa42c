//! Whether keys are those that a task needs, and how it is evaluated with them.

use super::{evaluation::evaluation, plan::TaskPlan};
use crate::{Gate, KeyBundle, PfssError, Task};

impl Task<'_> {
    /// Checks that the keys are for the task and for `count` elements.
    ///
    /// Their gate must fit the task, in the ring of its certificate.
    pub(crate) fn check_keys(&self, bundle: &KeyBundle, count: usize) -> Result<(), PfssError> {
        let kind = match self {
            Self::Predicates(_) => bundle.gate().kind(), // each names the kind that it needs
            _ => self.describe().0,
        };
        bundle.check_use(kind, count)?;
        match self {
            // not among the facts, by which plans are kept
            Self::GapArs(cert) if cert.n() != bundle.gate().n() => {
                Err(PfssError::CertWidth { expected: bundle.gate().n(), got: cert.n() })
            }
            _ => Ok(()),
        }
    }

    /// The evaluation plan of the task with keys of `gate`.
    ///
    /// The keys [fit](Self::check_keys). Every other mismatch is refused.
    pub(crate) fn plan(&self, gate: &Gate) -> Result<TaskPlan, PfssError> {
        evaluation(gate).plan(gate, self)
    }

    /// The task is not for keys of `gate`.
    pub(crate) fn not_for(&self, gate: &Gate) -> PfssError {
        if let (Self::Predicates(predicates), 0) = (self, gate.masks())
            && !predicates.is_empty()
        {
            return PfssError::Length { what: "predicates", expected: 0, got: predicates.len() };
        }
        PfssError::Kind { expected: self.describe().0, got: gate.kind() }
    }
}
