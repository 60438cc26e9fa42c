//! Low-degree extension of columns that several ranks have parts of.

use core::ops::Range;

use backend_api::{
    Buffer as _, BufferMut as _, BufferRef as _, Collective, Mut, Ref,
    ops::{
        air::AirOps,
        circle::{CircleExtend, CircleOps, CircleRestrict},
    },
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CircleExtendParams, CircleRestrictParams},
};

use super::{ShardTwiddles, ShardedColumns, check, cross::CrossLayers, or_end};
use crate::{BitReversed, CanonicDomain, Coefficients, FftError, Shard, domain::column_count};

/// A checked batch shape for low-degree extension of columns that `G` ranks share, by `2^b`.
///
/// Each rank has its [`Shard`] of the coefficients before and of the extended values after. If
/// there are more ranks than copies, `G > 2^b`, the upper layers run once for each copy, and an
/// all-to-all for each of the `2^b` blocks of a rank delivers `2^b N/G^2` elements from each other
/// rank. Otherwise each rank has whole copies, and gathers the `N/G` coefficients of each other
/// rank, a column at a time. The workspace is `(2^b +
/// 1) N/G` elements, or `N`.
///
/// See [`ShardedCfftPlan`](super::ShardedCfftPlan) for the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardedLdePlan {
    coefficients: Shard,
    values: Shard,
    columns: u32,
    /// None if each rank has whole copies.
    cross: Option<CrossLayers>,
}

impl ShardedLdePlan {
    /// A plan for evaluating `columns` polynomials on `domain`.
    ///
    /// This rank has a shard of the coefficients of each polynomial.
    ///
    /// # Errors
    /// [`FftError::DomainTooSmall`] if `domain` has fewer points than there are coefficients,
    /// [`FftError::TooManyColumns`] if the whole batch exceeds the address space or 2^32 - 1
    /// columns.
    pub fn new(coefficients: Shard, domain: CanonicDomain, columns: usize) -> Result<Self, FftError> {
        let small = coefficients.domain();
        if domain < small {
            return Err(FftError::DomainTooSmall { coefficients: small.log_size(), domain: domain.log_size() });
        }
        let has_parts = domain.log_size() - small.log_size() < coefficients.log_ranks();
        let cross = has_parts.then(|| CrossLayers::evaluating(&coefficients, domain));
        Ok(Self { coefficients, values: coefficients.on(domain)?, columns: column_count(domain, columns)?, cross })
    }

    /// Which of the values this rank has in the end.
    #[must_use]
    pub fn values(&self) -> Shard {
        self.values
    }

    /// Bytes that this rank sends to each other rank.
    ///
    /// For each column this is `4 * 2^b N/G^2` if there are more ranks than copies, else `4 N/G`.
    #[must_use]
    pub fn bytes_to_each(&self) -> u64 {
        let words = match &self.cross {
            _ if self.coefficients.ranks() == 1 => 0,
            Some(_) => self.values.len() >> self.values.log_ranks(),
            None => self.coefficients.len(),
        };
        4 * u64::from(self.columns) * words as u64
    }

    /// The values of every polynomial at this rank's positions of the plan's domain.
    ///
    /// The coefficients are kept.
    ///
    /// # Errors
    /// [`FftError::Shape`], [`FftError::Shard`], [`FftError::Group`] or
    /// [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] or
    /// [`FftError::Collective`] after.
    pub fn extend<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        twiddles: &ShardTwiddles<Q>,
        ranks: &impl Collective<Q>,
        coefficients: &ShardedColumns<Q, Coefficients>,
    ) -> Result<ShardedColumns<Q, BitReversed>, FftError> {
        check(ranks, &self.coefficients, self.columns, (&coefficients.shard, coefficients.count))?;
        let twiddles = twiddles.forward(&self.values)?;
        let extend = || {
            let mut values = q.alloc::<M31>(self.columns as usize * self.values.len())?;
            match &self.cross {
                Some(cross) => self.extend_blocks(q, cross, twiddles, ranks, &coefficients.buf, &mut values)?,
                None => self.extend_copies(q, twiddles, ranks, &coefficients.buf, &mut values)?,
            }
            Ok(values)
        };
        Ok(ShardedColumns::labelled(self.values, self.columns, or_end(ranks, extend())?))
    }

    /// Where this rank's part of a column is, of its coefficients and of its values.
    fn part(&self, column: usize) -> [Range<usize>; 2] {
        [self.coefficients, self.values].map(|shard| column * shard.len()..(column + 1) * shard.len())
    }

    /// Each rank has some blocks of a copy.
    fn extend_blocks<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        cross: &CrossLayers,
        twiddles: Ref<'_, Q, Twiddle>,
        ranks: &impl Collective<Q>,
        coefficients: &Q::Buf<M31>,
        values: &mut Q::Buf<M31>,
    ) -> Result<(), FftError> {
        let len = self.coefficients.len();
        let (mut sent, mut block) = (q.alloc::<M31>(cross.words())?, q.alloc::<M31>(len)?);
        for column in 0..self.columns as usize {
            let [from, to] = self.part(column);
            cross.run(q, coefficients.slice(from)?, sent.view_mut())?;
            for number in 0..self.values.len() / len {
                ranks.all_to_all(q, sent.slice(number * len..(number + 1) * len)?, block.view_mut())?;
                let params = CircleRestrictParams {
                    log_coefficients: self.coefficients.log_len(),
                    log_domain: self.values.log_len(),
                    log_block: self.coefficients.log_len(),
                    block: number as u32, // below 2^8, the number of ranks
                    columns: 1,
                };
                let first = to.start + number * len;
                q.circle_restrict(CircleRestrict {
                    params: &params,
                    twiddles: q.shorten(twiddles),
                    coefficients: block.view(),
                    values: values.slice_mut(first..first + len)?,
                })?;
            }
        }
        Ok(())
    }

    /// Each rank has whole copies.
    fn extend_copies<Q: CircleOps>(
        &self,
        q: &Q,
        twiddles: Ref<'_, Q, Twiddle>,
        ranks: &impl Collective<Q>,
        coefficients: &Q::Buf<M31>,
        values: &mut Q::Buf<M31>,
    ) -> Result<(), FftError> {
        let extend = |coefficients: Ref<'_, Q, M31>, values: Mut<'_, Q, M31>| {
            let (log_coefficients, log_size) = (self.coefficients.domain().log_size(), self.values.log_len());
            let params = CircleExtendParams { log_coefficients, log_size, columns: (values.len() >> log_size) as u32 }; // of the plan's
            let (twiddles, coefficients) = (q.shorten(twiddles), q.shorten(coefficients));
            q.circle_extend(CircleExtend { params: &params, twiddles, coefficients, values: q.shorten_mut(values) })
        };
        if self.coefficients.ranks() == 1 {
            return Ok(extend(coefficients.view(), values.view_mut())?);
        }
        let (len, run) = (self.coefficients.len(), 1 << self.coefficients.log_run());
        let mut whole = q.alloc::<M31>(self.coefficients.domain().len())?;
        for column in 0..self.columns as usize {
            let [from, to] = self.part(column);
            let own = coefficients.slice(from)?;
            for number in 0..self.coefficients.ranks() {
                let share = |rank: usize| number * len + rank * run..number * len + (rank + 1) * run;
                let run = own.slice(number * run..(number + 1) * run)?;
                q.copy(run, whole.slice_mut(share(self.coefficients.rank()))?)?;
                ranks.all_gather(q, &mut whole, &(0..self.coefficients.ranks()).map(share).collect::<Vec<_>>())?;
            }
            extend(whole.view(), values.slice_mut(to)?)?;
        }
        Ok(())
    }
}
