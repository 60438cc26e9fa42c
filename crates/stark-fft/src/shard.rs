//! Which part of a column each rank has.

use core::{fmt, ops::Range};

use crate::{BitReversed, CanonicDomain, Coefficients, FftError, Representation};

/// Log of the most ranks that share columns.
pub const MAX_LOG_RANKS: u32 = 8;

/// A rank's shard of columns on one domain; all ranks have equal shards.
///
/// With `G` ranks, rank `r` has the values of a column at the stored positions
/// `r N/G .. (r + 1) N/G` of `N`. It has `G` runs of `N/G^2` coefficients each, one from each `N/G`
/// consecutive ones: coefficient `k` is on rank `(k / (N/G^2)) mod G`. A transform therefore moves
/// each element at most once, and coefficients stay in place for the next one.
///
/// ```
/// use stark_fft::{CanonicDomain, Coefficients, Shard};
///
/// let shard = Shard::new(CanonicDomain::new(5)?, 1, 2)?; // the second of two ranks
/// assert_eq!(shard.positions(), 16..32);
/// let coefficients: Vec<_> = (0..16).map(|local| shard.place::<Coefficients>(local)).collect();
/// assert_eq!(coefficients, [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]);
/// # Ok::<(), stark_fft::FftError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    domain: CanonicDomain,
    log_ranks: u32,
    rank: u32,
}

impl Shard {
    /// The place of rank `rank` of `ranks`, a power of two.
    ///
    /// # Errors
    /// [`FftError::Ranks`] unless the columns are long enough for each rank to have `2 G` elements
    /// of each, and eight where there are others; [`FftError::NoSuchRank`] unless `rank` is below
    /// `ranks`.
    pub const fn new(domain: CanonicDomain, rank: usize, ranks: usize) -> Result<Self, FftError> {
        let log_most = most(domain.log_size());
        if !ranks.is_power_of_two() || ranks > 1 << log_most {
            return Err(FftError::Ranks { log_size: domain.log_size(), most: 1 << log_most, got: ranks });
        }
        if rank >= ranks {
            return Err(FftError::NoSuchRank { ranks, got: rank });
        }
        Ok(Self { domain, log_ranks: ranks.ilog2(), rank: rank as u32 }) // below 2^8
    }

    /// The place of the same rank among those that share columns on another domain.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub const fn on(&self, domain: CanonicDomain) -> Result<Self, FftError> {
        Self::new(domain, self.rank(), self.ranks())
    }

    /// The domain of the whole columns.
    #[must_use]
    pub const fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// The number of the rank.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// How many ranks there are.
    #[must_use]
    pub const fn ranks(&self) -> usize {
        1 << self.log_ranks
    }

    /// Elements that the rank has of each column.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no shard is empty")]
    pub const fn len(&self) -> usize {
        1 << self.log_len()
    }

    /// The stored positions of the values that the rank has.
    #[must_use]
    pub const fn positions(&self) -> Range<usize> {
        self.rank() << self.log_len()..(self.rank() + 1) << self.log_len()
    }

    /// The place in a whole column of the element that the rank has at `local` of its part.
    #[must_use]
    pub fn place<R: Sharded>(&self, local: usize) -> usize {
        R::place(self, local)
    }

    pub(crate) const fn log_ranks(&self) -> u32 {
        self.log_ranks
    }

    /// Log of the elements of a part.
    pub(crate) const fn log_len(&self) -> u32 {
        self.domain.log_size() - self.log_ranks
    }

    /// Log of the elements of each column that one rank sends to another.
    ///
    /// It is also the log of the length of the runs of coefficients.
    pub(crate) const fn log_run(&self) -> u32 {
        self.log_len() - self.log_ranks
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {} on 2^{} points", self.rank, self.ranks(), self.domain.log_size())
    }
}

/// Log of the most ranks that share columns of `2^log_size`.
///
/// Cross layers run on two words or more, and of less than eight neighbouring points the
/// y-coordinates do not follow from the x-coordinates.
const fn most(log_size: u32) -> u32 {
    let (runs, lens) = ((log_size - 1) / 2, log_size.saturating_sub(3));
    let most = if runs < lens { runs } else { lens };
    if most < MAX_LOG_RANKS { most } else { MAX_LOG_RANKS }
}

/// Representations in which columns are shared among ranks.
///
/// They are [`BitReversed`] and [`Coefficients`].
pub trait Sharded: Representation {
    /// The place in a whole column of the element that a rank has at `local` of its part.
    fn place(shard: &Shard, local: usize) -> usize;
}

impl Sharded for BitReversed {
    fn place(shard: &Shard, local: usize) -> usize {
        shard.positions().start + local
    }
}

impl Sharded for Coefficients {
    fn place(shard: &Shard, local: usize) -> usize {
        let run = local >> shard.log_run();
        let low = local & ((1 << shard.log_run()) - 1);
        run << shard.log_len() | shard.rank() << shard.log_run() | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(log_size: u32, ranks: usize) -> Vec<Shard> {
        let domain = CanonicDomain::new(log_size).unwrap();
        (0..ranks).map(|rank| Shard::new(domain, rank, ranks).unwrap()).collect()
    }

    #[test]
    fn every_element_is_on_one_rank_and_moves_to_that_of_its_middle_bits() {
        for (log_size, ranks) in [(1, 1), (4, 2), (5, 4), (7, 8), (10, 16)] {
            let (mut values, mut coefficients) = (vec![0; 1 << log_size], vec![0; 1 << log_size]);
            for shard in shards(log_size, ranks) {
                for local in 0..shard.len() {
                    values[shard.place::<BitReversed>(local)] += 1;
                    let place = shard.place::<Coefficients>(local);
                    coefficients[place] += 1;
                    assert_eq!(place / ((1 << log_size) / ranks / ranks) % ranks, shard.rank());
                    assert_eq!(
                        place / shard.len(),
                        local / (shard.len() / ranks),
                        "came from the rank of its highest bits"
                    );
                }
            }
            assert!(values.iter().chain(&coefficients).all(|&count| count == 1));
        }
    }

    #[test]
    fn ranks_that_columns_cannot_be_shared_among_are_refused() {
        let domain = |log_size| CanonicDomain::new(log_size).unwrap();
        for (log_size, most) in
            [(1, 1), (2, 1), (3, 1), (4, 2), (5, 4), (6, 4), (7, 8), (16, 128), (17, 256), (30, 256)]
        {
            assert!(Shard::new(domain(log_size), most - 1, most).is_ok());
            for got in [0, 3, 2 * most] {
                assert_eq!(Shard::new(domain(log_size), 0, got), Err(FftError::Ranks { log_size, most, got }));
            }
        }
        assert_eq!(Shard::new(domain(6), 4, 4), Err(FftError::NoSuchRank { ranks: 4, got: 4 }));
    }
}
