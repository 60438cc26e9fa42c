//! Numerators of the quotients of columns of one height.

use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepTerm},
    },
};

use crate::{
    BufferRef,
    ops::{columns::check_log, lengths::pow2, op},
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
        factors: read QM31 [terms],
        /// The numerators of each batch, in four planes.
        numerators: write M31 [batches, 4, pow2(log_size)],
    }
    sizes(self) {
        let (batches, terms, words) = (self.batches.len(), self.terms.len(), self.values.len() as u64);
        let log_size = self.params.log_size;
        check_log(OP, log_size)?;
        let terms_of = |batch: &DeepBatch| self.terms.get(batch.first as usize..)?.get(..batch.count as usize);
        let column_of = |term: &DeepTerm| self.columns.get(term.column as usize);
        let there = |column: &ColumnAt| column.end().is_some_and(|end| end <= words);
    }
    valid(self) {
        self.batches.iter().all(|batch| terms_of(batch).is_some()), "a batch refers to terms out of range";
        self.batches.iter().all(|batch| batch.log_size == log_size), "the log size of a batch differs from the op's";
        self.batches.iter().filter_map(terms_of).flatten().all(|term| column_of(term).is_some()),
            "a term refers to a column out of range";
        self.batches.iter().filter_map(terms_of).flatten().filter_map(column_of)
            .all(|column| column.log_len >= log_size && there(column)),
            "a column is shorter than the domain or reaches past the end of its buffer";
    }
}
