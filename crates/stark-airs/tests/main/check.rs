//! A statement with a trace: whether its rows satisfy the constraints, and what its claimed sums are.

use core_types::{
    air::Air,
    field::{M31, QM31},
};
use stark_airs::{Statement, TraceColumns, Visitor};

use crate::rows::{CheckedRow, DegreeRow, FractionRow, Table};

/// The result of checking a trace against a statement.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Constraints of all components on all rows.
    pub(crate) constraints: usize,
    /// Those that do not vanish.
    pub(crate) broken: usize,
    /// The highest degree of a constraint.
    pub(crate) degree: u32,
    /// One for each component.
    pub(crate) claimed_sums: Vec<QM31>,
}

struct Checker<'c> {
    /// The component to look at, if not all.
    only: Option<usize>,
    trace: std::slice::Iter<'c, TraceColumns>,
    preprocessed: &'c [Vec<M31>],
    challenges: &'c [QM31],
    verdict: Verdict,
}

impl<'s> Visitor<'s> for Checker<'_> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, slots: &[usize]) {
        let (log_rows, trace) = (air.log_rows(), self.trace.next().expect("columns for each component"));
        if self.only.is_some_and(|only| only != self.verdict.claimed_sums.len()) {
            return self.verdict.claimed_sums.push(QM31::ZERO);
        }
        assert!(trace.iter().all(|column| column.len() == 1 << log_rows));
        let preprocessed = slots.iter().map(|&slot| &*self.preprocessed[slot]).collect();
        let table = &Table { log_rows, preprocessed, trace, challenges: self.challenges };
        let rows = 0..1u32 << log_rows;

        // Columns of partial sums by row, and what each row adds up to.
        let fractions: Vec<Vec<QM31>> = rows
            .clone()
            .map(|row| {
                let mut fractions = FractionRow { table, row, next: 0, fractions: Vec::new() };
                air.eval(&mut fractions);
                assert_eq!(fractions.next, trace.len(), "every column is read");
                fractions.fractions
            })
            .collect();
        let width = fractions[0].len();
        let sums = |row: &Vec<QM31>| -> Vec<QM31> {
            row.iter()
                .scan(QM31::ZERO, |sum, &fraction| {
                    *sum += fraction;
                    Some(*sum)
                })
                .collect()
        };
        let mut interaction = vec![Vec::new(); width];
        for row in &fractions {
            interaction.iter_mut().zip(sums(row)).for_each(|(column, sum)| column.push(sum));
        }
        let claimed = fractions.iter().flatten().fold(QM31::ZERO, |sum, &fraction| sum + fraction);
        let mean = claimed.scale(M31::from_u32(1 << log_rows).inverse().unwrap());
        if let Some(last) = interaction.last_mut() {
            let mut running = QM31::ZERO;
            for sum in last {
                running = running + *sum - mean;
                *sum = running;
            }
        }

        for row in rows {
            let interaction = &interaction;
            let mut checked = CheckedRow { table, interaction, mean, row, next: [0; 2], constraints: 0, broken: 0 };
            air.eval(&mut checked);
            assert_eq!(checked.next, [trace.len(), 4 * width]);
            self.verdict.constraints += checked.constraints;
            self.verdict.broken += checked.broken;
        }
        let mut degree = DegreeRow::default();
        air.eval(&mut degree);
        self.verdict.degree = self.verdict.degree.max(degree.highest);
        assert_eq!(air.log_degree_bound(), log_rows + 1);
        self.verdict.claimed_sums.push(claimed);
    }
}

/// Challenges that look random, in the slots of the statement's relations.
pub(crate) fn challenges(statement: &impl Statement) -> Vec<QM31> {
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
pub(crate) fn verdict(statement: &impl Statement, trace: &[TraceColumns]) -> Verdict {
    partial_verdict(statement, trace, None)
}

/// Checks `trace`, or only one component of it; then the sums of the others are zero.
fn partial_verdict(statement: &impl Statement, trace: &[TraceColumns], only: Option<usize>) -> Verdict {
    let (challenges, preprocessed) = (challenges(statement), statement.preprocessed_values());
    let named = statement.preprocessed();
    assert_eq!(named.len(), preprocessed.len());
    assert!(named.iter().zip(&preprocessed).all(|(column, values)| values.len() == 1 << column.log_rows));
    assert_eq!(trace.len(), statement.heights().len());
    let verdict = Verdict::default();
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
    assert!((2..=3).contains(&verdict.degree), "degree {}", verdict.degree);
    assert!(statement.sums_add_up(&challenges(statement), &verdict.claimed_sums));
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
