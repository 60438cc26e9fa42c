//! Steps of a state with two coordinates.

use alloc::{vec, vec::Vec};

use core_types::{
    air::{Air, Generator, LogUp, NewRow, Relation, Row},
    field::{M31, QM31},
};

use crate::{
    AirError, Statement, TraceColumns, Visitor, Witness, WitnessVisitor,
    columns::{checked_rows, column},
    statement::public_fraction,
};

/// States: each is used by the step that leaves it and yielded by the step that leads to it.
const STATES: Relation = Relation::new(0, 2);

/// The coordinate that a step raises by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
}

/// A step on each row, always of the same coordinate.
///
/// The columns are the state that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    log_rows: u32,
    axis: Axis,
}

impl Air for Steps {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (x, y) = (row.column(), row.column());
        let one = R::E::from(R::F::from(M31::ONE));
        let to = match self.axis {
            Axis::X => [x + M31::ONE, y],
            Axis::Y => [x, y + M31::ONE],
        };
        let mut states = LogUp::new(2);
        states.entry(row, STATES, one, &[x, y]);
        states.entry(row, STATES, -one, &to);
        states.finish(row);
    }
}

/// The claim that steps of a state machine lead from its first state to its last.
///
/// They are `2^n` steps of the first coordinate and `2^m` of the second. The claimed sums add up to
/// the fraction of the first state less the last state's: all states between are left and reached
/// equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateMachine {
    x: Steps,
    y: Steps,
    first: [M31; 2],
}

impl StateMachine {
    /// The statement with these logs of steps by coordinate, from `first`.
    ///
    /// # Errors
    ///
    /// Refuses a log outside `1..=29`.
    pub fn new([n, m]: [u32; 2], first: [M31; 2]) -> Result<Self, AirError> {
        let steps = |log_rows, axis| Ok(Steps { log_rows: checked_rows(log_rows)?, axis });
        Ok(Self { x: steps(n, Axis::X)?, y: steps(m, Axis::Y)?, first })
    }

    /// The state that the steps begin with.
    #[must_use]
    pub const fn first(&self) -> [M31; 2] {
        self.first
    }

    /// The state that the steps lead to.
    #[must_use]
    pub fn last(&self) -> [M31; 2] {
        let [x, y] = self.first;
        [x + M31::from_u32(1 << self.x.log_rows), y + M31::from_u32(1 << self.y.log_rows)]
    }

    /// The trace, which first takes all steps of the first coordinate.
    #[must_use]
    pub fn trace(&self) -> Vec<TraceColumns> {
        let ([x, y], [last_x, _]) = (self.first, self.last());
        let from = |log_rows, start: M31| column(log_rows, |row| start + M31::from_u32(row));
        let fixed = |log_rows: u32, value: M31| vec![value; 1 << log_rows];
        let (n, m) = (self.x.log_rows, self.y.log_rows);
        vec![vec![from(n, x), fixed(n, y)], vec![fixed(m, last_x), from(m, y)]]
    }
}

/// Steps from a state on: the states that they leave.
struct StepsFrom {
    steps: Steps,
    state: [M31; 2],
}

impl Generator for StepsFrom {
    fn log_rows(&self) -> u32 {
        self.steps.log_rows
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let number = row.number();
        let [x, y] = self.state.map(R::F::from);
        let left = match self.steps.axis {
            Axis::X => [x + number, y],
            Axis::Y => [x, y + number],
        };
        left.into_iter().for_each(|coordinate| row.write(coordinate));
    }
}

/// The statement defines the first row of its trace, and the row numbers give the rest.
impl Witness for StateMachine {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        let ([_, y], [last_x, _]) = (self.first, self.last());
        visitor.component(&StepsFrom { steps: self.x, state: self.first }, &[]);
        visitor.component(&StepsFrom { steps: self.y, state: [last_x, y] }, &[]);
    }
}

impl Statement for StateMachine {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.x, &[]);
        visitor.component(&self.y, &[]);
    }

    fn relations(&self) -> &'static [Relation] {
        &[STATES]
    }

    /// The first state and the last.
    fn public_words(&self) -> Vec<u32> {
        self.first.into_iter().chain(self.last()).map(M31::word).collect()
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let fraction = |state: [M31; 2]| public_fraction(STATES, challenges, M31::ONE, state);
        Some(fraction(self.first)? - fraction(self.last())?)
    }
}
