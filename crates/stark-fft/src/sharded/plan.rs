//! Transforms between values and coefficients that several ranks have parts of.

use core::ops::Range;

use backend_api::{
    Buffer as _, Collective, Ref,
    ops::{
        air::AirOps,
        circle::{CircleEvaluate, CircleInterpolate, CircleOps},
    },
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleFftParams,
};

use super::{ShardTwiddles, ShardedColumns, check, cross::CrossLayers, or_end};
use crate::{BitReversed, Coefficients, FftError, Shard, domain::column_count};

/// A checked batch shape for transforms of columns shared by `G` ranks.
///
/// Each rank has a separate queue.
///
/// Use it if the columns are too long for one device, or if there are fewer columns than devices;
/// otherwise it is faster for each device to transform whole columns. A rank runs the lower layers
/// on its [`Shard`] of the positions, and the upper `log2 G` on its runs of coefficients. In
/// between, one all-to-all for each column exchanges the elements of other ranks: each rank sends
/// `N/G^2` elements to each other one. The workspace is one rank's part of one column.
///
/// All ranks make the same calls. A rank whose device fails ends the others, each with an error
/// that names it.
///
/// ```
/// use std::thread;
///
/// use backend_api::Ranks;
/// use stark_fft::{
///     CanonicDomain, Coefficients, FftError, HostColumns, BitReversed, M31, Shard, ShardTwiddles, ShardedCfftPlan, ShardedColumns,
/// };
///
/// let domain = CanonicDomain::new(6)?;
/// let host = HostColumns::<BitReversed>::new(domain, (0..64).map(M31::from_u32).collect())?;
/// let transform = |ranks: collective::Staged<collective::Local>| -> Result<(), FftError> {
///     let q = runtime::cpu().unwrap();
///     let shard = Shard::new(domain, ranks.rank(), ranks.ranks())?;
///     let (twiddles, plan) = (ShardTwiddles::new(&q, shard)?, ShardedCfftPlan::new(shard, 1)?);
///
///     let values = ShardedColumns::upload(&q, shard, &host)?; // a quarter of them
///     let coefficients = plan.interpolate(&q, &twiddles, &ranks, values)?;
///     let values = plan.evaluate(&q, &twiddles, &ranks, coefficients)?;
///     assert_eq!(values.download(&q)?, host.as_slice()[shard.positions()]);
///     Ok(())
/// };
/// thread::scope(|scope| {
///     let ranks: Vec<_> = collective::Local::group(4).into_iter().map(|ranks| scope.spawn(|| transform(ranks))).collect();
///     ranks.into_iter().try_for_each(|rank| rank.join().unwrap())
/// })?;
/// # Ok::<(), FftError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardedCfftPlan {
    shard: Shard,
    params: CircleFftParams,
    up: CrossLayers,
    down: CrossLayers,
}

impl ShardedCfftPlan {
    /// Plans the transform of `columns` columns, for the rank that has `shard`.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] if the whole batch exceeds the address space or 2^32 - 1
    /// columns.
    pub fn new(shard: Shard, columns: usize) -> Result<Self, FftError> {
        let params = CircleFftParams { log_size: shard.log_len(), columns: column_count(shard.domain(), columns)? };
        let (up, down) = (CrossLayers::interpolating(&shard), CrossLayers::evaluating(&shard, shard.domain()));
        Ok(Self { shard, params, up, down })
    }

    /// Bytes that this rank sends to each other one in a transform: `4 N/G^2` for each column.
    #[must_use]
    pub fn bytes_to_each(&self) -> u64 {
        let words = if self.shard.ranks() == 1 { 0 } else { u64::from(self.params.columns) << self.shard.log_run() };
        4 * words
    }

    /// Interpolates values at this rank's positions to its part of the coefficients, in place.
    ///
    /// The coefficients belong to the unique polynomials of the circle basis through the values of
    /// all ranks.
    ///
    /// # Errors
    /// [`FftError::Shape`], [`FftError::Shard`], [`FftError::Group`] or
    /// [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] or
    /// [`FftError::Collective`] after.
    pub fn interpolate<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        twiddles: &ShardTwiddles<Q>,
        ranks: &impl Collective<Q>,
        mut values: ShardedColumns<Q, BitReversed>,
    ) -> Result<ShardedColumns<Q, Coefficients>, FftError> {
        check(ranks, &self.shard, self.params.columns, (&values.shard, values.count))?;
        let inverse_twiddles = twiddles.inverse(&self.shard)?;
        or_end(ranks, self.to_coefficients(q, inverse_twiddles, ranks, &mut values.buf))?;
        Ok(ShardedColumns::labelled(self.shard, values.count, values.buf))
    }

    /// Evaluates this rank's part of the coefficients to the values at its positions.
    ///
    /// It works in place and inverts [`interpolate`](Self::interpolate).
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn evaluate<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        twiddles: &ShardTwiddles<Q>,
        ranks: &impl Collective<Q>,
        mut coefficients: ShardedColumns<Q, Coefficients>,
    ) -> Result<ShardedColumns<Q, BitReversed>, FftError> {
        check(ranks, &self.shard, self.params.columns, (&coefficients.shard, coefficients.count))?;
        let twiddles = twiddles.forward(&self.shard)?;
        or_end(ranks, self.to_values(q, twiddles, ranks, &mut coefficients.buf))?;
        Ok(ShardedColumns::labelled(self.shard, coefficients.count, coefficients.buf))
    }

    fn to_coefficients<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        inverse_twiddles: Ref<'_, Q, Twiddle>,
        ranks: &impl Collective<Q>,
        columns: &mut Q::Buf<M31>,
    ) -> Result<(), FftError> {
        let inverse_twiddles = q.shorten(inverse_twiddles);
        q.circle_interpolate(CircleInterpolate {
            params: &self.params,
            inverse_twiddles,
            columns: columns.view_mut(),
        })?;
        if self.shard.ranks() == 1 {
            return Ok(());
        }
        let mut runs = q.alloc::<M31>(self.shard.len())?;
        for column in self.parts() {
            ranks.all_to_all(q, columns.slice(column.clone())?, runs.view_mut())?;
            self.up.run(q, runs.view(), columns.slice_mut(column)?)?;
        }
        Ok(())
    }

    fn to_values<Q: CircleOps + AirOps>(
        &self,
        q: &Q,
        twiddles: Ref<'_, Q, Twiddle>,
        ranks: &impl Collective<Q>,
        columns: &mut Q::Buf<M31>,
    ) -> Result<(), FftError> {
        if self.shard.ranks() > 1 {
            let mut runs = q.alloc::<M31>(self.shard.len())?;
            for column in self.parts() {
                self.down.run(q, columns.slice(column.clone())?, runs.view_mut())?;
                ranks.all_to_all(q, runs.view(), columns.slice_mut(column)?)?;
            }
        }
        let (twiddles, columns) = (q.shorten(twiddles), columns.view_mut());
        Ok(q.circle_evaluate(CircleEvaluate { params: &self.params, twiddles, columns })?)
    }

    /// Where the part of each column is.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.shard.len();
        (0..self.params.columns as usize).map(move |column| column * len..(column + 1) * len)
    }
}
