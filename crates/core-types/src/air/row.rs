//! Rows and the AIRs that read them.

use super::{BaseValue, ExtensionValue, Fraction};

/// A commitment tree of a proof, by its place in the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tree(pub u32);

impl Tree {
    /// Columns that belong to the AIR and not to a trace.
    ///
    /// Rows read them by [`Row::preprocessed`].
    pub const PREPROCESSED: Self = Self(0);
    /// The trace.
    pub const TRACE: Self = Self(1);
    /// Interaction columns: they depend on challenges drawn after the trace commitment.
    ///
    /// Lookup columns are an example.
    pub const INTERACTION: Self = Self(2);
}

/// A row of a trace, as an AIR sees it.
///
/// Columns are handed out in order, once each: the `k`-th call of [`mask`](Self::mask) for a tree
/// reads column `k` of the component in that tree. The required methods are what an evaluator
/// supplies; the others write on top of them what every evaluator must agree on.
pub trait Row {
    /// Values of columns.
    type F: BaseValue;
    /// Values of challenges, and values computed from them.
    type E: ExtensionValue<Self::F>;

    /// The next column of `tree`, at the rows with these offsets from the one at hand.
    ///
    /// Rows wrap around.
    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [Self::F; K];

    /// The preprocessed column in `slot`.
    ///
    /// Slots number the preprocessed columns that the AIR reads. A statement maps slots to columns
    /// of the tree, so that components can share columns.
    fn preprocessed(&mut self, slot: u32) -> Self::F;

    /// The challenge in `slot`.
    ///
    /// Challenges stand in memory, not in the AIR, so that what was compiled or recorded for one
    /// proof serves the next.
    fn challenge(&mut self, slot: u32) -> Self::E;

    /// The component's claimed sum of all its fractions, divided by its number of rows.
    fn mean(&mut self) -> Self::E;

    /// States that `value` is zero on every row.
    fn constraint(&mut self, value: Self::F);

    /// States that `value` is zero on every row.
    fn constraint_ext(&mut self, value: Self::E);

    /// The next column of the trace, at the row at hand.
    #[inline]
    fn column(&mut self) -> Self::F {
        let [value] = self.mask(Tree::TRACE, [0]);
        value
    }

    /// The next four columns of `tree` as the coordinates of one of the secure field.
    #[inline]
    fn mask_ext<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [Self::E; K] {
        let columns = [(); 4].map(|()| self.mask(tree, offsets));
        core::array::from_fn(|k| Self::E::from_coordinates(columns.map(|column| column[k])))
    }

    /// Constrains the next interaction column to the sum of this row's fractions so far.
    ///
    /// The sum is the value of `previous` plus `fraction`. Evaluators that generate the columns
    /// take the fraction here.
    #[inline]
    fn partial_sum(&mut self, previous: Option<Self::E>, fraction: Fraction<Self::E>) -> Self::E {
        let [current] = self.mask_ext(Tree::INTERACTION, [0]);
        let step = previous.map_or(current, |previous| current - previous);
        self.constraint_ext(step * fraction.denominator - fraction.numerator);
        current
    }

    /// Constrains the next interaction column to the running sum over the rows.
    ///
    /// The column is the sum over all rows up to this one, less the mean for each row. It
    /// returns to its start after the last row, so one constraint serves every row.
    #[inline]
    fn running_sum(&mut self, previous: Option<Self::E>, fraction: Fraction<Self::E>) {
        let [row_before, current] = self.mask_ext(Tree::INTERACTION, [-1, 0]);
        let step = current - row_before;
        let step = previous.map_or(step, |previous| step - previous) + self.mean();
        self.constraint_ext(step * fraction.denominator - fraction.numerator);
    }
}

/// Constraints on the rows of a trace: one component of a proof.
pub trait Air {
    /// Log of the number of rows, at least 1.
    fn log_rows(&self) -> u32;

    /// Log of a bound on the degree of the constraint quotients.
    ///
    /// The quotients are the constraints divided by the vanishing polynomial of the rows. The bound
    /// is one more than [`log_rows`](Self::log_rows) for products of up to three columns, the most
    /// that stwo 2.3 can prove.
    #[inline]
    fn log_degree_bound(&self) -> u32 {
        self.log_rows().saturating_add(1)
    }

    /// Reads a row and states the constraints.
    ///
    /// Which columns, offsets and constraints there are depends on `self` alone.
    fn eval<R: Row>(&self, row: &mut R);
}
