//! Plans that are kept, so that a shape is planned once and not for every batch.

use core::fmt;
use std::sync::Arc;

use super::plan::TaskPlan;
use crate::{Gate, PfssError, Task};

/// A cache of the last plans made, by gate and by public facts.
///
/// A program evaluates the same shapes again and again.
struct PlanCache<P>(Vec<(Gate, Vec<u64>, Arc<P>)>);

impl<P> PlanCache<P> {
    /// More shapes than a layer has; the oldest makes room for a new one.
    const MOST: usize = 64;

    /// The plan for `gate` and `facts`, which say everything else that `plan` depends on.
    fn get(
        &mut self,
        gate: &Gate,
        facts: &[u64],
        plan: impl FnOnce() -> Result<P, PfssError>,
    ) -> Result<Arc<P>, PfssError> {
        if let Some((.., known)) = self.0.iter().find(|(of, asked, _)| of == gate && asked == facts) {
            return Ok(Arc::clone(known));
        }
        let plan = Arc::new(plan()?);
        if self.0.len() == Self::MOST {
            self.0.remove(0);
        }
        self.0.push((gate.clone(), facts.to_vec(), Arc::clone(&plan)));
        Ok(plan)
    }
}

impl<P> Default for PlanCache<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> fmt::Debug for PlanCache<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PlanCache").field(&self.0.len()).finish()
    }
}

/// The plans of one evaluator.
#[derive(Debug, Default)]
pub(crate) struct AllPlans {
    tasks: PlanCache<TaskPlan>,
    /// XOR shares of predicates, with the facts of additive shares.
    bits: PlanCache<TaskPlan>,
}

impl AllPlans {
    /// The plan of `task`, which has these [facts](Task::facts), for keys of `gate`.
    pub(crate) fn of(&mut self, gate: &Gate, task: Task<'_>, facts: &[u64]) -> Result<Arc<TaskPlan>, PfssError> {
        let plans = if let Task::PredicateBits(_) = task { &mut self.bits } else { &mut self.tasks };
        plans.get(gate, facts, || task.plan(gate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_planned_once_until_many_others_were() {
        let gates = [Gate::relu(64).unwrap(), Gate::relu(64).unwrap().with_masked_outputs().unwrap()];
        let (mut plans, mut made) = (PlanCache::default(), Vec::new());
        let mut get = |gate: usize, fact: u64| {
            let plan = plans.get(&gates[gate], &[fact], || {
                made.push((gate, fact));
                Ok((gate, fact))
            });
            assert_eq!(*plan.unwrap(), (gate, fact));
        };
        for fact in [1, 2, 1, 2] {
            get(0, fact);
            get(1, fact);
        }
        // one more than there is room for, so that the first has to be planned again
        (3..PlanCache::<()>::MOST as u64).for_each(|fact| get(0, fact));
        get(0, 1);
        let expected = [(0, 1), (1, 1), (0, 2), (1, 2)].into_iter();
        let others = (3..PlanCache::<()>::MOST as u64).map(|fact| (0, fact));
        assert_eq!(made, expected.chain(others).chain([(0, 1)]).collect::<Vec<_>>());
    }

    #[test]
    fn a_plan_that_is_refused_is_not_kept() {
        let (gate, mut plans) = (Gate::relu(64).unwrap(), PlanCache::default());
        assert!(plans.get(&gate, &[], || Err(PfssError::Program)).is_err());
        assert_eq!(*plans.get(&gate, &[], || Ok(7)).unwrap(), 7);
    }
}
