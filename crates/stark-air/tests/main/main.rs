//! Recorded programs compute what their AIRs state, and what cannot be recorded is refused.

mod generators;
mod interpreter;
mod random;
mod refused;
mod traces;

use core_types::{
    air::{Air, BaseValue, ExtensionValue, Fraction, LogUp, Relation, Row, Tree},
    field::{M31, QM31},
    params::air::Opcode,
};
use fastrand::Rng;
use stark_air::{HostTrace, MaskSource, Program, Recorded, ScalarRow};

use crate::{
    interpreter::run,
    random::{RandomAir, element, word},
};

/// Columns, challenges and a claimed sum at random, of the shape that `recorded` reads.
struct RandomTrace {
    columns: Vec<Vec<Vec<M31>>>,
    preprocessed: Vec<Vec<M31>>,
    challenges: Vec<QM31>,
    claimed_sum: QM31,
}

impl RandomTrace {
    fn random(recorded: &Recorded, rng: &mut Rng) -> Self {
        let rows = 1 << recorded.log_rows();
        let mut column = || (0..rows).map(|_| word(rng)).collect::<Vec<_>>();
        let columns = recorded.columns().iter().map(|tree| tree.iter().map(|_| column()).collect()).collect();
        let preprocessed = (0..recorded.preprocessed_slots()).map(|_| column()).collect();
        let challenges = (0..recorded.challenges()).map(|_| element(rng)).collect();
        Self { columns, preprocessed, challenges, claimed_sum: element(rng) }
    }

    fn view(&self) -> HostTrace<'_> {
        let Self { columns, preprocessed, challenges, claimed_sum } = self;
        HostTrace { columns, preprocessed, challenges, claimed_sum: *claimed_sum }
    }

    /// The outputs of a program on a row.
    fn outputs(&self, program: &Program, log_rows: u32, row: usize) -> Vec<QM31> {
        let masks: Vec<M31> = program
            .masks()
            .iter()
            .map(|mask| {
                let at = (row as i64 + i64::from(mask.offset)).rem_euclid(1 << log_rows) as usize;
                match mask.source {
                    MaskSource::Preprocessed { slot } => self.preprocessed[slot as usize][at],
                    MaskSource::Column { tree, column } => self.columns[tree.0 as usize][column as usize][at],
                }
            })
            .collect();
        let inverse = M31::from_u32(1 << log_rows).inverse().expect("a power of two has an inverse");
        let mut challenges = self.challenges.clone();
        challenges.push(self.claimed_sum.scale(inverse));
        run(program, &masks, &challenges)
    }
}

/// Compares the constraint program of an AIR with the AIR on every row of a random trace.
fn compare(air: &impl Air, rng: &mut Rng) -> Recorded {
    let recorded = Recorded::new(air).expect("the AIR can be recorded");
    let trace = RandomTrace::random(&recorded, rng);
    for at in 0..1 << recorded.log_rows() {
        let mut row = ScalarRow::new(trace.view(), recorded.log_rows(), at);
        air.eval(&mut row);
        let program = recorded.constraint_program();
        assert_eq!(trace.outputs(program, recorded.log_rows(), at), row.constraints());
    }
    recorded
}

#[test]
fn random_airs_are_recorded_as_they_are() {
    for seed in 0..300 {
        compare(&RandomAir { log_rows: 1 + (seed % 3) as u32, seed }, &mut Rng::with_seed(seed + 1));
    }
}

/// Each column is the sum of the squares of the two to its left.
struct WideFibonacci(u32);

impl Air for WideFibonacci {
    fn log_rows(&self) -> u32 {
        3
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (mut a, mut b) = (row.column(), row.column());
        for _ in 2..self.0 {
            let c = row.column();
            row.constraint(c - a.square() - b.square());
            (a, b) = (b, c);
        }
    }
}

#[test]
fn squares_are_computed_once_and_registers_are_few() {
    let recorded = compare(&WideFibonacci(100), &mut Rng::with_seed(5));
    let program = recorded.constraint_program();
    let count = |opcode| program.instructions().iter().filter(|step| step.opcode == opcode as u16).count();
    assert_eq!([Opcode::Mul, Opcode::Sub, Opcode::Out].map(count), [99, 2 * 98, 98]);
    assert!(program.registers() <= 8, "{}", program.registers());
    assert!(recorded.fraction_program().is_none());
    assert_eq!((recorded.constraints(), recorded.columns()[1].len()), (98, 100));
}

/// Elements of the secure field joined of constants, of a column alone, and of both.
struct Joined;

impl Air for Joined {
    fn log_rows(&self) -> u32 {
        2
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (x, words) = (row.column(), [0, 3, 5, 7].map(|word| R::F::from(M31::from_u32(word))));
        let zero = words[0];
        for place in 0..4 {
            let mut coordinates = words;
            coordinates.rotate_left(place);
            row.constraint_ext(R::E::from_coordinates(coordinates) - x);
            coordinates[place] = x;
            row.constraint_ext(R::E::from_coordinates(coordinates));
            let mut alone = [zero; 4];
            alone[place] = x;
            row.constraint_ext(R::E::from_coordinates(alone));
        }
    }
}

#[test]
fn elements_are_joined_of_constants_and_columns() {
    compare(&Joined, &mut Rng::with_seed(7));
}

const PAIR: Relation = Relation::new(0, 2);
const ALONE: Relation = Relation::new(PAIR.slots(), 1);

/// Two fractions in a column, one in the next.
struct LookUps;

impl Air for LookUps {
    fn log_rows(&self) -> u32 {
        3
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let ([x, next], y) = (row.mask(Tree::TRACE, [0, 1]), row.column());
        let is_last = row.preprocessed(0);
        row.constraint((next - x - y) * (R::F::from(M31::ONE) - is_last));
        let one = R::E::from(R::F::from(M31::ONE));
        let mut states = LogUp::new(2);
        states.entry(row, PAIR, one, &[x, y]);
        states.entry(row, PAIR, -one, &[x + y, y]);
        states.entry(row, ALONE, R::E::from(y), &[x]);
        states.finish(row);
    }
}

#[test]
fn fractions_are_those_of_the_columns() {
    let rng = &mut Rng::with_seed(9);
    let recorded = compare(&LookUps, rng);
    assert_eq!(recorded.columns()[2], [vec![vec![0]; 4], vec![vec![-1, 0]; 4]].concat());
    assert_eq!((recorded.challenges(), recorded.preprocessed_slots(), recorded.constraints()), (3, 1, 3));
    let program = recorded.fraction_program().expect("there are look-ups");
    let trace = RandomTrace::random(&recorded, rng);
    let [z, alpha, z2] = trace.challenges[..] else { panic!("three challenges") };
    for at in 0..8 {
        let (x, y) = (trace.columns[1][0][at], trace.columns[1][1][at]);
        let used = Fraction { numerator: QM31::ONE, denominator: alpha * y + x - z };
        let yielded = Fraction { numerator: -QM31::ONE, denominator: alpha * y + (x + y) - z };
        let both = used + yielded;
        let expected = [both.numerator, both.denominator, QM31::from(y), QM31::from(x) - z2];
        assert_eq!(trace.outputs(program, 3, at), expected);
    }
}
