//! Comparisons whose bits are opened under masks; the result is sums of words.

use std::sync::Arc;

use crate::{
    Gate, KeyBundle, PfssError,
    gates::{
        shares::{bits::BitShares, pending::Pending, sums::BundleSums},
        walk::{
            comparison::{Comparison, answers},
            evaluator::Evaluator,
            tree::Trees,
        },
    },
};

/// One comparison for each tree; their bits are opened, one row after the other.
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    comparisons: Vec<Comparison>,
    /// The row of XOR shares with the mask of the first bit.
    first_mask: usize,
    sums: Arc<BundleSums>,
}

impl Compare {
    /// Opens the bits of `comparisons` under the dealer's bits from the first on.
    ///
    /// The result is `sums` over the masked inputs and the opened bits, under the output masks of
    /// `gate` if it has any.
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

    /// The first step, from the masked input of each element.
    pub(in crate::gates) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        bundle: KeyBundle,
        x_hat: Vec<u64>,
    ) -> Result<Pending, PfssError> {
        let points = self.comparisons.iter().map(Comparison::points);
        let lists = self.comparisons.iter().map(Comparison::list);
        let trees = Trees::at(evaluator, &bundle, &x_hat, points, lists, false)?;
        let mut bits = answers(&trees, &self.comparisons)?;
        drop(trees);
        let bits = BitShares::new(bundle.party(), bundle.count(), core::mem::take(&mut *bits));
        Ok(Pending::summed(bundle, &bits, self.first_mask, Some(x_hat), Arc::clone(&self.sums)))
    }
}
