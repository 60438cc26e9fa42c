//! Recorded AIRs make of random values what stwo's evaluator makes of them.

use core_types::{
    air::{Air, Relation, Row, Tree},
    field::{M31, QM31},
};
use stark_air::{MaskSource, Program, Recorded};
use stwo::core::{
    air::{Component, accumulation::PointEvaluationAccumulator},
    channel::{Blake2sChannel, Channel},
    circle::CirclePoint,
    constraints::coset_vanishing,
    fields::{m31::M31 as StwoM31, qm31::QM31 as StwoQm31},
    pcs::TreeVec,
    poly::circle::CanonicCoset,
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval};

use crate::{
    components::{Collect, Elements, components},
    interpreter,
    recorded::{Airs, airs, relations},
    statement::Statement,
};

pub(crate) fn ours(value: StwoQm31) -> QM31 {
    QM31::from_coordinates(value.to_m31_array().map(|word| M31::from_u32(word.0)))
}

/// Values of masks, by tree, column and offset; values of the preprocessed columns by slot.
type Masks = Vec<Vec<Vec<QM31>>>;

/// A row with values for any mask, in the order of the columns.
struct PointRow<'v> {
    masks: &'v Masks,
    next: Vec<usize>,
    challenges: &'v [QM31],
    mean: QM31,
    alpha: QM31,
    sum: QM31,
}

impl Row for PointRow<'_> {
    type F = QM31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, _: [i32; K]) -> [QM31; K] {
        let tree = tree.0 as usize;
        self.next[tree] += 1;
        self.masks[tree][self.next[tree] - 1].clone().try_into().expect("a value for each offset")
    }

    fn preprocessed(&mut self, slot: u32) -> QM31 {
        self.masks[0][slot as usize][0]
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        self.mean
    }

    fn constraint(&mut self, value: QM31) {
        self.sum = self.sum * self.alpha + value;
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.constraint(value);
    }
}

/// The outputs of a program of `recorded` for masks of the base field.
pub(crate) fn outputs(
    recorded: &Recorded,
    program: &Program,
    masks: &Masks,
    challenges: &[QM31],
    mean: QM31,
) -> Vec<QM31> {
    let value = |mask: &stark_air::MaskRead| match mask.source {
        MaskSource::Preprocessed { slot } => masks[0][slot as usize][0],
        MaskSource::Column { tree, column } => {
            let (tree, column) = (tree.0 as usize, column as usize);
            let offsets = &recorded.columns()[tree][column];
            masks[tree][column][offsets.iter().position(|&offset| offset == mask.offset).unwrap()]
        }
    };
    let values: Vec<M31> = program.masks().iter().map(|mask| value(mask).coordinates()[0]).collect();
    let slots: Vec<QM31> = challenges[..recorded.challenges() as usize].iter().copied().chain([mean]).collect();
    interpreter::run(program, &values, &slots)
}

/// The challenges of relations whose elements the channel draws next, by slot.
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

/// What components of stwo make of random values, compared with what recorded AIRs make of the same.
pub(crate) struct Compare {
    pub(crate) airs: std::vec::IntoIter<(FrameworkAir, Vec<usize>)>,
    pub(crate) channel: Blake2sChannel,
    pub(crate) sum: StwoQm31,
    pub(crate) challenges: Vec<QM31>,
    /// Preprocessed columns.
    pub(crate) preprocessed: usize,
}

impl Compare {
    /// Draws values of the secure field, or of its base field.
    fn draw(&mut self, count: usize, base: bool) -> Vec<StwoQm31> {
        let values = self.channel.draw_secure_felts(count);
        if base { values.iter().map(|value| value.to_m31_array()[0].into()).collect() } else { values }
    }

    fn compare<E: FrameworkEval>(
        &mut self,
        component: &FrameworkComponent<E>,
        (air, slots): &(FrameworkAir, Vec<usize>),
        base: bool,
    ) {
        let log_rows = air.log_rows();
        let point = CirclePoint::get_random_point(&mut self.channel);
        let mut mask = vec![(0..self.preprocessed).map(|_| self.draw(1, base)).collect::<Vec<_>>()];
        let mut masks: Masks =
            vec![slots.iter().map(|&slot| mask[0][slot].iter().copied().map(ours).collect()).collect()];
        for (tree, columns) in component.mask_points(point, log_rows).iter().enumerate().skip(1) {
            // Columns of other components stand before this one's.
            mask.push(vec![vec![]; component.trace_locations()[tree].col_start]);
            masks.push(vec![]);
            for points in columns {
                let values = self.draw(points.len(), base);
                masks[tree].push(values.iter().copied().map(ours).collect());
                mask[tree].push(values);
            }
        }
        let alpha = self.channel.draw_secure_felt();
        let mut theirs = PointEvaluationAccumulator::new(alpha);
        component.evaluate_constraint_quotients_at_point(point, &TreeVec(mask), &mut theirs, log_rows);
        let theirs = ours(theirs.finalize() * coset_vanishing(CanonicCoset::new(log_rows).coset, point));

        let mean = ours(self.sum * StwoM31::from_u32_unchecked(1 << log_rows).inverse());
        let (alpha, next) = (ours(alpha), vec![0; masks.len()]);
        let mut row = PointRow { masks: &masks, next, challenges: &self.challenges, mean, alpha, sum: QM31::ZERO };
        air.eval(&mut row);
        assert_eq!(row.sum, theirs);
        assert!((1..masks.len()).all(|tree| row.next[tree] == masks[tree].len()));
        if base {
            let recorded = Recorded::new(air).unwrap();
            let values = outputs(&recorded, recorded.constraint_program(), &masks, &self.challenges, mean);
            assert_eq!(values.len(), component.n_constraints());
            assert_eq!(values.iter().fold(QM31::ZERO, |sum, &value| sum * alpha + value), theirs);
        }
    }
}

impl Collect for Compare {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>) {
        let air = self.airs.next().unwrap();
        assert_eq!(air.0.log_rows(), component.log_size());
        assert_eq!(air.0.log_degree_bound(), Component::max_constraint_log_degree_bound(&component));
        // The component lists a column for each time it is read.
        let mut listed = Vec::new();
        for &column in component.preprocessed_column_indices() {
            if !listed.contains(&column) {
                listed.push(column);
            }
        }
        assert_eq!(air.1, listed);
        // With the elements that the component holds, whichever they are.
        let (held, elements) = FrameworkAir::with_elements(&*component).unwrap();
        let held = (held, air.1.clone());
        for base in [false, true] {
            self.compare(&component, &air, base);
            let challenges = std::mem::replace(&mut self.challenges, elements.clone());
            self.compare(&component, &held, base);
            self.challenges = challenges;
        }
    }
}

/// Compares the components of a statement, at several points.
fn compare(statement: &Statement) {
    let (airs, relations): (Airs, _) = (airs(statement), relations(statement));
    for seed in 0..3 {
        let mut channel = Blake2sChannel::default();
        channel.mix_u64(seed);
        let challenges = challenges(channel.clone(), &relations);
        let elements = Elements::draw(statement, &mut channel);
        let sum = channel.draw_secure_felt();
        let preprocessed = statement.preprocessed().len();
        let mut compare = Compare { airs: airs.clone().into_iter(), channel, sum, challenges, preprocessed };
        components(statement, &elements, &vec![sum; statement.heights().len()], &mut compare);
        assert_eq!(compare.airs.len(), 0);
    }
}

#[test]
fn constraints_are_those_of_the_framework() {
    compare(&Statement::WideFibonacci { log_rows: vec![5, 7], columns: vec![3, 20] });
    compare(&Statement::Neighbours { log_rows: 6 });
    compare(&Statement::Cubes { log_rows: 6 });
    compare(&Statement::Selected { log_rows: [5, 6], unused: Some(4) });
    compare(&Statement::Selected { log_rows: [5, 5], unused: None });
}

#[test]
fn look_ups_are_those_of_the_framework() {
    for in_pairs in [false, true] {
        compare(&Statement::StateMachine { log_rows: 6, in_pairs });
    }
    compare(&Statement::Xor { log_rows: 6, bits: 2 });
    compare(&Statement::Steps { log_rows: [5, 7], first: [1, 2] });
    compare(&Statement::Plonk { gates: 40, inputs: [1, 2], outputs: [3, 4] });
    compare(&Statement::Poseidon2 { log_rows: 5, first: [1; 16], last: [2; 16] });
    compare(&Statement::Blake2s { log_blocks: 5, digest: [3; 8] });
}
