//! What an AIR reads and states.

use core_types::{
    air::{Air, Fraction},
    circle::MAX_LOG_DOMAIN,
};

use crate::{
    Program, RecordError,
    arena::{ExpressionArena, NodeOp},
    compile::compile,
    recorder::{ConstraintRow, Fractions},
};

/// What an AIR reads and states, counted and recorded once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    log_rows: u32,
    log_degree_bound: u32,
    columns: Vec<Vec<Vec<i32>>>,
    preprocessed_slots: u32,
    challenges: u32,
    constraints: Program,
    fractions: Option<Program>,
}

impl Recorded {
    /// Records `air`.
    ///
    /// # Errors
    /// An AIR without rows, one whose constraints have a greater degree than it states, one with
    /// unsupported reads, and one that is larger than programs may be.
    pub fn new<A: Air>(air: &A) -> Result<Self, RecordError> {
        let mut recorded = Self::of_constraints(air)?;
        let interaction = recorded.columns.get(2).map_or(0, Vec::len);
        recorded.fractions = fractions(air, interaction)?;
        Ok(recorded)
    }

    /// Records only the constraints of `air`, for a prover that is given the interaction columns.
    ///
    /// There is no program that computes them, so the AIR may have other interaction columns than
    /// its look-up columns.
    ///
    /// # Errors
    /// As [`new`](Self::new), except errors of fractions.
    pub fn of_constraints<A: Air>(air: &A) -> Result<Self, RecordError> {
        let (log_rows, log_degree_bound) = (air.log_rows(), air.log_degree_bound());
        check_sizes(log_rows, log_degree_bound)?;
        let arena = ExpressionArena::default();
        let mut row = ConstraintRow::new(&arena);
        air.eval(&mut row);
        Self::of_row(row, &arena, log_rows, log_degree_bound)
    }

    /// Compiles recorded constraints to a program. Not generic: one instance for all AIRs.
    fn of_row(
        row: ConstraintRow<'_>,
        arena: &ExpressionArena,
        log_rows: u32,
        log_degree_bound: u32,
    ) -> Result<Self, RecordError> {
        let ConstraintRow { reads, values } = row;
        arena.check()?;
        if let Some(error) = reads.error {
            return Err(error);
        }
        let most = (1u32 << (log_degree_bound - log_rows)) + 1;
        let outputs: Vec<u32> = values.iter().map(|value| value.id(arena)).collect();
        arena.check()?;
        for (constraint, &output) in outputs.iter().enumerate() {
            let degree = arena.get(output).degree;
            if degree > most {
                return Err(RecordError::Degree { constraint, degree, most });
            }
        }
        let constraints = compile(arena, &outputs, &reads)?;
        Ok(Self {
            log_rows,
            log_degree_bound,
            columns: reads.columns,
            preprocessed_slots: reads.preprocessed,
            challenges: reads.challenges,
            constraints,
            fractions: None,
        })
    }

    /// Log of the number of rows.
    #[must_use]
    pub const fn log_rows(&self) -> u32 {
        self.log_rows
    }

    /// Log of a bound on the degree of the composition polynomial.
    ///
    /// This is the polynomial of the constraints divided by the vanishing polynomial of the rows.
    #[must_use]
    pub const fn log_degree_bound(&self) -> u32 {
        self.log_degree_bound
    }

    /// Number of constraints.
    #[must_use]
    pub const fn constraints(&self) -> usize {
        self.constraints.outputs as usize
    }

    /// Slots of preprocessed columns.
    #[must_use]
    pub const fn preprocessed_slots(&self) -> u32 {
        self.preprocessed_slots
    }

    /// Slots of challenges that the AIR reads. Programs read the mean in the slot after them.
    #[must_use]
    pub const fn challenges(&self) -> u32 {
        self.challenges
    }

    /// The offsets at which each column is read, by tree and by index within the component.
    ///
    /// The preprocessed tree has none here.
    #[must_use]
    pub fn columns(&self) -> &[Vec<Vec<i32>>] {
        &self.columns
    }

    /// The program whose output `k` is constraint `k`.
    #[must_use]
    pub const fn constraint_program(&self) -> &Program {
        &self.constraints
    }

    /// The program of the interaction columns' fractions; `None` without look-ups.
    ///
    /// Its outputs `2k` and `2k + 1` are the numerator and the denominator of interaction column
    /// `k`, all of them values of the secure field. It reads only the trace and preprocessed
    /// columns.
    #[must_use]
    pub const fn fraction_program(&self) -> Option<&Program> {
        self.fractions.as_ref()
    }
}

fn check_sizes(log_rows: u32, log_degree_bound: u32) -> Result<(), RecordError> {
    if !(1..=MAX_LOG_DOMAIN).contains(&log_rows) {
        return Err(RecordError::LogRows { got: log_rows });
    }
    if !(log_rows..=MAX_LOG_DOMAIN).contains(&log_degree_bound) {
        return Err(RecordError::LogDegreeBound { log_rows, got: log_degree_bound });
    }
    Ok(())
}

/// The program of the fractions, where there are any.
fn fractions<A: Air>(air: &A, interaction: usize) -> Result<Option<Program>, RecordError> {
    let arena = ExpressionArena::default();
    let mut row = Fractions::new(&arena);
    air.eval(&mut row);
    arena.check()?;
    row.check(interaction)?;
    fractions_of_row(&row, &arena)
}

/// Compiles recorded fractions to a program. Not generic: one instance for all AIRs.
fn fractions_of_row(row: &Fractions<'_>, arena: &ExpressionArena) -> Result<Option<Program>, RecordError> {
    if row.values.is_empty() {
        return Ok(None);
    }
    let of = |fraction: &Fraction<_>| [fraction.numerator, fraction.denominator];
    let outputs: Vec<u32> = row.values.iter().flat_map(of).map(|value| value.id(arena)).collect();
    arena.check()?;
    // Operands come before the nodes computed from them.
    let mut missing: Vec<bool> = Vec::with_capacity(arena.len());
    for id in 0..arena.len() as u32 {
        let op = arena.get(id).op;
        missing.push(op == NodeOp::Missing || op.operands().iter().any(|&operand| missing[operand as usize]));
    }
    if let Some(output) = outputs.iter().position(|&output| missing[output as usize]) {
        return Err(RecordError::FractionReadsInteraction { fraction: output / 2 });
    }
    compile(arena, &outputs, &row.reads).map(Some)
}
