//! The row that stwo's evaluator reads while an AIR is recorded.

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::{array, mem, ops::Mul};

use core_types::air::{Fraction, Tree};
use num_traits::One;
use stwo::core::Fraction as StwoFraction;
use stwo_constraint_framework::{EvalAtRow, PREPROCESSED_TRACE_IDX, preprocessed_columns::PreProcessedColumnId};

use crate::{FrameworkError, step::TapeStep, tape::AirTape, value::TapeValue};

/// The most rows that one mask may read.
pub(crate) const MOST_OFFSETS: usize = 16;

/// A row whose values are steps of a tape.
#[derive(Debug)]
pub(crate) struct Recorder<'t> {
    tape: &'t AirTape,
    fractions: Vec<StwoFraction<TapeValue<'t>, TapeValue<'t>>>,
    finalized: bool,
}

impl<'t> Recorder<'t> {
    pub(crate) const fn new(tape: &'t AirTape) -> Self {
        Self { tape, fractions: Vec::new(), finalized: false }
    }

    /// Refuses look-ups that were not finalized.
    pub(crate) fn finish(self) {
        if !self.finalized && !self.fractions.is_empty() {
            self.tape.refuse(FrameworkError::Unfinished { fractions: self.fractions.len() });
        }
    }

    fn refuse<const N: usize>(&self, error: FrameworkError) -> [TapeValue<'t>; N] {
        self.tape.refuse(error);
        [(); N].map(|()| TapeValue::one())
    }

    /// The fractions by column, in order, where `batches` has the column of each.
    fn batched(
        &mut self,
        batches: &[usize],
    ) -> Result<Vec<StwoFraction<TapeValue<'t>, TapeValue<'t>>>, FrameworkError> {
        let (fractions, got) = (self.fractions.len(), batches.len());
        if self.finalized || fractions == 0 {
            return Err(FrameworkError::Finalized);
        }
        self.finalized = true;
        if fractions != got {
            return Err(FrameworkError::Batches { fractions, got });
        }
        let used: BTreeSet<usize> = batches.iter().copied().collect();
        if let Some(missing) = (0..used.len()).find(|batch| !used.contains(batch)) {
            return Err(FrameworkError::Gap { missing });
        }
        let mut columns: Vec<Vec<_>> = vec![Vec::new(); used.len()];
        for (&batch, fraction) in batches.iter().zip(mem::take(&mut self.fractions)) {
            columns[batch].push(fraction);
        }
        Ok(columns.into_iter().map(|column| column.into_iter().sum()).collect())
    }
}

impl<'t> EvalAtRow for Recorder<'t> {
    type F = TapeValue<'t>;
    type EF = TapeValue<'t>;

    fn get_preprocessed_column(&mut self, column: PreProcessedColumnId) -> TapeValue<'t> {
        TapeValue::Node(self.tape, self.tape.preprocessed(column.id))
    }

    fn next_interaction_mask<const N: usize>(&mut self, interaction: usize, offsets: [isize; N]) -> [TapeValue<'t>; N] {
        if interaction == PREPROCESSED_TRACE_IDX {
            return self.refuse(FrameworkError::PreprocessedMask);
        }
        if N > MOST_OFFSETS {
            return self.refuse(FrameworkError::TooMany { what: "rows in a mask", most: MOST_OFFSETS });
        }
        let mut rows = Vec::with_capacity(N);
        for offset in offsets {
            match i32::try_from(offset) {
                Ok(row) => rows.push(row),
                Err(_) => return self.refuse(FrameworkError::Mask { tree: interaction, offset }),
            }
        }
        let Ok(tree) = u32::try_from(interaction) else {
            return self.refuse(FrameworkError::Mask { tree: interaction, offset: 0 });
        };
        let first = self.tape.column(Tree(tree), rows);
        array::from_fn(|k| TapeValue::Node(self.tape, first + k as u32))
    }

    fn add_constraint<G>(&mut self, constraint: G)
    where
        Self::EF: Mul<G, Output = Self::EF> + From<G>,
    {
        let value = TapeValue::from(constraint).id(self.tape);
        self.tape.state(TapeStep::Constraint(value));
    }

    fn combine_ef(values: [TapeValue<'t>; 4]) -> TapeValue<'t> {
        TapeValue::join(values)
    }

    fn write_logup_frac(&mut self, fraction: StwoFraction<TapeValue<'t>, TapeValue<'t>>) {
        if self.finalized {
            self.tape.refuse(FrameworkError::Finalized);
        }
        let StwoFraction { numerator, denominator } = fraction;
        let denominator = denominator.id(self.tape);
        if !self.tape.has_elements() && self.tape.is_without_challenge(denominator) {
            self.tape.refuse(FrameworkError::NoChallenge { fraction: self.fractions.len() });
        }
        self.fractions.push(StwoFraction { numerator, denominator: TapeValue::Node(self.tape, denominator) });
    }

    fn finalize_logup_batched(&mut self, batching: &Vec<usize>) {
        let columns = match self.batched(batching) {
            Ok(columns) => columns,
            Err(error) => return self.tape.refuse(error),
        };
        let tape = self.tape;
        let mut previous = None;
        let last = columns.len() - 1;
        for (k, StwoFraction { numerator, denominator }) in columns.into_iter().enumerate() {
            let fraction = Fraction { numerator: numerator.id(tape), denominator: denominator.id(tape) };
            if k < last {
                previous = Some(tape.value(TapeStep::PartialSum(previous, fraction)));
            } else {
                tape.state(TapeStep::RunningSum(previous, fraction));
            }
        }
    }

    fn finalize_logup(&mut self) {
        let batches = (0..self.fractions.len()).collect();
        self.finalize_logup_batched(&batches);
    }

    fn finalize_logup_in_pairs(&mut self) {
        let batches = (0..self.fractions.len()).map(|fraction| fraction / 2).collect();
        self.finalize_logup_batched(&batches);
    }
}
