//! A statement with a trace: whether its rows satisfy the constraints, and what its claimed sums are.

use core_types::{
    air::Air,
    field::{M31, QM31},
};
use stark_air::{HostTrace, Recorded, ScalarRow};
use stark_airs::{Statement, TraceColumns, Visitor};

use crate::look_ups::{by_row, interaction};

/// The result of checking a trace against a statement.
#[derive(Debug, Default)]
struct TraceVerdict {
    /// Constraints of all components on all rows.
    constraints: usize,
    /// Those that do not vanish.
    broken: usize,
    /// One for each component.
    claimed_sums: Vec<QM31>,
}

struct Checker<'c> {
    /// The component to look at, if not all.
    only: Option<usize>,
    trace: std::slice::Iter<'c, TraceColumns>,
    preprocessed: &'c [Vec<M31>],
    challenges: &'c [QM31],
    verdict: TraceVerdict,
}

impl<'s> Visitor<'s> for Checker<'_> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, slots: &[usize]) {
        let (log_rows, trace) = (air.log_rows(), self.trace.next().expect("columns for each component"));
        if self.only.is_some_and(|only| only != self.verdict.claimed_sums.len()) {
            return self.verdict.claimed_sums.push(QM31::ZERO);
        }
        let (challenges, rows) = (self.challenges, 1 << log_rows);
        assert!(trace.iter().all(|column| column.len() == rows));
        let slots: Vec<_> = slots.iter().map(|&slot| self.preprocessed[slot].clone()).collect();
        let (slots, mut columns) = (by_row(&slots), vec![vec![], by_row(trace)]);
        let preprocessed = &slots[..];
        let trace = HostTrace { columns: &columns, preprocessed, challenges, claimed_sum: QM31::ZERO };
        let (interaction, claimed_sum) = interaction(air, trace);
        columns.push(interaction);
        let trace = HostTrace { columns: &columns, preprocessed, challenges, claimed_sum };
        for row in 0..rows {
            let mut checked = ScalarRow::new(trace, log_rows, row);
            air.eval(&mut checked);
            self.verdict.constraints += checked.constraints().len();
            self.verdict.broken += checked.constraints().iter().filter(|value| **value != QM31::ZERO).count();
        }
        if self.only.is_none() {
            // The degree of constraints is three at most, and every column is read.
            assert_eq!(air.log_degree_bound(), log_rows + 1);
            let recorded = Recorded::new(air).unwrap();
            let read = recorded.columns().iter().map(Vec::len);
            assert!(read.clone().eq(columns.iter().map(Vec::len).take(read.len())));
        }
        self.verdict.claimed_sums.push(claimed_sum);
    }
}

/// Challenges that look random, in the slots of the statement's relations.
fn challenges(statement: &impl Statement) -> Vec<QM31> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut felt = || QM31::from_coordinates([(); 4].map(|()| M31::from_u64(rng.u64(..))));
    let mut challenges = Vec::new();
    for relation in statement.relations() {
        assert_eq!(relation.first() as usize, challenges.len(), "slots follow each other");
        let (z, alpha) = (felt(), felt());
        challenges.push(z);
        challenges.extend(
            std::iter::successors(Some(alpha), |&power| Some(power * alpha)).take(relation.slots() as usize - 1),
        );
    }
    challenges
}

/// Checks `trace` against the statement.
fn verdict(statement: &impl Statement, trace: &[TraceColumns]) -> TraceVerdict {
    partial_verdict(statement, trace, None)
}

/// Checks `trace`, or only one component of it; then the sums of the others are zero.
fn partial_verdict(statement: &impl Statement, trace: &[TraceColumns], only: Option<usize>) -> TraceVerdict {
    let (challenges, preprocessed) = (challenges(statement), statement.preprocessed_values());
    let named = statement.preprocessed();
    assert_eq!(named.len(), preprocessed.len());
    assert!(named.iter().zip(&preprocessed).all(|(column, values)| values.len() == 1 << column.log_rows));
    assert_eq!(trace.len(), statement.heights().len());
    let verdict = TraceVerdict::default();
    let (trace, preprocessed, challenges) = (trace.iter(), &*preprocessed, &*challenges);
    let mut checker = Checker { only, trace, preprocessed, challenges, verdict };
    statement.visit(&mut checker);
    checker.verdict
}

/// Whether a proof of this trace would be accepted.
pub(crate) fn holds(statement: &impl Statement, trace: &[TraceColumns]) -> bool {
    let verdict = verdict(statement, trace);
    verdict.broken == 0 && statement.sums_add_up(&challenges(statement), &verdict.claimed_sums)
}

/// Asserts that the trace satisfies the statement.
///
/// Component `i` has `constraints[i]` constraints on each row.
pub(crate) fn assert_holds(statement: &impl Statement, trace: &[TraceColumns], constraints: &[usize]) {
    let verdict = verdict(statement, trace);
    let expected: usize = statement.heights().iter().zip(constraints).map(|(&height, &count)| count << height).sum();
    assert_eq!((verdict.constraints, verdict.broken), (expected, 0));
    assert!(statement.sums_add_up(&challenges(statement), &verdict.claimed_sums));
}

/// Asserts that the trace satisfies the constraints, and that its claimed sums do not add up.
pub(crate) fn assert_does_not_add_up(statement: &impl Statement, trace: &[TraceColumns]) {
    let verdict = verdict(statement, trace);
    assert_eq!(verdict.broken, 0);
    assert!(!statement.sums_add_up(&challenges(statement), &verdict.claimed_sums));
}

/// Asserts that each `steps[k]`-th cell of component `k` matters.
pub(crate) fn assert_every_cell_matters(statement: &impl Statement, trace: &[TraceColumns], steps: &[usize]) {
    let (challenges, right) = (challenges(statement), verdict(statement, trace));
    assert_eq!(steps.len(), trace.len());
    let mut changed = trace.to_vec();
    for (component, &step) in steps.iter().enumerate() {
        let rows = trace[component][0].len();
        for cell in (0..rows * trace[component].len()).step_by(step) {
            let (column, position) = (cell / rows, cell % rows);
            let value = changed[component][column][position];
            changed[component][column][position] = value + M31::ONE;
            let found = partial_verdict(statement, &changed, Some(component));
            let mut sums = right.claimed_sums.clone();
            sums[component] = found.claimed_sums[component];
            let noticed = found.broken > 0 || !statement.sums_add_up(&challenges, &sums);
            assert!(noticed, "component {component}, column {column}, position {position}");
            changed[component][column][position] = value;
        }
    }
}
