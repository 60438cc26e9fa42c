//! Constraints, look-ups and neighbouring rows match stwo's constraint framework, at random values.

use core_types::{
    air::{Air, LogUp, Relation, Row, lifted, neighbour},
    field::{M31, QM31},
};
use stark_airs::{Statement as _, Visitor};
use stwo::core::{
    air::Component,
    channel::{Blake2sChannel, Channel},
    fields::{m31::M31 as StwoM31, qm31::QM31 as StwoQm31},
    pcs::utils::prepare_preprocessed_query_positions,
    utils::offset_bit_reversed_circle_domain_index,
};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkComponent, FrameworkEval, RelationEntry, TraceLocationAllocator, logup::LookupElements,
};

use crate::{
    common::{
        airs::{PAIR, airs, relations},
        random_point::{PointRow, RandomPoint, challenges, ours},
        stated::Stated,
        stwo_side::{
            airs::Pair,
            components::{RelationElements, components, public_sum},
        },
    },
    statement::Statement,
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

#[test]
fn challenges_are_those_of_stwo() {
    for count in 0..6 {
        let (mut channel, mut theirs) = (stark_verifier::Channel::default(), Blake2sChannel::default());
        channel.mix_u32s(&[1, 2, 3]);
        theirs.mix_u32s(&[1, 2, 3]);
        for _ in 0..2 {
            let expected: Vec<QM31> = theirs.draw_secure_felts(count).into_iter().map(ours).collect();
            assert_eq!(channel.draw_felts(count), expected, "{count}");
        }
        assert_eq!(channel.draw_felt(), ours(theirs.draw_secure_felt()), "{count}");
    }
}

/// An AIR on the rows of this test, with the preprocessed columns that it reads.
struct PointAir<'a> {
    log_rows: u32,
    log_degree_bound: u32,
    preprocessed: Vec<usize>,
    eval: Box<dyn Fn(&mut PointRow<'_>) + 'a>,
}

/// The AIRs of a statement.
#[derive(Default)]
struct Airs<'a>(Vec<PointAir<'a>>);

impl<'a> Visitor<'a> for Airs<'a> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'a A, preprocessed: &[usize]) {
        let (log_rows, log_degree_bound, preprocessed) =
            (air.log_rows(), air.log_degree_bound(), preprocessed.to_vec());
        let eval = Box::new(move |row: &mut PointRow<'_>| air.eval(row));
        self.0.push(PointAir { log_rows, log_degree_bound, preprocessed, eval });
    }
}

/// Evaluates stwo's components and AIRs on the same random values, and compares.
struct StwoComparison<'a> {
    airs: std::slice::Iter<'a, PointAir<'a>>,
    channel: Blake2sChannel,
    sum: StwoQm31,
    challenges: Vec<QM31>,
}

impl StwoComparison<'_> {
    /// Compares a component with the next AIR.
    fn next<E: FrameworkEval>(&mut self, component: &FrameworkComponent<E>) {
        let air = self.airs.next().expect("an AIR for each component");
        assert_eq!(air.log_rows, component.log_size());
        assert_eq!(air.log_degree_bound, Component::max_constraint_log_degree_bound(component));
        // No statement has more than ten preprocessed columns.
        let point = RandomPoint::draw(component, (&air.preprocessed, 10), false, self.sum, &mut self.channel);
        assert_eq!(point.evaluate(&self.challenges, |row| (air.eval)(row)), point.theirs);
        assert!(component.n_constraints() > 0);
    }
}

/// Compares the components of a statement, at several points.
fn compare(statement: &Statement, relations: &[Relation], airs: &Airs<'_>) {
    for seed in 0..5 {
        let mut channel = Blake2sChannel::default();
        channel.mix_u64(seed);
        let challenges = challenges(channel.clone(), relations);
        let elements = RelationElements::draw(statement, &mut channel);
        let sum = channel.draw_secure_felt();
        let mut compare = StwoComparison { airs: airs.0.iter(), channel, sum, challenges };
        for component in &components(statement, &elements, &vec![sum; statement.heights().len()]) {
            compare.next(component);
        }
        assert_eq!(compare.airs.len(), 0);
    }
}

#[test]
fn airs_of_the_vectors_are_those_of_the_framework() {
    for statement in [
        Statement::WideFibonacci { log_rows: vec![5, 7], columns: vec![3, 20] },
        Statement::Neighbours { log_rows: 6 },
        Statement::Cubes { log_rows: 6 },
        Statement::Selected { log_rows: [5, 6], unused: None },
        Statement::StateMachine { log_rows: 6, in_pairs: false },
        Statement::StateMachine { log_rows: 6, in_pairs: true },
        Statement::Xor { log_rows: 6, bits: 2 },
    ] {
        let (airs, mut all) = (airs(&statement), Airs::default());
        airs.iter().for_each(|(air, preprocessed)| all.component(air, preprocessed));
        compare(&statement, relations(&statement), &all);
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
        let (stated, mut airs) = (Stated::of(&statement).expect("it ships"), Airs::default());
        stated.visit(&mut airs);
        compare(&statement, stated.relations(), &airs);

        let mut channel = Blake2sChannel::default();
        let challenges = challenges(channel.clone(), stated.relations());
        let sum = public_sum(&statement, &RelationElements::draw(&statement, &mut channel)).map_or(QM31::ZERO, ours);
        assert!(stated.sums_add_up(&challenges, &[sum]));
        assert!(!stated.sums_add_up(&challenges, &[sum, QM31::U]));
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
            groups.entry(row, PAIR, R::E::from(values[0]), &[value]);
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
    let challenges = challenges(channel.clone(), &[PAIR]);
    let pair = Pair::draw(&mut channel);
    let sum = channel.draw_secure_felt();
    let mut groups = Airs::default();
    groups.component(&Groups, &[]);
    let mut compare = StwoComparison { airs: groups.0.iter(), channel, sum, challenges };
    let places = &mut TraceLocationAllocator::default();
    compare.next(&FrameworkComponent::new(places, StwoGroups(pair), sum));
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
