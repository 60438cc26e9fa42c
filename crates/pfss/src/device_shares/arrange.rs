//! Shares at other places: slices, concatenations, transposes, repetitions and look-ups.
//!
//! Every place is public. The queue moves the shares; the host gets none of them.

use core::ops::Range;

use backend_api::{
    BufferRef as _, Ref,
    ops::{
        fss::FssOps,
        tensor::{CopyStridedU64, GatherU64, TensorOps},
    },
};
use core_types::{
    Ring,
    params::{
        elementwise::MAX_RANK,
        tensor::{CopyParams, TableParams},
    },
};

use super::{DeviceShares, arithmetic::check_count, linear::Factors, public::public_input};
use crate::{
    Party, PfssError,
    error::check_len,
    secret::staging::{StagedSecret, copy_on},
};

impl<'q, Q: FssOps> DeviceShares<'q, Q> {
    /// `len` shares of `party`, all 0: with the other party's zeros, shares of zeros.
    ///
    /// # Errors
    /// [`PfssError::Backend`].
    pub fn zeros(q: &'q Q, party: Party, ring: Ring, len: usize) -> Result<Self, PfssError> {
        Ok(Self::new(q, party, ring, StagedSecret::zeros(q, len)?))
    }

    /// Shares of the secrets modulo `ring`, which has at most the bits of the shares' ring.
    ///
    /// # Errors
    /// [`PfssError::WiderRing`] for a ring of more bits, [`PfssError::Length`] for more shares than
    /// one op takes, at most `2^32 - 1`, and [`PfssError::Backend`].
    pub fn in_ring(&self, ring: Ring) -> Result<Self, PfssError> {
        self.check_ring_within(ring)?;
        self.linear(ring, Factors::COPY, None)
    }

    /// Consecutive shares.
    ///
    /// # Errors
    /// [`PfssError::Length`] for a range that ends after the last share or before its start, and
    /// [`PfssError::Backend`].
    pub fn slice(&self, range: Range<usize>) -> Result<Self, PfssError> {
        check_most("shares at most before the end of a slice", self.len(), range.end)?;
        check_most("shares at most before the start of a slice", range.end, range.start)?;
        let words = copy_on(self.q, self.view().slice(range)?)?;
        Ok(Self::new(self.q, self.party, self.ring, words))
    }

    /// The shares of all parts, one part after the other.
    ///
    /// # Errors
    /// [`PfssError::Length`] without a part, [`PfssError::WrongParty`], [`PfssError::ShareRing`]
    /// or [`PfssError::OtherDevice`] for parts of different parties, rings or devices, and
    /// [`PfssError::Backend`].
    pub fn concat(parts: &[&Self]) -> Result<Self, PfssError> {
        let Some((first, others)) = parts.split_first() else {
            return Err(PfssError::Length { what: "part at least", expected: 1, got: 0 });
        };
        others.iter().try_for_each(|part| first.check_alike(part))?;
        first.followed_by(first.ring, others)
    }

    /// These shares, then all `others`, in `ring`.
    pub(crate) fn followed_by(&self, ring: Ring, others: &[&Self]) -> Result<Self, PfssError> {
        let (q, mut start) = (self.q, 0);
        let len = self.len() + others.iter().map(|part| part.len()).sum::<usize>();
        let mut all = StagedSecret::alloc(q, len)?;
        for part in [&[self], others].concat() {
            q.copy(q.shorten(part.view()), all.slice_mut(start..start + part.len())?)?;
            start += part.len();
        }
        Ok(Self::new(q, self.party, ring, all))
    }
}

impl<Q: FssOps + TensorOps> DeviceShares<'_, Q> {
    /// Shares with their axes in another order.
    ///
    /// The shares have the row-major `shape`, of at most 6 axes. Axis `i` of the result, which is
    /// row-major too, is axis `order[i]` of the shape: `[1, 0]` transposes a matrix.
    ///
    /// # Errors
    /// [`PfssError::Length`] for another number of shares than the shape's or for more than 6
    /// axes, [`PfssError::AxisOrder`] for an order that does not list each axis once, and
    /// [`PfssError::Backend`].
    pub fn permuted(&self, shape: &[usize], order: &[usize]) -> Result<Self, PfssError> {
        check_most("axes at most", MAX_RANK, shape.len())?;
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..shape.len()) {
            return Err(PfssError::AxisOrder { axes: shape.len(), got: order.to_vec() });
        }
        check_len("shares of the shape", product(shape), self.len())?;

        let axes: Vec<_> = order.iter().map(|&axis| (shape[axis], product(&shape[axis + 1..]))).collect();
        let words = copied_strided(self.q, self.view(), &axes)?;
        Ok(Self::new(self.q, self.party, self.ring, words))
    }

    /// `len` shares from `first` on, each two after the last.
    pub(crate) fn every_other(&self, first: usize, len: usize) -> Result<Self, PfssError> {
        let shares = self.view().slice(first.min(self.len())..self.len())?;
        let words = copied_strided(self.q, shares, &[(len, 2)])?;
        Ok(Self::new(self.q, self.party, self.ring, words))
    }

    /// Each share `times` times in a row.
    ///
    /// # Errors
    /// [`PfssError::Length`] for a result of `2^32` shares or more, and [`PfssError::Backend`].
    pub fn repeated(&self, times: usize) -> Result<Self, PfssError> {
        check_count(self.len().saturating_mul(times))?;
        let words = copied_strided(self.q, self.view(), &[(self.len(), 1), (times, 0)])?;
        Ok(Self::new(self.q, self.party, self.ring, words))
    }

    /// The share at each of `places`, or 0 for `None`.
    ///
    /// Places are public.
    ///
    /// # Errors
    /// [`PfssError::Place`] for a place without a share, [`PfssError::Length`] for `2^32` shares
    /// or places or more, and [`PfssError::Backend`].
    pub fn gathered(&self, places: &[Option<u32>]) -> Result<Self, PfssError> {
        let len = self.len();
        check_count(len.max(places.len()))?;
        let outside = |place: &u32| *place as usize >= len;
        let mut each = places.iter().enumerate();
        if let Some((index, got)) = each.find_map(|(index, place)| Some((index, place.filter(outside)?))) {
            return Err(PfssError::Place { index, len, got });
        }
        let indices = indices(places);
        self.gathered_at(public_input(self.q, &indices)?.view())
    }

    /// [`gathered`](Self::gathered) by [`indices`] that ops read, of places with a share.
    pub(crate) fn gathered_at(&self, indices: Ref<'_, Q, u32>) -> Result<Self, PfssError> {
        let (q, count) = (self.q, indices.len());
        let mut words = StagedSecret::alloc(q, count)?;
        let params = TableParams { rows: self.len() as u64, width: 1, count: count as u64 };
        let table = q.shorten(self.view());
        q.gather_u64(GatherU64 { params: &params, table, indices: q.shorten(indices), y: words.view_mut() })?;
        Ok(Self::new(q, self.party, self.ring, words))
    }
}

/// Places as a gather reads them.
///
/// No table has a row of the number for `None`, since its rows are fewer than `2^32`.
pub(crate) fn indices(places: &[Option<u32>]) -> Vec<u32> {
    places.iter().map(|place| place.unwrap_or(u32::MAX)).collect()
}

/// Copies the words along axes of lengths and strides, at most 6, outermost first.
pub(super) fn copied_strided<'q, Q: FssOps + TensorOps>(
    q: &'q Q,
    x: Ref<'_, Q, u64>,
    axes: &[(usize, usize)],
) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
    let mut params = CopyParams {
        rank: axes.len() as u32,
        reserved: 0,
        shape: [1; MAX_RANK],
        x_strides: [0; MAX_RANK],
        y_strides: [0; MAX_RANK],
    };
    for (axis, &(len, stride)) in axes.iter().enumerate() {
        (params.shape[axis], params.x_strides[axis]) = (len as u64, stride as u64);
    }
    // The result is row-major.
    let mut len = 1usize;
    for axis in (0..axes.len()).rev() {
        params.y_strides[axis] = len as u64;
        len = len.saturating_mul(axes[axis].0);
    }
    let mut words = StagedSecret::alloc(q, len)?;
    q.copy_strided_u64(CopyStridedU64 { params: &params, x: q.shorten(x), y: words.view_mut() })?;
    Ok(words)
}

/// Number of elements of a shape, at most `usize::MAX`.
fn product(shape: &[usize]) -> usize {
    shape.iter().fold(1, |all, &len| all.saturating_mul(len))
}

/// Refuses more than `most` of something.
fn check_most(what: &'static str, most: usize, got: usize) -> Result<(), PfssError> {
    if got <= most { Ok(()) } else { Err(PfssError::Length { what, expected: most, got }) }
}
