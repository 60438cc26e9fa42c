//! The evaluation plan of a gate.
//!
//! It follows from the gate's shape and its task, and is computed once for all batches.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::table::TablePlan;
use crate::{
    Gate, KeyBundle, MaskedKeys, PfssError, Task,
    gates::{
        shares::{bits::BitShares, pending::Pending, sums::BundleSums},
        walk::{comparison::Comparison, evaluator::Evaluator, inputs::reduced, tree::Trees},
    },
};

/// The evaluation of a gate with additive results.
#[derive(Clone, Debug)]
pub(crate) enum TaskPlan {
    /// Bits of comparisons are opened under masks, and the result is sums of words.
    Compare(Compare),
    /// Every entry of a table is read.
    Look(TablePlan),
}

/// One comparison for each tree; their bits are opened, one row after the other.
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    comparisons: Vec<Comparison>,
    /// The row of XOR shares with the mask of the first bit.
    first_mask: usize,
    sums: Arc<BundleSums>,
}

impl TaskPlan {
    /// Opens the bits of `comparisons` under the dealer's bits from the first on.
    ///
    /// The result is `sums` over the masked inputs and the opened bits, under the output masks of
    /// `gate` if it has any.
    pub(in crate::gates) fn compare(gate: &Gate, comparisons: Vec<Comparison>, sums: BundleSums) -> Self {
        Self::Compare(Compare::new(gate, comparisons, sums))
    }

    /// The first step of the gate.
    ///
    /// The keys are those that the plan was [made for](Task::plan), and there is a masked input for
    /// each element.
    pub(crate) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        MaskedKeys(bundle): MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<Pending, PfssError> {
        let x_hat = reduced(bundle.gate().ring(), x_hat);
        match self {
            Self::Compare(plan) => plan.eval(evaluator, bundle, x_hat),
            Self::Look(table) => table.eval(evaluator, bundle, &x_hat),
        }
    }
}

impl Compare {
    /// As [`TaskPlan::compare`].
    pub(in crate::gates) fn new(gate: &Gate, comparisons: Vec<Comparison>, sums: BundleSums) -> Self {
        Self { comparisons, first_mask: 0, sums: Arc::new(sums.under_output_masks(gate)) }
    }

    /// The comparisons of the trees, in their order.
    pub(crate) fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// The same plan, with the masks of bits from row `first_mask` on.
    pub(in crate::gates) fn with_first_mask(self, first_mask: usize) -> Self {
        Self { first_mask, ..self }
    }

    fn eval<W: Evaluator>(&self, evaluator: &W, bundle: KeyBundle, x_hat: Vec<u64>) -> Result<Pending, PfssError> {
        let trees = Trees::at(evaluator, &bundle, &x_hat)?;
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

impl MaskedKeys {
    /// The first step of a task, planned and checked here.
    pub(in crate::gates) fn eval<W: Evaluator>(
        self,
        evaluator: &W,
        task: Task<'_>,
        x_hat: &[u64],
    ) -> Result<Pending, PfssError> {
        task.check_keys(&self.0, x_hat.len())?;
        task.plan(self.gate())?.eval(evaluator, self, x_hat.to_vec())
    }
}
