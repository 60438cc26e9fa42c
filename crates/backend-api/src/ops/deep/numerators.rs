//! Numerators of the quotients of columns of one height.

use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepTerm},
    },
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Adds up `factor f(p)` over the terms of each batch, at the first positions of the columns.
    pub struct DeepNumerators<'a, Q> as "deep_numerators" {
        /// Number of positions.
        params: plain &'a DeepNumeratorsParams,
        /// All columns of the proof; a column of a term has at least one value per position.
        columns: plain &'a [ColumnAt],
        /// All terms.
        terms: plain &'a [DeepTerm],
        /// The batches of this height, any number; `log_size` equals the parameter.
        batches: plain &'a [DeepBatch],
        /// The buffer that the columns are in.
        values: read M31,
        /// The factors of all terms.
        factors: read QM31,
        /// `[batches]`, four planes of `2^log_size` words each.
        numerators: write M31,
    }
}

impl<Q: Queue> DeepNumerators<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`DeepOps`](super::DeepOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_size = self.params.log_size;
        check_log(Self::NAME, log_size)?;
        let refused = |why| Err(BackendError::Unsupported { op: Self::NAME, why });
        let words = self.values.len();
        for batch in self.batches {
            let terms = self.terms.get(batch.first as usize..).and_then(|terms| terms.get(..batch.count as usize));
            let Some(terms) = terms else { return refused("a batch refers to terms out of range") };
            if batch.log_size != log_size {
                return refused("the log size of a batch differs from the op's");
            }
            for term in terms {
                let Some(column) = self.columns.get(term.column as usize) else {
                    return refused("a term refers to a column out of range");
                };
                if column.log_len < log_size || column.end().is_none_or(|end| end > words as u64) {
                    return refused("a column is shorter than the domain or reaches past the end of its buffer");
                }
            }
        }
        self.expect([words, self.terms.len(), planes(self.batches.len(), log_size)])
    }
}
