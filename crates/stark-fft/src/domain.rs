//! Canonic circle domains, and the points at each position of each order.
//!
//! The domain of `2^n` points is `g (1 + 2 r)` times the generator for `0 <= r < 2^n`, with
//! `g = 2^(30-n)` (Circle STARKs, <https://eprint.iacr.org/2024/278>; stwo 2.3,
//! `core/poly/circle/canonic.rs`).

use core_types::{
    circle::{CirclePoint, CirclePointIndex, LOG_ORDER, MAX_LOG_DOMAIN},
    field::M31,
};

use crate::{FftError, bit_reversed};

/// The largest log size of a domain that transforms accept.
pub const MAX_LOG_SIZE: u32 = MAX_LOG_DOMAIN;

/// The canonic circle domain of `2^n` points.
///
/// It is the coset `g (1 + 2 i)` of the group of order `2^n`, with `g = 2^(30-n)`. It is closed
/// under conjugation, so it is a half coset `g (1 + 4 i)` and its conjugates. Three orders name its
/// points: natural (half coset, then conjugates), stored (natural with bit-reversed positions;
/// evaluations are kept so) and row order (along the coset; "the next row" of a trace).
///
/// ```
/// use stark_fft::CanonicDomain;
///
/// let domain = CanonicDomain::new(3)?;
/// assert_eq!((domain.len(), domain.stored_point(0).x.word()), (8, 590_768_354));
/// assert_eq!(domain.stored_point(1), domain.stored_point(0).conjugate());
/// # Ok::<(), stark_fft::FftError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicDomain {
    log_size: u32,
}

impl CanonicDomain {
    /// The domain of `2^log_size` points.
    ///
    /// # Errors
    /// [`FftError::LogSize`] unless `1 <= log_size <= MAX_LOG_SIZE`.
    pub const fn new(log_size: u32) -> Result<Self, FftError> {
        if log_size == 0 || log_size > MAX_LOG_SIZE {
            return Err(FftError::LogSize { got: log_size });
        }
        Ok(Self { log_size })
    }

    /// Log of the number of points.
    #[must_use]
    pub const fn log_size(self) -> u32 {
        self.log_size
    }

    /// Number of points, at least 2.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no domain is empty")]
    pub const fn len(self) -> usize {
        1 << self.log_size
    }

    /// The index of the step from a row to the next.
    #[must_use]
    pub const fn step(self) -> CirclePointIndex {
        CirclePointIndex::subgroup_generator(self.log_size)
    }

    /// The index of natural position `i`; positions count modulo the number of points.
    #[must_use]
    pub fn natural_index(self, i: usize) -> CirclePointIndex {
        let half = self.len() / 2;
        let unit = CirclePointIndex::new(1 << (LOG_ORDER - 1 - self.log_size));
        let index = unit + self.step() * 2 * (i % half) as u32;
        if i % self.len() < half { index } else { -index }
    }

    /// The point at natural position `i`.
    #[must_use]
    pub fn natural_point(self, i: usize) -> CirclePoint<M31> {
        self.natural_index(i).to_point()
    }

    /// The point at stored position `p`, which is natural position `bit_reversed(p)`.
    #[must_use]
    pub fn stored_point(self, p: usize) -> CirclePoint<M31> {
        self.natural_point(bit_reversed(p, self.log_size))
    }

    /// The point of row `r`.
    #[must_use]
    pub fn row_point(self, r: usize) -> CirclePoint<M31> {
        let unit = CirclePointIndex::new(1 << (LOG_ORDER - 1 - self.log_size));
        (unit + self.step() * (r % self.len()) as u32).to_point()
    }
}

/// `count` columns of `domain` as a launch record names them.
pub(crate) fn column_count(domain: CanonicDomain, count: usize) -> Result<u32, FftError> {
    let too_many = FftError::TooManyColumns { got: count, log_size: domain.log_size() };
    count.checked_mul(domain.len()).and_then(|_| u32::try_from(count).ok()).ok_or(too_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_points_are_stored_as_published() {
        let domain = CanonicDomain::new(3).unwrap();
        let points: Vec<_> = (0..8).map(|p| domain.stored_point(p)).map(|p| (p.x.word(), p.y.word())).collect();
        let expected = [
            (590_768_354, 978_592_373),
            (590_768_354, 1_168_891_274),
            (1_556_715_293, 1_168_891_274),
            (1_556_715_293, 978_592_373),
            (978_592_373, 1_556_715_293),
            (978_592_373, 590_768_354),
            (1_168_891_274, 590_768_354),
            (1_168_891_274, 1_556_715_293),
        ];
        assert_eq!(points, expected);
    }

    #[test]
    fn the_largest_domain_begins_at_the_generator_and_ends_at_its_inverse() {
        let domain = CanonicDomain::new(MAX_LOG_SIZE).unwrap();
        assert_eq!(domain.stored_point(0), CirclePoint::GENERATOR);
        assert_eq!(domain.stored_point(1), CirclePoint::GENERATOR.conjugate());
        assert_eq!(domain.row_point(domain.len() - 1), CirclePoint::GENERATOR.conjugate());
    }

    #[test]
    fn log_sizes_outside_the_range_are_refused() {
        for got in [0, 31, 32, u32::MAX] {
            assert_eq!(CanonicDomain::new(got), Err(FftError::LogSize { got }));
        }
    }
}
