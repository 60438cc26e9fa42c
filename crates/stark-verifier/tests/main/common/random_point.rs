//! Components of stwo's framework and AIRs on the same random values.
//!
//! The tests of `stwo-air` share them.

use core_types::{
    air::{Relation, Row, Tree},
    field::{M31, QM31},
};
use stwo::core::{
    air::{Component, accumulation::PointEvaluationAccumulator},
    channel::{Blake2sChannel, Channel},
    circle::CirclePoint,
    constraints::coset_vanishing,
    fields::{m31::M31 as StwoM31, qm31::QM31 as StwoQm31},
    pcs::TreeVec,
    poly::circle::CanonicCoset,
};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval};

/// An element of stwo's field as one of this project's.
pub(crate) fn ours(value: StwoQm31) -> QM31 {
    QM31::from_coordinates(value.to_m31_array().map(|word| M31::from_u32(word.0)))
}

/// The challenges of the relations whose elements the channel draws next, by slot.
pub(crate) fn challenges(mut channel: Blake2sChannel, relations: &[Relation]) -> Vec<QM31> {
    let mut challenges = Vec::new();
    for relation in relations {
        assert_eq!(relation.first() as usize, challenges.len());
        let [z, alpha] = channel.draw_secure_felts(2).try_into().expect("two challenges");
        let powers = std::iter::successors(Some(alpha), |power| Some(*power * alpha));
        challenges.extend(std::iter::once(z).chain(powers).take(relation.slots() as usize).map(ours));
    }
    challenges
}

/// Values of masks, by tree, column and offset; values of the preprocessed columns by slot.
pub(crate) type Masks = Vec<Vec<Vec<QM31>>>;

/// A row with values for any mask, in the order of the columns, and the constraints' sum.
pub(crate) struct PointRow<'v> {
    point: &'v RandomPoint,
    challenges: &'v [QM31],
    next: Vec<usize>,
    sum: QM31,
}

impl Row for PointRow<'_> {
    type F = QM31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, _: [i32; K]) -> [QM31; K] {
        let tree = tree.0 as usize;
        self.next[tree] += 1;
        self.point.masks[tree][self.next[tree] - 1].clone().try_into().expect("a value for each offset")
    }

    fn preprocessed(&mut self, slot: u32) -> QM31 {
        self.point.masks[0][slot as usize][0]
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        self.point.mean
    }

    fn constraint(&mut self, value: QM31) {
        self.sum = self.sum * self.point.alpha + value;
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.constraint(value);
    }
}

/// Random values of everything that a component reads, and what stwo's component makes of them.
pub(crate) struct RandomPoint {
    pub(crate) masks: Masks,
    /// The claimed sum for each row.
    pub(crate) mean: QM31,
    pub(crate) alpha: QM31,
    /// The constraints, summed with powers of `alpha`.
    pub(crate) theirs: QM31,
}

impl RandomPoint {
    /// Draws the values, of the base field alone if `base`.
    ///
    /// The component reads the preprocessed columns `slots`, of `preprocessed` columns.
    pub(crate) fn draw<E: FrameworkEval>(
        component: &FrameworkComponent<E>,
        (slots, preprocessed): (&[usize], usize),
        base: bool,
        sum: StwoQm31,
        channel: &mut Blake2sChannel,
    ) -> Self {
        let log_rows = component.log_size();
        let point = CirclePoint::get_random_point(channel);
        let mut draw = |count: usize| -> Vec<StwoQm31> {
            let values = channel.draw_secure_felts(count);
            if base { values.iter().map(|value| value.to_m31_array()[0].into()).collect() } else { values }
        };
        let mut mask = vec![(0..preprocessed).map(|_| draw(1)).collect::<Vec<_>>()];
        let mut masks: Masks =
            vec![slots.iter().map(|&slot| mask[0][slot].iter().copied().map(ours).collect()).collect()];
        for (tree, columns) in component.mask_points(point, log_rows).iter().enumerate().skip(1) {
            // Columns of other components stand before this one's.
            mask.push(vec![vec![]; component.trace_locations()[tree].col_start]);
            masks.push(vec![]);
            for points in columns {
                let values = draw(points.len());
                masks[tree].push(values.iter().copied().map(ours).collect());
                mask[tree].push(values);
            }
        }
        let alpha = channel.draw_secure_felt();
        let mut theirs = PointEvaluationAccumulator::new(alpha);
        component.evaluate_constraint_quotients_at_point(point, &TreeVec(mask), &mut theirs, log_rows);
        let theirs = ours(theirs.finalize() * coset_vanishing(CanonicCoset::new(log_rows).coset, point));
        let mean = ours(sum * StwoM31::from_u32_unchecked(1 << log_rows).inverse());
        Self { masks, mean, alpha: ours(alpha), theirs }
    }

    /// What an AIR makes of the values; it has to read every column.
    pub(crate) fn evaluate(&self, challenges: &[QM31], eval: impl FnOnce(&mut PointRow<'_>)) -> QM31 {
        let mut row = PointRow { point: self, challenges, next: vec![0; self.masks.len()], sum: QM31::ZERO };
        eval(&mut row);
        assert!((1..self.masks.len()).all(|tree| row.next[tree] == self.masks[tree].len()));
        row.sum
    }
}
