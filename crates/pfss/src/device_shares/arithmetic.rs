//! Sums of shares and masking: `alpha x + beta row + constant`.
//!
//! The row repeats over `x`.
//!
//! One op forms each sum, and takes its public factors with the launch. So `x + y` has the factors
//! 1 and 1, `c x` has no row, and a masked input is `x` plus the row of `r`.

use backend_api::{BackendError, Buffer as _, BufferMut as _, BufferRef as _, Mut, Ref, ops::fss::FssOps};
use core_types::Ring;

use super::{
    DeviceShares,
    linear::{Factors, linear},
};
use crate::{
    PfssError,
    error::check_len,
    secret::staging::{StagedSecret, copy_on},
};

/// Most elements of one op, which counts them in 32 bits.
const MOST_ELEMENTS: usize = u32::MAX as usize;

impl<Q: FssOps> DeviceShares<'_, Q> {
    /// Shares of `x + y`.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ShareRing`], [`PfssError::OtherDevice`] or
    /// [`PfssError::Length`] for shares of different parties, rings, devices or lengths,
    /// [`PfssError::Length`] for more shares than one op takes, at most `2^32 - 1`, and
    /// [`PfssError::Backend`].
    pub fn add(&self, other: &Self) -> Result<Self, PfssError> {
        self.with_other(other, Factors::SUM)
    }

    /// Shares of `x - y`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Result<Self, PfssError> {
        self.with_other(other, Factors::DIFFERENCE)
    }

    /// Shares of `x + p` for public words `p`, which party 0 adds.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless there is a word for each share, or for more shares than one op
    /// takes, at most `2^32 - 1`, and [`PfssError::Backend`].
    pub fn add_public(&self, public: &[u64]) -> Result<Self, PfssError> {
        check_len("public words", self.len(), public.len())?;
        self.add_public_rows(public)
    }

    /// Shares of `c x` for a public `c`.
    ///
    /// # Errors
    /// [`PfssError::Length`] for more shares than one op takes, at most `2^32 - 1`, and
    /// [`PfssError::Backend`].
    pub fn scale(&self, factor: u64) -> Result<Self, PfssError> {
        self.linear(self.ring, Factors { alpha: factor, ..Factors::COPY }, None)
    }

    /// Shares of `x + c` for a public `c`.
    pub(crate) fn add_constant(&self, c: u64) -> Result<Self, PfssError> {
        self.linear(self.ring, Factors { constant: self.party.public(c), ..Factors::COPY }, None)
    }

    /// Shares of `x` in separate memory.
    pub(super) fn copied(&self) -> Result<Self, PfssError> {
        Ok(Self::new(self.q, self.party, self.ring, copy_on(self.q, self.view())?))
    }

    /// A sum with other shares, one for each.
    fn with_other(&self, other: &Self, factors: Factors) -> Result<Self, PfssError> {
        self.check_alike(other)?;
        check_len("shares", self.len(), other.len())?;
        self.linear(self.ring, factors, Some(other.view()))
    }

    /// The ring of fewer bits of both.
    pub(crate) fn narrower_ring(&self, other: &Self) -> Ring {
        if self.ring.bits() < other.ring.bits() { self.ring } else { other.ring }
    }

    /// A sum in `ring`, with a row that repeats over the shares.
    pub(super) fn linear(&self, ring: Ring, factors: Factors, row: Option<Ref<'_, Q, u64>>) -> Result<Self, PfssError> {
        check_count(self.len())?;
        let mut out = StagedSecret::alloc(self.q, self.len())?;
        linear(self.q, ring, factors, Some(self.view()), row, out.view_mut())?;
        Ok(Self::new(self.q, self.party, ring, out))
    }

    /// [`linear`](Self::linear) in place of the shares.
    pub(super) fn linear_here(
        &mut self,
        ring: Ring,
        factors: Factors,
        row: Option<Ref<'_, Q, u64>>,
    ) -> Result<(), PfssError> {
        check_count(self.len())?;
        self.words.set_public(false);
        linear(self.q, ring, factors, None, row, self.words.view_mut())?;
        self.ring = ring;
        Ok(())
    }
}

/// A share of a mask: in host memory, or where ops read it.
pub(crate) enum Mask<'a, Q: FssOps + 'a> {
    Host(&'a [u64]),
    Device(Ref<'a, Q, u64>),
}

impl<Q: FssOps> Mask<'_, Q> {
    /// The first `len` words, if they are in host memory.
    fn on_host(&self, len: usize) -> Option<&[u64]> {
        match self {
            Self::Host(words) => Some(&words[..len]),
            Self::Device(_) => None,
        }
    }

    /// The words, if ops read them where they are.
    fn placed(&self, q: &Q) -> Option<Ref<'_, Q, u64>> {
        match self {
            Self::Host(words) => q.host_view(words),
            Self::Device(words) => Some(q.shorten(*words)),
        }
    }
}

/// Shares plus shares of their masks, one input after the other.
///
/// They are to be sent. A mask has a word for each share, and maybe more. All masks are in host
/// memory, or none is. No input has `2^32` shares.
pub(crate) fn masked<'q, Q: FssOps>(
    q: &'q Q,
    ring: Ring,
    inputs: &[(Ref<'_, Q, u64>, Mask<'_, Q>)],
) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
    // Masks in host memory are read there, or copied to the places of their sums, in one copy.
    let is_read = q.host_view::<u64>(&[]).is_some();
    let on_host: Option<Vec<&[u64]>> = inputs.iter().map(|(x, mask)| mask.on_host(x.len())).collect();
    let (mut out, is_uploaded) = match on_host.filter(|_| !is_read) {
        Some(masks) => (StagedSecret::upload_parts(q, &[], &masks)?, true),
        None => (StagedSecret::alloc(q, inputs.iter().map(|(x, _)| x.len()).sum())?, false),
    };
    add_all(q, ring, inputs, out.view_mut(), is_uploaded)?;
    // No mask is left there, and sent words are not secret. On a processor, wiping it takes no call.
    out.set_public(!is_read);
    Ok(out)
}

/// Writes each input plus its mask.
///
/// If it `is_uploaded`, a mask of the host is in the place of the sum.
fn add_all<Q: FssOps>(
    q: &Q,
    ring: Ring,
    inputs: &[(Ref<'_, Q, u64>, Mask<'_, Q>)],
    mut out: Mut<'_, Q, u64>,
    is_uploaded: bool,
) -> Result<(), BackendError> {
    let mut start = 0;
    for (x, mask) in inputs {
        let sums = Q::Buf::<u64>::reborrow_mut(&mut out).slice(start..start + x.len())?;
        start += x.len();
        let (x, mask) = match mask.placed(q) {
            Some(mask) => (Some(q.shorten(*x)), mask.slice(0..x.len())?),
            None if is_uploaded => (None, q.shorten(*x)),
            // Without this, a share would be sent without a mask.
            None => return Err(BackendError::Unsupported { op: "masking", why: "expected all masks in one memory" }),
        };
        linear(q, ring, Factors::SUM, x, Some(mask), sums)?;
    }
    Ok(())
}

/// Refuses more elements than one op takes.
pub(crate) fn check_count(len: usize) -> Result<(), PfssError> {
    if len <= MOST_ELEMENTS {
        return Ok(());
    }
    Err(PfssError::Length { what: "elements of one op at most", expected: MOST_ELEMENTS, got: len })
}

#[cfg(test)]
mod tests {
    use backend_api::Queue as _;

    use super::*;

    #[test]
    fn masks_in_both_memories_are_refused() {
        let [_, q] = crate::testing::queues();
        let (x, mask, ring) =
            (q.upload_secret(&[1, 2]).unwrap(), q.upload_secret(&[3, 4]).unwrap(), Ring::new(64).unwrap());
        let (on_device, on_host) = ((x.view(), Mask::Device(mask.view())), (x.view(), Mask::Host(&[5, 6][..])));
        let refused = |inputs: &[(_, _)]| masked(&q, ring, inputs).map(drop).unwrap_err();
        assert!(matches!(refused(&[on_device, on_host]), PfssError::Backend(BackendError::Unsupported { .. })));
    }

    #[test]
    fn more_elements_than_an_op_counts_in_32_bits_are_refused() {
        const MOST: usize = 4_294_967_295;
        assert_eq!([0, 1, MOST].map(check_count), [const { Ok(()) }; 3]);
        let refused = check_count(MOST + 1).unwrap_err();
        assert_eq!(refused.to_string(), "expected 4294967295 elements of one op at most, got 4294967296");
    }
}
