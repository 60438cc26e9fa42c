//! Constraints, look-ups and neighbouring rows match stwo's constraint framework, at random values.

use core_types::{
    air::{Air, LogUp, Relation, Row, Tree, lifted, neighbour},
    field::{M31, QM31},
};
use stark_airs::Visitor;
use stwo::core::{
    ColumnVec,
    air::{Component, accumulation::PointEvaluationAccumulator},
    channel::{Blake2sChannel, Channel},
    circle::CirclePoint,
    constraints::coset_vanishing,
    fields::{m31::M31 as StwoM31, qm31::QM31 as StwoQm31},
    pcs::{TreeVec, utils::prepare_preprocessed_query_positions},
    poly::circle::CanonicCoset,
    utils::offset_bit_reversed_circle_domain_index,
};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkComponent, FrameworkEval, RelationEntry, TraceLocationAllocator, logup::LookupElements,
};

use crate::common::{
    airs,
    shipped::Shipped,
    stwo_side::{
        airs::Pair,
        components::{Collect, Elements, components, public_sum},
        statement::Statement,
    },
};

#[test]
fn neighbours_are_those_of_stwo() {
    for log_rows in 1..=6 {
        for log_size in log_rows + 1..=8 {
            for position in 0..1 << log_size {
                for offset in -4..=4 {
                    let ours = neighbour(position, log_size, log_rows, offset);
                    let theirs =
                        offset_bit_reversed_circle_domain_index(position as usize, log_rows, log_size, offset as isize);
                    assert_eq!(ours as usize, theirs, "{position} {log_size} {log_rows} {offset}");
                }
            }
        }
    }
}

#[test]
fn lifted_positions_are_those_of_stwo() {
    for (from, to) in (1..=8).flat_map(|from| (1..=8).map(move |to| (from, to))) {
        let positions: Vec<usize> = (0..1 << from).collect();
        let theirs = prepare_preprocessed_query_positions(&positions, from, to);
        let ours: Vec<usize> = (0..1 << from).map(|position| lifted(position, from, to) as usize).collect();
        assert_eq!(ours, theirs, "{from} to {to}");
    }
}

/// A row with values for any mask, in the order of the columns, and the constraints' sum.
struct PointRow<'v> {
    masks: &'v [Vec<Vec<QM31>>],
    next: [usize; 3],
    challenges: Vec<QM31>,
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

/// An AIR on the rows of this test.
trait PointAir {
    fn log_rows(&self) -> u32;
    fn log_degree_bound(&self) -> u32;
    fn eval(&self, row: &mut PointRow<'_>);
}

impl<A: Air> PointAir for A {
    fn log_rows(&self) -> u32 {
        Air::log_rows(self)
    }

    fn log_degree_bound(&self) -> u32 {
        Air::log_degree_bound(self)
    }

    fn eval(&self, row: &mut PointRow<'_>) {
        Air::eval(self, row);
    }
}

/// The components of a statement, with the preprocessed columns of each.
type Airs<'a> = Vec<(&'a dyn PointAir, Vec<usize>)>;

/// Evaluates a stwo component and an AIR on the same random values, and compares.
struct Compare<'a> {
    airs: Airs<'a>,
    channel: Blake2sChannel,
    sum: StwoQm31,
    challenges: Vec<QM31>,
}

fn ours(value: StwoQm31) -> QM31 {
    QM31::from_coordinates(value.to_m31_array().map(|word| M31::from_u32(word.0)))
}

impl Collect for Compare<'_> {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>) {
        let (air, slots) = self.airs.remove(0);
        let log_rows = air.log_rows();
        assert_eq!(log_rows, component.log_size());
        assert_eq!(air.log_degree_bound(), Component::max_constraint_log_degree_bound(&component));
        let point = CirclePoint::get_random_point(&mut self.channel);
        let points = component.mask_points(point, log_rows);
        let random = |channel: &mut Blake2sChannel, len| channel.draw_secure_felts(len);
        // Columns of other components stand before this one's.
        let (before, width) = (component.trace_locations(), 10);
        let mut mask: Vec<ColumnVec<Vec<StwoQm31>>> =
            vec![(0..width).map(|_| random(&mut self.channel, 1)).collect(), vec![], vec![]];
        let mut masks: Vec<Vec<Vec<QM31>>> = vec![vec![]; 3];
        masks[0] = slots.iter().map(|&slot| mask[0][slot].iter().copied().map(ours).collect()).collect();
        for (tree, columns) in points.iter().enumerate().skip(1) {
            mask[tree] = vec![vec![]; before[tree].col_start];
            for points in columns {
                let values = random(&mut self.channel, points.len());
                masks[tree].push(values.iter().copied().map(ours).collect());
                mask[tree].push(values);
            }
        }
        let alpha = self.channel.draw_secure_felt();
        let mut theirs = PointEvaluationAccumulator::new(alpha);
        component.evaluate_constraint_quotients_at_point(point, &TreeVec(mask), &mut theirs, log_rows);
        let vanishing = coset_vanishing(CanonicCoset::new(log_rows).coset, point);

        let mean = ours(self.sum * StwoM31::from_u32_unchecked(1 << log_rows).inverse());
        let (challenges, next) = (self.challenges.clone(), [0; 3]);
        let mut row = PointRow { masks: &masks, next, challenges, mean, alpha: ours(alpha), sum: QM31::ZERO };
        air.eval(&mut row);
        assert_eq!(ours(theirs.finalize() * vanishing), row.sum);
        assert_eq!(row.next[1..], [1, 2].map(|tree| masks[tree].len()));
        assert!(component.n_constraints() > 0);
    }
}

/// The challenges of the relations whose elements the channel draws next.
fn challenges(mut channel: Blake2sChannel, relations: &[Relation]) -> Vec<QM31> {
    let mut challenges = Vec::new();
    for relation in relations {
        let [z, alpha] = channel.draw_secure_felts(2).try_into().expect("two challenges");
        let powers = std::iter::successors(Some(alpha), |power| Some(*power * alpha));
        challenges.extend(std::iter::once(z).chain(powers).take(relation.slots() as usize).map(ours));
    }
    challenges
}

/// Compares the components of a statement, at several points.
fn compare(statement: &Statement, relations: &[Relation], airs: &Airs<'_>) {
    for seed in 0..5 {
        let mut channel = Blake2sChannel::default();
        channel.mix_u64(seed);
        let challenges = challenges(channel.clone(), relations);
        let elements = Elements::draw(statement, &mut channel);
        let sum = channel.draw_secure_felt();
        let mut compare = Compare { airs: airs.clone(), channel, sum, challenges };
        components(statement, &elements, &vec![sum; statement.heights().len()], &mut compare);
        assert!(compare.airs.is_empty());
    }
}

#[test]
fn constraints_are_those_of_the_framework() {
    let fibonacci = Statement::WideFibonacci { log_rows: vec![5, 7], columns: vec![3, 20] };
    let airs = [(5, 3), (7, 20)].map(|(log_rows, columns)| airs::WideFibonacci { log_rows, columns });
    compare(&fibonacci, &[], &vec![(&airs[0], vec![]), (&airs[1], vec![])]);
    let log_rows = 6;
    compare(&Statement::Neighbours { log_rows }, &[], &vec![(&airs::Neighbours { log_rows }, vec![])]);
    compare(&Statement::Cubes { log_rows }, &[], &vec![(&airs::Cubes { log_rows }, vec![0])]);
    let selected = Statement::Selected { log_rows: [5, 6], unused: None };
    let airs = [5, 6].map(|log_rows| airs::Selected { log_rows });
    compare(&selected, &[], &vec![(&airs[0], vec![0, 1]), (&airs[1], vec![2, 3])]);
}

#[test]
fn look_ups_are_those_of_the_framework() {
    let log_rows = 6;
    for in_pairs in [false, true] {
        let air = airs::StateMachine { log_rows, in_pairs };
        compare(&Statement::StateMachine { log_rows, in_pairs }, &[airs::PAIR], &vec![(&air, vec![])]);
    }
    let (uses, table) = (airs::XorUse { log_rows }, airs::XorTable { log_rows: 4 });
    compare(&Statement::Xor { log_rows, bits: 2 }, &[airs::TRIPLE], &vec![(&uses, vec![]), (&table, vec![0, 1, 2])]);
}

/// Collects the components of a statement that ships.
struct Collected<'s>(Airs<'s>);

impl<'s> Visitor<'s> for Collected<'s> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.0.push((air, preprocessed.to_vec()));
    }
}

#[test]
fn airs_that_ship_are_those_written_for_the_framework() {
    for statement in [
        Statement::WideFibonacci { log_rows: vec![5], columns: vec![9] },
        Statement::Steps { log_rows: [5, 7], first: [1, 2] },
        Statement::Plonk { gates: 40, inputs: [1, 2], outputs: [3, 4] },
        Statement::Poseidon2 { log_rows: 5, first: [1; 16], last: [2; 16] },
        Statement::Blake2s { log_blocks: 5, digest: [3; 8] },
    ] {
        let shipped = Shipped::of(&statement).expect("it ships");
        let mut collected = Collected(Vec::new());
        shipped.visit(&mut collected);
        compare(&statement, shipped.relations(), &collected.0);

        let mut channel = Blake2sChannel::default();
        let challenges = challenges(channel.clone(), shipped.relations());
        let sum = public_sum(&statement, &Elements::draw(&statement, &mut channel)).map_or(QM31::ZERO, ours);
        assert!(shipped.sums_add_up(&challenges, &[sum]));
        assert!(!shipped.sums_add_up(&challenges, &[sum, QM31::U]));
    }
}

/// Six fractions, three in the first column, two in the second, one in the last.
struct Groups;

impl Air for Groups {
    fn log_rows(&self) -> u32 {
        5
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let values = [(); 6].map(|()| row.column());
        let mut groups = LogUp::new(3);
        for (k, &value) in values.iter().enumerate() {
            groups.entry(row, airs::PAIR, R::E::from(values[0]), &[value]);
            if k == 4 {
                groups.end_column();
            }
        }
        groups.finish(row);
    }
}

struct StwoGroups(Pair);

impl FrameworkEval for StwoGroups {
    fn log_size(&self) -> u32 {
        5
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        6
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let values = [(); 6].map(|()| eval.next_trace_mask());
        for value in values.clone() {
            eval.add_to_relation(RelationEntry::new(&self.0, E::EF::from(values[0].clone()), &[value]));
        }
        eval.finalize_logup_batched(&vec![0, 0, 0, 1, 1, 2]);
        eval
    }
}

#[test]
fn look_ups_in_groups_are_those_of_the_framework() {
    let mut channel = Blake2sChannel::default();
    let challenges = challenges(channel.clone(), &[airs::PAIR]);
    let pair = Pair::draw(&mut channel);
    let sum = channel.draw_secure_felt();
    let mut compare = Compare { airs: vec![(&Groups, vec![])], channel, sum, challenges };
    let places = &mut TraceLocationAllocator::default();
    compare.collect(FrameworkComponent::new(places, StwoGroups(pair), sum));
}

/// Draws a relation between up to `N` values, by both, and combines all numbers of values that it takes.
fn compare_relation<const N: usize>() {
    let mut theirs = Blake2sChannel::default();
    theirs.mix_u64(N as u64);
    let mut ours_channel = stark_verifier::Channel::default();
    ours_channel.mix_u64(N as u64);
    let elements = LookupElements::<N>::draw(&mut theirs);
    let challenges = ours_channel.draw_relation(Relation::new(0, N as u32));
    assert_eq!(challenges.len(), N.max(1));
    for len in 0..=N {
        let values: Vec<u32> = (0..len as u32).map(|k| 1000 * k + 7).collect();
        let stwo_values: Vec<_> = values.iter().map(|&value| StwoM31::from_u32_unchecked(value)).collect();
        let combined: StwoQm31 = elements.combine(&stwo_values);
        let powers = std::iter::once(QM31::ONE).chain(challenges[1..].iter().copied());
        let terms = values.iter().zip(powers).map(|(&value, power)| power.scale(M31::from_u32(value)));
        assert_eq!(ours(combined), terms.fold(-challenges[0], |sum, term| sum + term), "{len} of {N} values");
    }
    // The next draw is the same too.
    assert_eq!(ours(theirs.draw_secure_felt()), ours_channel.draw_felt());
}

#[test]
fn relations_of_any_width_are_drawn_as_the_framework_draws_them() {
    compare_relation::<0>();
    compare_relation::<1>();
    compare_relation::<2>();
    compare_relation::<5>();
    compare_relation::<33>();
}
