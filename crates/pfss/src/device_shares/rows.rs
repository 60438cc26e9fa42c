//! Rows of shares: one row added to each, and the sum of each.

use backend_api::{
    Buffer as _, BufferRef as _,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};

use super::{
    DeviceShares,
    arithmetic::check_count,
    linear::{Factors, linear},
    public::public_row,
};
use crate::{
    Party, PfssError,
    error::check_len,
    secret::{
        kept,
        staging::{SecretInput, StagedSecret},
    },
};

impl<Q: FssOps> DeviceShares<'_, Q> {
    /// Shares of the sum of each row of `width` shares.
    ///
    /// # Errors
    /// [`PfssError::Length`] for shares that are not a whole number of rows, or for rows of more
    /// shares than one op takes, at most `2^32 - 1`, and [`PfssError::Backend`].
    pub fn row_sums(&self, width: usize) -> Result<Self, PfssError> {
        let (q, rows) = (self.q, self.rows_of(width)?);
        check_count(width)?;
        // A product by a column of ones, which the device writes. They are public.
        let mut ones = kept::alloc(q, width)?;
        let one = Factors { alpha: 0, constant: 1, ..Factors::COPY };
        if rows > 0 {
            linear(q, self.ring, one, Some(self.view().slice(0..width)?), None, ones.view_mut())?;
        }
        let mut sums = StagedSecret::alloc(q, rows)?;
        let [rows, inner] = [rows, width].map(|len| len as u64);
        let params = MatmulWordsParams { batch: 1, rows, inner, cols: 1, alpha: 1, beta: 0 };
        q.matmul_words(MatmulWords {
            params: &params,
            x: q.shorten(self.view()),
            y: q.shorten(ones.view()),
            out: sums.view_mut(),
        })?;
        Ok(Self::new(q, self.party, self.ring, sums))
    }

    /// Number of rows of `width` shares.
    fn rows_of(&self, width: usize) -> Result<usize, PfssError> {
        let whole = self.len().checked_next_multiple_of(width).unwrap_or_default();
        check_len("shares in whole rows", whole, self.len())?;
        Ok(self.len().checked_div(width).unwrap_or_default())
    }

    /// Shares of `x + p` for public words `p` of one row, which party 0 adds to each row.
    ///
    /// # Errors
    /// [`PfssError::Length`] for shares that are not a whole number of rows, or for more shares
    /// than one op takes, at most `2^32 - 1`, and [`PfssError::Backend`].
    pub fn add_public_rows(&self, public: &[u64]) -> Result<Self, PfssError> {
        self.rows_of(public.len())?;
        check_count(self.len())?;
        if self.party == Party::One {
            return self.copied();
        }
        let (factors, row) = public_row(self.q, self.ring, self.view(), public)?;
        self.linear(self.ring, factors, row.as_ref().map(SecretInput::view))
    }

    /// [`add_public_rows`](Self::add_public_rows) in place of the shares.
    ///
    /// # Errors
    /// As [`add_public_rows`](Self::add_public_rows).
    pub fn add_public_rows_in_place(&mut self, public: &[u64]) -> Result<(), PfssError> {
        self.rows_of(public.len())?;
        check_count(self.len())?;
        if self.party == Party::One {
            return Ok(());
        }
        let (q, ring) = (self.q, self.ring);
        let (factors, row) = public_row(q, ring, self.view(), public)?;
        self.linear_here(ring, factors, row.as_ref().map(SecretInput::view))
    }

    /// Shares of `x` plus shares of one row, which are added to each row.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ShareRing`] or [`PfssError::OtherDevice`] for shares
    /// of different parties, rings or devices, [`PfssError::Length`] for shares that are not a
    /// whole number of rows, or for more shares than one op takes, at most `2^32 - 1`, and
    /// [`PfssError::Backend`].
    pub fn add_rows(&self, row: &Self) -> Result<Self, PfssError> {
        self.check_alike(row)?;
        self.rows_of(row.len())?;
        self.linear(self.ring(), Factors::SUM, Some(row.view()))
    }

    /// Shares of `alpha x + beta y` modulo `ring`, for public factors and rows `y` of shares.
    ///
    /// `y` is repeated over `x`. Without `y`, its part of the sum is 0. Both may be in rings of more
    /// bits than `ring`.
    ///
    /// # Errors
    /// [`PfssError::WiderRing`] for a ring of more bits than the ring of `x` or `y`, and as
    /// [`add_rows`](Self::add_rows), except that rings may differ.
    pub fn linear_in(&self, ring: Ring, factors: [u64; 2], row: Option<&Self>) -> Result<Self, PfssError> {
        self.check_row(ring, row)?;
        self.linear(ring, Factors::of(factors), row.map(Self::view))
    }

    /// [`linear_in`](Self::linear_in) in place of `x`.
    ///
    /// # Errors
    /// As [`linear_in`](Self::linear_in); nothing has changed then.
    pub fn linear_in_place(&mut self, ring: Ring, factors: [u64; 2], row: Option<&Self>) -> Result<(), PfssError> {
        self.check_row(ring, row)?;
        self.linear_here(ring, Factors::of(factors), row.map(Self::view))
    }

    /// Refuses a ring of more bits than the shares or a row have, and a row that does not fit.
    fn check_row(&self, ring: Ring, row: Option<&Self>) -> Result<(), PfssError> {
        self.check_ring_within(ring)?;
        let Some(row) = row else { return Ok(()) };
        self.check_together(row)?;
        row.check_ring_within(ring)?;
        self.rows_of(row.len()).map(drop)
    }
}
