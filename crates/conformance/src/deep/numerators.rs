//! Sums of columns times their factors, checked position by position.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::deep::{DeepNumerators, DeepOps},
};
use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepTerm},
    },
};

use super::NamedChange;
use crate::{
    Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _, secure, spec::BATCHES,
};

/// Columns in a buffer, and batches that take terms of them.
pub(super) struct DeepColumns {
    pub(super) log_size: u32,
    pub(super) columns: Vec<ColumnAt>,
    pub(super) terms: Vec<DeepTerm>,
    pub(super) batches: Vec<DeepBatch>,
    pub(super) values: Vec<M31>,
    pub(super) factors: Vec<QM31>,
}

impl DeepColumns {
    /// Random columns of `2^log_size` words or more, out of order and with gaps between them.
    ///
    /// Terms are drawn for every entry of `counts`; every second batch is omitted, so its terms are
    /// unused.
    fn random(log_size: u32, columns: u32, counts: &[u32]) -> Self {
        let mut stream = ElementStream::new(u64::from(columns) << 8 | u64::from(log_size));
        let mut places = Vec::new();
        let mut end = 3;
        for i in 0..columns {
            let column = ColumnAt::new(end, log_size + i % 3);
            end += (1 << column.log_len) + u64::from(i % 5);
            places.push(column);
        }
        places.reverse();
        let (mut terms, mut batches) = (Vec::new(), Vec::new());
        for (i, &count) in counts.iter().enumerate() {
            if i % 2 == 0 {
                batches.push(DeepBatch { first: terms.len() as u32, count, point: 0, log_size });
            }
            for _ in 0..count {
                let column = stream.word() as u32 % columns;
                terms.push(DeepTerm { column, value: 0, power: 0, reserved: 0 });
            }
        }
        let values = stream.column(end as usize);
        let factors = terms.iter().map(|_| stream.qm31()).list();
        Self { log_size, columns: places, terms, batches, values, factors }
    }

    pub(super) fn numerators(&self, q: &Conditioned) -> Result<Vec<M31>, BackendError> {
        let (values, factors) = (q.upload(&self.values)?, q.upload(&self.factors)?);
        let mut numerators = q.zeros((4 * self.batches.len()) << self.log_size)?;
        q.deep_numerators(DeepNumerators {
            params: &DeepNumeratorsParams { log_size: self.log_size },
            columns: &self.columns,
            terms: &self.terms,
            batches: &self.batches,
            values: values.view(),
            factors: factors.view(),
            numerators: numerators.view_mut(),
        })?;
        q.download(&numerators)
    }

    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let mut expected = Vec::new();
        for batch in &self.batches {
            let range = batch.first as usize..(batch.first + batch.count) as usize;
            let sum_at = |position: usize| {
                let terms = self.terms[range.clone()].iter().zip(&self.factors[range.clone()]);
                terms.fold(QM31::ZERO, |sum, (term, &factor)| {
                    let first = self.columns[term.column as usize].first as usize;
                    sum + factor * QM31::from(self.values[first + position])
                })
            };
            let sums: Vec<QM31> = (0..1usize << self.log_size).map(sum_at).list();
            expected.extend(secure::planes(&sums));
        }
        Failure::unless_equal(&expected, &self.numerators(q)?)
    }
}

pub(super) fn numerators() -> OpSpec {
    let mut cases = Vec::new();
    for log_size in (0..=10).chain([12, 13]) {
        let case = Case::new(format!("2^{log_size} positions"), move |q| {
            DeepColumns::random(log_size, 9, &[5, 1, 18]).hold(q)
        });
        cases.push(case.on_elements(27 << log_size));
    }
    for batches in BATCHES {
        cases.push(Case::new(format!("{batches} batches"), move |q| {
            let counts: Vec<u32> = (0..2 * batches).map(|i| 1 + i % 4).list();
            DeepColumns::random(4, 5, &counts).hold(q)
        }));
    }
    for terms in [1, 3, 4, 5, 15, 16, 17, 33, 108, 300] {
        let case = Case::new(format!("{terms} terms"), move |q| {
            DeepColumns::random(5, 40, &[terms]).hold(q)?;
            DeepColumns::random(2, 40, &[terms, 2, 1]).hold(q)
        });
        cases.push(case.on_elements(u64::from(terms) << 5));
    }
    cases.push(Case::new("a batch of no terms", |q| DeepColumns::random(6, 2, &[0, 1, 2]).hold(q)));
    cases.push(Case::new("greatest words", |q| {
        for terms in 1..=20 {
            let mut columns = DeepColumns::random(5, 1, &[terms]);
            columns.values.fill(-M31::ONE);
            columns.factors.fill(QM31::from_coordinates([-M31::ONE; 4]));
            columns.hold(q)?;
        }
        Ok(())
    }));
    cases.push(Case::new("columns that there are not", |q| {
        let changes: [NamedChange<DeepColumns>; 5] = [
            ("a column beyond the last", |all| all.terms[1].column = 4),
            ("a column with fewer values than positions", |all| all.columns[all.terms[1].column as usize].log_len = 2),
            ("a column that leaves its buffer", |all| {
                all.columns[all.terms[1].column as usize].first = all.values.len() as u64 - 7;
            }),
            ("a batch with a term beyond the last", |all| all.batches[0].count = 3),
            ("a batch of another height", |all| all.batches[0].log_size = 2),
        ];
        changes.into_iter().try_for_each(|(what, change)| {
            let mut columns = DeepColumns::random(3, 4, &[2]);
            change(&mut columns);
            Failure::unless_refused(what, columns.numerators(q).map(drop))
        })
    }));
    OpSpec { op: "deep.numerators", cases }
}
