//! How a gate is evaluated: everything that follows from its shape and from what it is asked, made once for all batches.

use core::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    BitShares, Pending, comparison::Comparison, intervals::PowersPlan, lut::Table, suf::SufPlan, sums::Sums,
    tree::Trees, walk::Walk,
};
use crate::{Gate, KeyBundle, MaskedKeys, PfssError, Ring, Task};

/// The evaluation of a gate with additive results.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Bits of comparisons are opened under masks, and the result is sums of words.
    Compare(Compare),
    /// Every entry of a table is read.
    Look(Table),
}

/// One comparison for each tree; their bits are opened, one row after the other.
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    comparisons: Vec<Comparison>,
    /// The row of XOR shares with the mask of the first bit.
    first_mask: usize,
    sums: Arc<Sums>,
}

impl Plan {
    /// Opens the bits of `comparisons` under the dealer's bits from the first on; `sums` over the masked inputs and what is
    /// opened are the result, under the output masks of `gate` if it has such.
    pub(super) fn compare(gate: &Gate, comparisons: Vec<Comparison>, sums: Sums) -> Self {
        Self::Compare(Compare::new(gate, comparisons, sums))
    }

    /// The first step of the gate. The keys are those that the plan was [made for](Task::plan), and there is a masked input
    /// for each element.
    pub(crate) fn eval<W: Walk>(
        &self,
        walk: &W,
        MaskedKeys(bundle): MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<Pending, PfssError> {
        let x_hat = reduced(bundle.gate().ring(), x_hat);
        match self {
            Self::Compare(plan) => plan.eval(walk, bundle, x_hat),
            Self::Look(table) => table.eval(walk, bundle, &x_hat),
        }
    }
}

impl Compare {
    /// As [`Plan::compare`].
    pub(super) fn new(gate: &Gate, comparisons: Vec<Comparison>, sums: Sums) -> Self {
        Self { comparisons, first_mask: 0, sums: Arc::new(sums.under_output_masks(gate)) }
    }

    /// Those of the trees, in their order.
    pub(crate) fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// The same with the masks of bits from row `first_mask` on.
    pub(super) fn with_first_mask(self, first_mask: usize) -> Self {
        Self { first_mask, ..self }
    }

    fn eval<W: Walk>(&self, walk: &W, bundle: KeyBundle, x_hat: Vec<u64>) -> Result<Pending, PfssError> {
        let trees = Trees::at(walk, &bundle, &x_hat)?;
        let answers = self.comparisons.iter().enumerate().map(|(index, comparison)| comparison.eval(&trees, index));
        let mut answers: Vec<Zeroizing<Vec<u32>>> = answers.collect::<Result<_, _>>()?;
        drop(trees);
        let bits = match &mut answers[..] {
            [only] => core::mem::take(&mut **only),
            all => all.iter().map(|bits| &bits[..]).collect::<Vec<_>>().concat(), // of the full capacity at once
        };
        let bits = BitShares::new(bundle.party(), bundle.count(), bits);
        Ok(Pending::summed(bundle, &bits, self.first_mask, Some(x_hat), Arc::clone(&self.sums)))
    }
}

/// Words of which the low bits count as elements of `ring`.
pub(super) fn reduced(ring: Ring, mut words: Vec<u64>) -> Vec<u64> {
    words.iter_mut().for_each(|word| *word = ring.reduce(*word));
    words
}

impl MaskedKeys {
    /// The first step of a task, planned and checked here.
    pub(super) fn eval<W: Walk>(self, walk: &W, task: Task<'_>, x_hat: &[u64]) -> Result<Pending, PfssError> {
        task.check_keys(&self.0, x_hat.len())?;
        task.plan(self.gate())?.eval(walk, self, x_hat.to_vec())
    }
}

/// What was planned last, by gates and what they are asked: a program evaluates the same shapes again and again.
pub(crate) struct Plans<P>(Vec<(Gate, Vec<u64>, Arc<P>)>);

impl<P> Plans<P> {
    /// More shapes than a layer has; the oldest makes room for a further one.
    const MOST: usize = 64;

    /// The plan for `gate` that is asked `facts`, which say all that `plan` depends on besides.
    pub(crate) fn get(
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

impl<P> Default for Plans<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> fmt::Debug for Plans<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plans").field(&self.0.len()).finish()
    }
}

/// The plans of one who evaluates gates: those of tasks, of descriptors, and of gates that have no result of their own.
#[derive(Debug, Default)]
pub(crate) struct AllPlans {
    tasks: Plans<Plan>,
    sufs: Plans<SufPlan>,
    /// XOR shares of predicates.
    pub(crate) bits: Plans<Comparison>,
    pub(crate) powers: Plans<PowersPlan>,
}

impl AllPlans {
    /// The plan of `task`, which has these [facts](Task::facts), for keys of `gate`.
    pub(crate) fn task(&mut self, gate: &Gate, task: Task<'_>, facts: &[u64]) -> Result<Arc<Plan>, PfssError> {
        self.tasks.get(gate, facts, || task.plan(gate))
    }

    /// The plan of the descriptor that `gate` is.
    pub(crate) fn suf(&mut self, gate: &Gate) -> Result<Arc<SufPlan>, PfssError> {
        self.sufs.get(gate, &[], || SufPlan::new(gate))
    }
}
