//! Statements: the claim of a proof, independent of concrete AIRs.

use alloc::vec::Vec;

use core_types::{
    air::{Air, Relation},
    field::{M31, QM31},
};

/// A column that belongs to a statement, and not to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreprocessedColumn {
    /// Its name, unique in its statement.
    pub name: &'static str,
    /// Log of the number of its rows.
    pub log_rows: u32,
}

/// Takes the components of a statement, whatever their AIRs are.
pub trait Visitor<'s> {
    /// Takes the next component: its constraints and its preprocessed columns.
    ///
    /// Slot `k` of the AIR is column `preprocessed[k]` of the statement.
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]);
}

/// The claim of a proof.
///
/// The transcript of a proof takes from it, in this order: the root of the preprocessed columns,
/// [`words`](Self::words), the root of the trace, the challenges of the
/// [`relations`](Self::relations), the claimed sum of each component and the root of the
/// interaction columns. Without relations there are no sums and no interaction tree.
pub trait Statement {
    /// Hands over the components, in the order of their columns and constraints.
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>);

    /// The preprocessed columns, in the order of their tree.
    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        Vec::new()
    }

    /// The values of the preprocessed columns, in the same order.
    ///
    /// Each column is stored as [`TraceColumns`](crate::TraceColumns) are.
    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        Vec::new()
    }

    /// The relations, in the order in which their challenges are drawn.
    ///
    /// The slots of each follow the slots of the relation before it, from 0.
    fn relations(&self) -> &'static [Relation] {
        &[]
    }

    /// The public values, as words.
    ///
    /// The trace depends on them, so they enter the transcript before any challenge.
    fn public_words(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The required total of the claimed sums.
    ///
    /// `challenges` are in the slots of the relations. It balances the public side of the look-ups.
    /// `None` if the challenges leave a public value without a fraction, which is as likely as a
    /// false proof.
    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let _ = challenges;
        Some(QM31::ZERO)
    }

    /// Logs of the numbers of rows of the components, in order.
    fn heights(&self) -> Vec<u32> {
        let mut heights = Heights(Vec::new());
        self.visit(&mut heights);
        heights.0
    }

    /// The words absorbed before the root of the trace: the heights, then the public words.
    fn words(&self) -> Vec<u32> {
        let mut words = self.heights();
        words.extend(self.public_words());
        words
    }

    /// Checks that the claimed sums add up to [`public_sum`](Self::public_sum).
    ///
    /// There is one claimed sum for each component. A verifier that leaves this out has checked the
    /// rows, but not the statement.
    fn sums_add_up(&self, challenges: &[QM31], claimed_sums: &[QM31]) -> bool {
        let sum = claimed_sums.iter().fold(QM31::ZERO, |sum, &claimed| sum + claimed);
        self.public_sum(challenges) == Some(sum)
    }
}

/// Logs of numbers of rows.
struct Heights(Vec<u32>);

impl<'s> Visitor<'s> for Heights {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, _: &[usize]) {
        self.0.push(air.log_rows());
    }
}

/// The fraction `numerator / values` of `relation`.
///
/// `None` if its denominator is zero or a challenge is missing.
pub(crate) fn public_fraction(
    relation: Relation,
    challenges: &[QM31],
    numerator: M31,
    values: impl IntoIterator<Item = M31>,
) -> Option<QM31> {
    let first = relation.first() as usize;
    let slots = challenges.get(first..first + relation.slots() as usize)?;
    let (&z, powers) = slots.split_first()?;
    let mut values = values.into_iter();
    let leading = QM31::from(values.next()?) - z;
    let denominator = values.zip(powers).fold(leading, |sum, (value, power)| sum + power.scale(value));
    Some(denominator.inverse()?.scale(numerator))
}
