//! The twiddles of a domain and of all smaller ones.
//!
//! On `2^n` points, layer `j` has `2^(n-2-j)` entries. Entry `h` is the x-coordinate of
//! `2^j g (1 + 4 bitrev(h))` times the generator, with `g = 2^(30-n)` and `n-2-j` reversed bits
//! (circle FFT, <https://eprint.iacr.org/2024/278>).

use core::fmt;

use backend_api::{
    Buffer, Ref,
    ops::circle::{CircleOps, CircleTwiddles},
};
use core_types::{field::Twiddle, params::circle::CircleTwiddleParams};

use crate::{CanonicDomain, FftError};

/// Twiddles and their inverses on a device, for one domain and every smaller one.
///
/// The twiddles of a domain with `N` points are `N / 2` words, and the twiddles of each smaller
/// canonic domain are the last words of any bigger one's: build one tree, for the biggest domain in
/// use.
pub struct TwiddleTree<Q: CircleOps> {
    domain: CanonicDomain,
    forward: Q::Buf<Twiddle>,
    inverse: Q::Buf<Twiddle>,
}

impl<Q: CircleOps> TwiddleTree<Q> {
    /// The twiddles of `domain`.
    ///
    /// # Errors
    /// [`FftError::Backend`] if memory is short or the device failed.
    pub fn new(q: &Q, domain: CanonicDomain) -> Result<Self, FftError> {
        let mut forward = q.alloc(domain.len() / 2)?;
        let mut inverse = q.alloc(domain.len() / 2)?;
        let params = CircleTwiddleParams { log_size: domain.log_size() };
        q.circle_twiddles(CircleTwiddles {
            params: &params,
            twiddles: forward.view_mut(),
            inverse_twiddles: inverse.view_mut(),
        })?;
        Ok(Self { domain, forward, inverse })
    }

    /// The biggest domain that the tree serves.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// The twiddles of `domain`, `domain.len() / 2` of them.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] if `domain` is bigger than the tree's.
    pub fn forward(&self, domain: CanonicDomain) -> Result<Ref<'_, Q, Twiddle>, FftError> {
        Ok(self.forward.slice(self.tail(domain)?)?)
    }

    /// The inverses of the twiddles of `domain`, `domain.len() / 2` of them.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] if `domain` is bigger than the tree's.
    pub fn inverse(&self, domain: CanonicDomain) -> Result<Ref<'_, Q, Twiddle>, FftError> {
        Ok(self.inverse.slice(self.tail(domain)?)?)
    }

    fn tail(&self, domain: CanonicDomain) -> Result<core::ops::Range<usize>, FftError> {
        if domain > self.domain {
            return Err(FftError::TwiddlesTooSmall { expected: domain.log_size(), got: self.domain.log_size() });
        }
        let end = self.domain.len() / 2;
        Ok(end - domain.len() / 2..end)
    }
}

impl<Q: CircleOps> fmt::Debug for TwiddleTree<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwiddleTree").field("domain", &self.domain).finish_non_exhaustive()
    }
}
