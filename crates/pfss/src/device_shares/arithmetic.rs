//! Sums of shares: lists of terms for the op that forms the sums of all gates.
//!
//! The variable of a sum is the first share, `X`; the other operand is a row. So `x + y` is
//! `X + row`, `c x` is `c X`, and a masked input is `X` plus the row of `r`.

use backend_api::{
    BackendError, BufferRef as _, Mut, Ref,
    ops::{fss::FssOps, share::CombineWords},
};
use core_types::{
    Ring,
    params::share::{WordParams, WordTerm},
};

use super::DeviceShares;
use crate::{
    Party, PfssError,
    error::check_len,
    gates::shares::sums::list_of,
    secret::{
        kept::retrying,
        staging::{SecretInput, StagedSecret, copy_on},
    },
};

/// Most elements of one op, which counts them in 32 bits.
const MOST_ELEMENTS: usize = u32::MAX as usize;

/// `X`. Sums are formed as party 0, which has the whole of the constant 1.
pub(crate) const X: WordTerm = WordTerm::ONE.power(1);
/// The other operand.
const ROW: WordTerm = WordTerm::word(0);

impl<Q: FssOps> DeviceShares<'_, Q> {
    /// Shares of `x + y`.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ShareRing`], [`PfssError::OtherDevice`] or
    /// [`PfssError::Length`] for shares of different parties, rings, devices or lengths,
    /// [`PfssError::Length`] for more shares than one op takes, at most `2^32 - 1`, and
    /// [`PfssError::Backend`].
    pub fn add(&self, other: &Self) -> Result<Self, PfssError> {
        self.with_other(other, ROW)
    }

    /// Shares of `x - y`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Result<Self, PfssError> {
        self.with_other(other, ROW.minus())
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
        let public = match self.q.host_view(public) {
            Some(words) => SecretInput::InPlace(words),
            // A copy of public words, which is not wiped.
            None => SecretInput::Staged(StagedSecret::upload_parts(self.q, &[public], &[])?),
        };
        self.sum(&[X, ROW], public.view())
    }

    /// Shares of `c x` for a public `c`.
    ///
    /// # Errors
    /// [`PfssError::Length`] for more shares than one op takes, at most `2^32 - 1`, and
    /// [`PfssError::Backend`].
    pub fn scale(&self, factor: u64) -> Result<Self, PfssError> {
        self.sum(&[X.times(factor)], self.view().slice(0..0)?)
    }

    /// Shares of `x` in separate memory.
    pub(super) fn copied(&self) -> Result<Self, PfssError> {
        Ok(Self::new(self.q, self.party, self.ring, copy_on(self.q, self.view())?))
    }

    /// `x` plus `term` over the other shares.
    fn with_other(&self, other: &Self, term: WordTerm) -> Result<Self, PfssError> {
        self.check_alike(other)?;
        check_len("shares", self.len(), other.len())?;
        self.sum(&[X, term], other.view())
    }

    /// The sum of `terms` over `x` and one row.
    fn sum(&self, terms: &[WordTerm], row: Ref<'_, Q, u64>) -> Result<Self, PfssError> {
        check_count(self.len())?;
        let (q, list) = (self.q, list_of(terms.iter().copied()));
        let mut out = StagedSecret::alloc(q, self.len())?;
        // A device copies the terms.
        retrying(q, || {
            let operands = Operands { placed: None, x: q.shorten(self.view()), row: q.shorten(row) };
            combine(q, self.ring, &list, operands, out.view_mut())
        })?;
        Ok(Self::new(q, self.party, self.ring, out))
    }
}

/// A share of a mask: in host memory, or where ops read it.
pub(crate) enum Mask<'a, Q: FssOps + 'a> {
    Host(&'a [u64]),
    Device(Ref<'a, Q, u64>),
}

/// Shares plus shares of their masks, one input after the other, in host memory.
///
/// They are to be sent. A mask has a word for each share, and maybe more. No input has `2^32`
/// shares.
pub(crate) fn masked<Q: FssOps>(
    q: &Q,
    ring: Ring,
    inputs: &[(Ref<'_, Q, u64>, Mask<'_, Q>)],
) -> Result<Vec<u64>, PfssError> {
    // Masks in host memory are read there, or copied to the device together with the terms.
    let (terms, in_place) = (list_of([X, ROW]), q.host_view::<u64>(&[]).is_some());
    let list: &[u64] = bytemuck::cast_slice(&terms);
    let on_host = inputs.iter().filter_map(|(_, mask)| match mask {
        Mask::Host(words) => Some(*words),
        Mask::Device(_) => None,
    });
    let staged = match in_place {
        true => None,
        false => Some(StagedSecret::upload_with_lists(q, &[list], [&[], &on_host.collect::<Vec<_>>()], 0)?),
    };

    let mut out = StagedSecret::alloc(q, inputs.iter().map(|(x, _)| x.len()).sum())?;
    let (mut start, mut copied) = (0, list.len());
    for (x, mask) in inputs {
        let placed = staged.as_ref().map(|staged| staged.slice(0..list.len())).transpose()?;
        let row = match (mask, &staged) {
            (Mask::Device(words), _) => q.shorten(*words),
            (Mask::Host(words), Some(staged)) => {
                copied += words.len();
                q.shorten(staged.slice(copied - words.len()..copied)?)
            }
            (Mask::Host(words), None) => match q.host_view(words) {
                Some(words) => q.shorten(words),
                None => unreachable!("a queue reads all of the host's memory, or none of it"),
            },
        };
        retrying(q, || {
            let placed = placed.map(|list| q.words::<u64>(q.shorten(list)));
            let operands = Operands { placed, x: q.shorten(*x), row: q.shorten(row.slice(0..x.len())?) };
            combine(q, ring, &terms, operands, out.slice_mut(start..start + x.len())?)
        })?;
        start += x.len();
    }
    Ok(out.download()?)
}

/// Refuses more elements than one op takes.
pub(crate) fn check_count(len: usize) -> Result<(), PfssError> {
    if len <= MOST_ELEMENTS {
        return Ok(());
    }
    Err(PfssError::Length { what: "elements of one op at most", expected: MOST_ELEMENTS, got: len })
}

/// The operands of a sum, where ops read them.
pub(crate) struct Operands<'a, Q: FssOps + 'a> {
    /// The terms, if they were copied with an operand.
    pub(crate) placed: Option<Ref<'a, Q, u32>>,
    pub(crate) x: Ref<'a, Q, u64>,
    /// The other operand, or nothing.
    pub(crate) row: Ref<'a, Q, u64>,
}

/// Writes a sum of `terms` in `ring`, an element for each of `x`, which are less than `2^32`.
pub(crate) fn combine<Q: FssOps>(
    q: &Q,
    ring: Ring,
    terms: &[WordTerm],
    Operands { placed, x, row }: Operands<'_, Q>,
    sums: Mut<'_, Q, u64>,
) -> Result<(), BackendError> {
    if x.is_empty() {
        return Ok(());
    }
    let params = WordParams {
        offset: 0,
        count: x.len() as u32, // as the caller promises
        party: 0,
        bits: 64,
        shift: 0,
        width: ring.bits(),
        padded_rows: 0,
        rows: u32::from(!row.is_empty()),
        opened_rows: 0,
        interleaved: 0,
        reserved: 0,
    };
    let nothing = x.slice(0..0)?;
    q.combine_words(CombineWords {
        params: &params,
        terms,
        placed: placed.map(|list| q.shorten::<u32>(list)),
        x: q.shorten(x),
        padded: q.shorten(nothing),
        rows: q.shorten(row),
        opened: q.words::<u64>(q.shorten(nothing)),
        sums: q.shorten_mut(sums),
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
