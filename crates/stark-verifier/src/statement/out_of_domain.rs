//! The row at the out-of-domain point: the values that a proof claims for it.
//!
//! Constraints `0..K` add up to `sum over k of alpha^(K-1-k) C_k(z)`, by Horner's rule (stwo 2.3,
//! `core/air/accumulation.rs`).

use alloc::vec::Vec;

use core_types::{
    air::{Row, Tree},
    field::QM31,
};

/// The values that one component reads, and the sum of its constraints so far.
pub(crate) struct PointRow<'v> {
    /// The component's columns of each tree, each with its values.
    masks: Vec<&'v [Vec<QM31>]>,
    /// Values of its preprocessed columns, by slot.
    preprocessed: Vec<QM31>,
    challenges: &'v [QM31],
    mean: QM31,
    sum: &'v mut ConstraintSum,
}

/// Constraints, added up with the powers of a challenge: the first with the highest.
pub(crate) struct ConstraintSum {
    alpha: QM31,
    sum: QM31,
}

impl ConstraintSum {
    pub(crate) const fn new(alpha: QM31) -> Self {
        Self { alpha, sum: QM31::ZERO }
    }

    pub(crate) fn add(&mut self, value: QM31) {
        self.sum = self.sum * self.alpha + value;
    }

    pub(crate) const fn get(&self) -> QM31 {
        self.sum
    }
}

impl<'v> PointRow<'v> {
    pub(crate) const fn new(
        masks: Vec<&'v [Vec<QM31>]>,
        preprocessed: Vec<QM31>,
        challenges: &'v [QM31],
        mean: QM31,
        sum: &'v mut ConstraintSum,
    ) -> Self {
        Self { masks, preprocessed, challenges, mean, sum }
    }
}

/// Reads the values in the order of the AIR, and zeros once there are none left.
///
/// The shape of the values was compared with the census of the same AIR. So zeros are read only if
/// the AIR reads something else the second time.
impl Row for PointRow<'_> {
    type F = QM31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, _: [i32; K]) -> [QM31; K] {
        let Some(columns) = self.masks.get_mut(tree.0 as usize) else { return [QM31::ZERO; K] };
        let Some((values, rest)) = columns.split_first() else { return [QM31::ZERO; K] };
        *columns = rest;
        core::array::from_fn(|k| values.get(k).copied().unwrap_or(QM31::ZERO))
    }

    fn preprocessed(&mut self, slot: u32) -> QM31 {
        self.preprocessed.get(slot as usize).copied().unwrap_or(QM31::ZERO)
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.challenges.get(slot as usize).copied().unwrap_or(QM31::ZERO)
    }

    fn mean(&mut self) -> QM31 {
        self.mean
    }

    fn constraint(&mut self, value: QM31) {
        self.sum.add(value);
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.sum.add(value);
    }
}
