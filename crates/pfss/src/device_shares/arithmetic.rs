//! Sums of shares and masking: `alpha x + beta row + constant`.
//!
//! The row repeats over `x`.
//!
//! One op forms each sum, and takes its public factors with the launch. So `x + y` has the factors
//! 1 and 1, `c x` has no row, and a masked input is `x` plus the row of `r`.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Element, Mut, Ref,
    ops::{fss::FssOps, share::LinearWords},
};
use core_types::{Ring, params::share::LinearWordsParams};

use super::DeviceShares;
use crate::{
    Party, PfssError,
    error::check_len,
    secret::staging::{SecretInput, StagedSecret, copy_on},
};

/// Most elements of one op, which counts them in 32 bits.
const MOST_ELEMENTS: usize = u32::MAX as usize;

/// The public numbers of a sum `alpha x + beta row + constant`.
#[derive(Clone, Copy)]
pub(crate) struct Factors {
    pub(crate) alpha: u64,
    pub(crate) beta: u64,
    pub(crate) constant: u64,
}

impl Factors {
    /// `x + row`.
    pub(crate) const SUM: Self = Self { alpha: 1, beta: 1, constant: 0 };
    /// `x - row`.
    pub(crate) const DIFFERENCE: Self = Self { beta: u64::MAX, ..Self::SUM };
    /// `x` alone.
    pub(crate) const COPY: Self = Self { beta: 0, ..Self::SUM };

    /// `alpha x + beta row`.
    pub(super) const fn of([alpha, beta]: [u64; 2]) -> Self {
        Self { alpha, beta, constant: 0 }
    }
}

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
        check_count(self.len())?;
        if self.party == Party::One {
            return self.copied();
        }
        self.linear(self.ring, Factors::SUM, Some(public_input(self.q, public)?.view()))
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

/// Public elements where ops read them. A copy is not wiped.
pub(super) fn public_input<'a, Q: FssOps, T: Element>(
    q: &'a Q,
    public: &'a [T],
) -> Result<SecretInput<'a, Q, T>, PfssError> {
    Ok(match q.host_view(public) {
        Some(view) => SecretInput::InPlace(view),
        None => SecretInput::Staged(StagedSecret::upload_parts(q, &[public], &[])?),
    })
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
/// They are to be sent. A mask has a word for each share, and maybe more. No input has `2^32`
/// shares.
pub(crate) fn masked<'q, Q: FssOps>(
    q: &'q Q,
    ring: Ring,
    inputs: &[(Ref<'_, Q, u64>, Mask<'_, Q>)],
) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
    // Masks in host memory are read there, or copied to the places of their sums, in one copy if all are there.
    let (is_read, len) = (q.host_view::<u64>(&[]).is_some(), inputs.iter().map(|(x, _)| x.len()).sum());
    let on_host: Vec<&[u64]> = inputs.iter().filter_map(|(x, mask)| mask.on_host(x.len())).collect();
    let mut out = if !is_read && on_host.len() == inputs.len() {
        StagedSecret::upload_parts(q, &[], &on_host)?
    } else {
        let (mut out, mut start) = (StagedSecret::alloc(q, len)?, 0);
        for (x, mask) in inputs {
            if let Some(words) = mask.on_host(x.len()).filter(|_| !is_read) {
                q.write_secret(words, out.slice_mut(start..start + x.len())?)?;
            }
            start += x.len();
        }
        out
    };
    add_all(q, ring, inputs, out.view_mut())?;
    // No mask is left there, and sent words are not secret. On a processor, wiping it takes no call.
    out.set_public(!is_read);
    Ok(out)
}

/// Writes each input plus its mask, or plus the words in the place of their sums.
fn add_all<Q: FssOps>(
    q: &Q,
    ring: Ring,
    inputs: &[(Ref<'_, Q, u64>, Mask<'_, Q>)],
    mut out: Mut<'_, Q, u64>,
) -> Result<(), BackendError> {
    let mut start = 0;
    for (x, mask) in inputs {
        let sums = Q::Buf::<u64>::reborrow_mut(&mut out).slice(start..start + x.len())?;
        start += x.len();
        let (x, mask) = match mask.placed(q) {
            Some(mask) => (Some(q.shorten(*x)), mask.slice(0..x.len())?),
            None => (None, q.shorten(*x)),
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

/// Writes a sum in `ring`, an element for each of `out`, which are less than `2^32`.
///
/// Without `x` it is in place. The row repeats.
pub(crate) fn linear<Q: FssOps>(
    q: &Q,
    ring: Ring,
    Factors { alpha, beta, constant }: Factors,
    x: Option<Ref<'_, Q, u64>>,
    row: Option<Ref<'_, Q, u64>>,
    out: Mut<'_, Q, u64>,
) -> Result<(), BackendError> {
    if out.is_empty() {
        return Ok(()); // a row is empty, too
    }
    let params = LinearWordsParams {
        alpha,
        beta,
        constant,
        count: out.len() as u32, // as the caller promises
        period: row.map_or(0, |row| row.len() as u32),
        bits: ring.bits(),
        reserved: 0,
    };
    q.linear_words(LinearWords {
        params: &params,
        x: x.map(|x| q.shorten(x)),
        row: row.map(|row| q.shorten(row)),
        out: q.shorten_mut(out),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_elements_than_an_op_counts_in_32_bits_are_refused() {
        const MOST: usize = 4_294_967_295;
        assert_eq!([0, 1, MOST].map(check_count), [const { Ok(()) }; 3]);
        let refused = check_count(MOST + 1).unwrap_err();
        assert_eq!(refused.to_string(), "expected 4294967295 elements of one op at most, got 4294967296");
    }
}
