//! Moves of shares to other public places, and sums of rows, in either memory.

use core::ops::Range;

use backend_api::ops::{fss::FssOps, tensor::TensorOps};

use crate::{
    PfssError,
    device_shares::arrange::indices,
    functions::memory::{DeviceMemory, HostMemory, Memory, Words},
    secret::staging::StagedSecret,
};

/// A memory in which shares are moved, and rows are summed.
///
/// Lengths and places fit by construction.
pub(super) trait Moves: Memory {
    /// Lists of places, one after the other, where moves read them.
    type Lists;

    /// Takes lists of places, or of `None` for a 0. They are public.
    fn lists(&self, places: Vec<Option<u32>>) -> Result<Self::Lists, PfssError>;

    /// The first share of each pair, and the second.
    fn unzipped(&self, x: &Self::Shares) -> Result<[Self::Shares; 2], PfssError>;

    /// The shares of `x` and then of `y`.
    fn joined(&self, x: &Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError>;

    /// The share at each place of a list, or 0 for `None`.
    fn gathered(&self, x: &Self::Shares, lists: &Self::Lists, list: Range<usize>) -> Result<Self::Shares, PfssError>;

    /// Each share `times` times in a row.
    fn repeated(&self, x: &Self::Shares, times: usize) -> Result<Self::Shares, PfssError>;

    /// The sum of each row of `width` shares, at least 1.
    fn row_sums(&self, x: &Self::Shares, width: usize) -> Result<Self::Shares, PfssError>;
}

impl<Q: FssOps> Moves for HostMemory<'_, Q> {
    type Lists = Vec<Option<u32>>;

    fn lists(&self, places: Vec<Option<u32>>) -> Result<Self::Lists, PfssError> {
        Ok(places)
    }

    fn unzipped(&self, x: &Words) -> Result<[Words; 2], PfssError> {
        let pairs = x.as_chunks::<2>().0;
        let [first, second] = [0, 1].map(|at| pairs.iter().map(|pair| pair[at]).collect());
        Ok([Words::new(first), Words::new(second)])
    }

    fn joined(&self, x: &Words, y: &Words) -> Result<Words, PfssError> {
        Ok(Words::new([&x[..], y].concat()))
    }

    fn gathered(&self, x: &Words, lists: &Self::Lists, list: Range<usize>) -> Result<Words, PfssError> {
        Ok(Words::new(lists[list].iter().map(|place| place.map_or(0, |place| x[place as usize])).collect()))
    }

    fn repeated(&self, x: &Words, times: usize) -> Result<Words, PfssError> {
        // With its whole capacity from the first: a list that grows leaves copies that are not wiped.
        let mut repeated = Words::new(Vec::with_capacity(times * x.len()));
        x.iter().for_each(|&x| repeated.extend(core::iter::repeat_n(x, times)));
        Ok(repeated)
    }

    fn row_sums(&self, x: &Words, width: usize) -> Result<Words, PfssError> {
        let sum = |row: &[u64]| row.iter().fold(0u64, |sum, x| sum.wrapping_add(*x));
        Ok(Words::new(x.chunks(width).map(sum).collect()))
    }
}

impl<'q, Q: FssOps + TensorOps> Moves for DeviceMemory<'q, Q> {
    type Lists = StagedSecret<'q, Q, u32>;

    fn lists(&self, places: Vec<Option<u32>>) -> Result<Self::Lists, PfssError> {
        if places.is_empty() {
            return Ok(StagedSecret::alloc(self.0, 0)?); // without a copy
        }
        Ok(StagedSecret::upload_parts(self.0, &[&indices(&places)], &[])?)
    }

    fn unzipped(&self, x: &Self::Shares) -> Result<[Self::Shares; 2], PfssError> {
        let pairs = x.len() / 2;
        Ok([x.every_other(0, pairs)?, x.every_other(1, pairs)?])
    }

    fn joined(&self, x: &Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError> {
        x.followed_by(x.narrower_ring(y), &[y])
    }

    fn gathered(&self, x: &Self::Shares, lists: &Self::Lists, list: Range<usize>) -> Result<Self::Shares, PfssError> {
        x.gathered_at(lists.slice(list)?)
    }

    fn repeated(&self, x: &Self::Shares, times: usize) -> Result<Self::Shares, PfssError> {
        x.repeated(times)
    }

    fn row_sums(&self, x: &Self::Shares, width: usize) -> Result<Self::Shares, PfssError> {
        x.row_sums(width)
    }
}
