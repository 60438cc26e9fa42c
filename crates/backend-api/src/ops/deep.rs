//! Out-of-domain sampling and DEEP quotients in the form of stwo 2.3.
//!
//! DEEP is described in <https://eprint.iacr.org/2019/336>.
//!
//! For a column `f` that is claimed to have the value `v` at the point `z`, the line through
//! `(z.y, v)` and the conjugates of both is `slope y + constant` over `factor`, with
//! `factor = conj(z.y) - z.y`, `slope = conj(v) - v` and `constant = v factor - slope z.y`. The
//! quotient `(factor f(p) - slope p.y - constant) / D(p)` is a polynomial only if the claim is
//! true, where `D(p) = (Re z.x - p.x) Im z.y - (Re z.y - p.y) Im z.x` with `Re` and `Im` for the
//! two halves of an element of the secure field. All terms of a proof are added up, each times a
//! power of a challenge; the terms at one point share `D`.

use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm, PointAt},
    },
};

pub use super::sets::DeepOps;
use crate::{
    BufferRef,
    ops::{columns::check_log, op, op::lengths::pow2},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! deep_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of sampling outside the domain and of DEEP quotients.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// lists that refer to missing entries. Nothing is written then.
            deep::DeepOps: Queue {
                deep_points(DeepPoints),
                deep_lines(DeepLines),
                deep_numerators(DeepNumerators),
                deep_quotients(DeepQuotients),
            }
        }
    };
}

op! {
    /// Writes points derived from the out-of-domain point.
    ///
    /// The out-of-domain point is `((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))`.
    ///
    /// If `t^2 = -1`, the points are all zero, which is no point of the circle.
    pub struct DeepPoints<'a, Q> as "deep_points" {
        /// The points to make.
        points_at: plain &'a [PointAt],
        /// The challenge `t`.
        parameter: read QM31 [1],
        /// x and y of each point.
        points: write QM31 [points, 2],
    }
    sizes(self) {
        let points = self.points_at.len();
    }
    valid(self) {
        self.points_at.iter().all(|point| point.doublings <= 31), "expected at most 31 doublings of a point";
    }
}

op! {
    /// Computes the coefficients of the quotients.
    ///
    /// Each claim is multiplied by its power of the challenge: one `factor` per term, and per batch
    /// the sums of `slope` and of `constant`.
    pub struct DeepLines<'a, Q> as "deep_lines" {
        /// All terms.
        terms: plain &'a [DeepTerm],
        /// All batches, which take the terms one after the other.
        batches: plain &'a [DeepBatch],
        /// `[points][2]`: x and y.
        points: read QM31,
        /// The sampled values.
        sampled: read QM31,
        /// The powers of the challenge.
        powers: read QM31,
        /// One for each term.
        factors: write QM31 [terms],
        /// Slope and constant of each batch.
        lines: write QM31 [batches, 2],
    }
    sizes(self) {
        let (terms, batches) = (self.terms.len(), self.batches.len());
        let (points, sampled, powers) = (self.points.len() / 2, self.sampled.len(), self.powers.len());
    }
    valid(self) {
        self.terms.iter().all(|term| (term.value as usize) < sampled && (term.power as usize) < powers),
            "a term refers to a value or power out of range";
        cover(self.batches, terms), "batches must be non-empty, consecutive and cover every term";
        self.batches.iter().all(|batch| (batch.point as usize) < points), "a batch refers to a point out of range";
    }
}

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

op! {
    /// Writes the sum of all quotients at the first positions of a canonic domain.
    ///
    /// A batch with `2^l` numerators among positions `p` of `2^n` gives the one at
    /// [`lifted(p, n, l)`](core_types::air::lifted). Batches of one point, which follow each other,
    /// share its denominator; where that is zero, they add nothing.
    pub struct DeepQuotients<'a, Q> as "deep_quotients" {
        /// The domain.
        params: plain &'a DeepQuotientsParams,
        /// All batches.
        batches: plain &'a [DeepBatch],
        /// `[points][2]`: x and y.
        points: read QM31,
        /// Slope and constant of each batch.
        lines: read QM31 [batches, 2],
        /// Four planes of `2^log_size` words for each batch, one batch after the other.
        ///
        /// `log_size` is the size of the batch.
        numerators: read M31 [words],
        /// The quotients, in four planes.
        quotients: write M31 [4, pow2(log_size)],
    }
    sizes(self) {
        let DeepQuotientsParams { log_size, log_domain } = *self.params;
        check_log(OP, log_domain)?;
        let (batches, points) = (self.batches.len(), self.points.len() / 2);
        let planes = |batch: &DeepBatch| pow2(batch.log_size).saturating_mul(4);
        let words = self.batches.iter().map(planes).fold(0, u64::saturating_add);
    }
    valid(self) {
        log_domain >= 1 && log_size <= log_domain,
            "expected `log_domain` in 1..=30 and `log_size` of at most `log_domain`";
        self.batches.iter().all(|batch| (batch.point as usize) < points), "a batch refers to a point out of range";
        self.batches.iter().all(|batch| batch.log_size <= log_size), "a batch has more numerators than positions";
        log_size == 0 || self.batches.iter().all(|batch| batch.log_size >= 1),
            "a batch has 1 numerator, expected at least 2 (both points of a pair)";
    }
}

/// Whether the batches take all terms, one after the other, and each at least one.
fn cover(batches: &[DeepBatch], terms: usize) -> bool {
    let end = batches.iter().try_fold(0, |next: usize, batch| {
        let follows = batch.first as usize == next && batch.count > 0;
        follows.then(|| next.saturating_add(batch.count as usize))
    });
    end == Some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_terms_if_they_follow_each_other_and_none_is_empty() {
        let covered = |parts: &[[u32; 2]], terms| {
            let batch = |&[first, count]: &[u32; 2]| DeepBatch { first, count, point: 0, log_size: 0 };
            cover(&parts.iter().map(batch).collect::<Vec<_>>(), terms)
        };
        assert!(covered(&[], 0) && covered(&[[0, 5]], 5) && covered(&[[0, 1], [1, 3], [4, 1]], 5));
        for (parts, terms) in [
            (&[[0, 2], [2, 3]][..], 4),
            (&[[0, 2], [2, 3]], 6),
            (&[[0, 2], [3, 2]], 5),
            (&[[0, 3], [2, 3]], 5),
            (&[[1, 4]], 5),
            (&[[0, 0], [0, 5]], 5),
            (&[[0, 5], [5, 0]], 5),
            (&[[0, u32::MAX], [0, 5]], 5),
            (&[], 1),
        ] {
            assert!(!covered(parts, terms), "{parts:?} of {terms}");
        }
    }
}
