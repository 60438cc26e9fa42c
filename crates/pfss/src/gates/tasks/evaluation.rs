//! The trait by which each kind of gate plans a task.

use super::plan::TaskPlan;
use crate::{Gate, PfssError, Task, gate::each_gate};

/// The evaluation of a gate, from its parameters.
pub(in crate::gates) trait GateEvaluation {
    /// Plans `task` for keys of `gate`, which has these parameters.
    ///
    /// Rejects tasks of other gates; a gate without a task rejects all.
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        Err(task.not_for(gate))
    }
}

/// The evaluation of `gate`, by its kind.
pub(super) fn evaluation(gate: &Gate) -> &dyn GateEvaluation {
    each_gate!(gate.definition(), gate => gate)
}
