//! A gate that waits for an exchange.
//!
//! Parties send their shares of `w = b ^ c` for a secret bit `b` and a uniform bit `c` of the
//! dealer. Then `[b] = w + (1 - 2w) [c]`, and for a word `v` of the dealer
//! `[b v] = w [v] + (1 - 2w) [c v]`.

use core::fmt;
use std::sync::Arc;

use backend_api::{Queue, ops::fss::FssOps};
use core_types::Ring;

use super::{bits::BitShares, opened::OpenedValues, results::Shares, sums::BundleSums};
use crate::{KeyBundle, Party, PfssError, error::check_len, lanes::live, secret::staging::StagedSecret};

/// A gate's evaluation between two exchanges.
#[derive(Debug)]
pub enum Step {
    /// Bits or words have to be opened; [`Pending::finish`] gives the next step.
    Open(Pending),
    /// All is computed.
    Done(Shares),
}

/// The first step of a gate whose result is words in device memory.
pub(crate) enum DeviceStep<'q, Q: Queue> {
    /// Bits or words have to be opened; [`Pending::finish_on_device`] gives the result.
    Open(Pending),
    /// The words.
    Done(StagedSecret<'q, Q, u64>),
}

/// A gate between two steps: masked bits to exchange, and the remaining work.
///
/// It is used once: [`finish`](Self::finish) takes it by value.
pub struct Pending {
    party: Party,
    count: usize,
    masked: Vec<u32>,
    /// Additive shares of masked words, one per element or none, and their ring.
    words: (Ring, Vec<u64>),
    remaining: Remaining,
}

/// The remaining work.
enum Remaining {
    /// The next step of one gate.
    SecondStep(Box<dyn SecondStep>),
    /// Consecutive parts of a batch, and whether [`Step::join`] joins their words by element.
    Parts(Vec<Pending>, bool),
}

/// The step of a gate after an exchange, with the shares that it needs: usually just sums.
pub(in crate::gates) trait SecondStep: Send + Sync {
    /// The bundle whose words the sums are over.
    fn bundle(&self) -> &KeyBundle;
    /// The public words of the sums.
    fn x<'a>(&'a self, opened: &'a OpenedValues) -> &'a [u64];
    /// The sums to form of what was opened.
    fn sums(&self) -> Vec<&BundleSums>;
    /// Turns opened bits and the results of all [`sums`](Self::sums) into shares, or opens more.
    fn finish(self: Box<Self>, opened: &OpenedValues, sums: Vec<Vec<u64>>) -> Step;
}

/// A gate whose result is sums of its words.
struct Summed {
    /// The keys, walked.
    bundle: KeyBundle,
    /// The operands of the sums; if `None`, the opened words.
    x: Option<Vec<u64>>,
    sums: Arc<BundleSums>,
}

impl SecondStep for Summed {
    fn bundle(&self) -> &KeyBundle {
        &self.bundle
    }

    fn x<'a>(&'a self, opened: &'a OpenedValues) -> &'a [u64] {
        self.x.as_deref().unwrap_or(opened.words())
    }

    fn sums(&self) -> Vec<&BundleSums> {
        vec![&self.sums]
    }

    fn finish(self: Box<Self>, _: &OpenedValues, sums: Vec<Vec<u64>>) -> Step {
        let words = sums.into_iter().next().unwrap_or_default(); // exactly one sum was requested
        Step::Done(words.into())
    }
}

/// The ring of no words.
const NO_WORDS: Ring = match Ring::new(1) {
    Some(ring) => ring,
    None => unreachable!(),
};

impl Pending {
    /// Opens rows that are already masked.
    pub(in crate::gates) fn masked(
        party: Party,
        count: usize,
        masked: Vec<u32>,
        second: impl SecondStep + 'static,
    ) -> Self {
        Self { party, count, masked, words: (NO_WORDS, Vec::new()), remaining: Remaining::SecondStep(Box::new(second)) }
    }

    /// The whole of a batch from its parts and what they open.
    ///
    /// [`Step::join`] joins their results.
    pub(in crate::gates) fn parts(
        party: Party,
        masked: Vec<u32>,
        words: (Ring, Vec<u64>),
        parts: Vec<Self>,
        by_element: bool,
    ) -> Self {
        let count = parts.iter().map(Self::count).sum();
        Self { party, count, masked, words, remaining: Remaining::Parts(parts, by_element) }
    }

    /// Opens a word of each element as well.
    pub(in crate::gates) fn with_words(self, ring: Ring, words: Vec<u64>) -> Self {
        Self { words: (ring, words), ..self }
    }

    /// This party's share of the masked bits.
    ///
    /// Public: send them to the peer. Rows of `count.div_ceil(32)` words, bits past the last
    /// element zero.
    #[must_use]
    pub fn masked_bits(&self) -> &[u32] {
        &self.masked
    }

    /// This party's additive shares of masked words, one per element, for gates that open words.
    ///
    /// Public, like [`masked_bits`](Self::masked_bits), and sent with them.
    #[must_use]
    pub fn masked_words(&self) -> &[u64] {
        &self.words.1
    }

    /// The ring of [`masked_words`](Self::masked_words).
    #[must_use]
    pub fn word_ring(&self) -> Ring {
        self.words.0
    }

    /// Elements per row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The party whose gate this is.
    pub(in crate::gates) fn party(&self) -> Party {
        self.party
    }

    /// The next step from what was opened.
    fn finish_opened<Q: FssOps>(self, q: &Q, opened: &OpenedValues) -> Result<Step, PfssError> {
        match self.remaining {
            Remaining::SecondStep(second) => {
                let (bundle, x) = (second.bundle(), second.x(opened));
                let sums = second.sums().iter().map(|sums| sums.run(q, bundle, x, opened)).collect::<Result<_, _>>()?;
                Ok(second.finish(opened, sums))
            }
            Remaining::Parts(parts, by_element) => {
                let mut first = 0;
                let finish = |part: Self| {
                    let (count, start) = (part.count, first);
                    first += count;
                    Ok((count, part.finish_opened(q, &opened.part(start..start + count))?))
                };
                Ok(Step::join(parts.into_iter().map(finish).collect::<Result<_, PfssError>>()?, by_element))
            }
        }
    }

    /// The next step, given the peer's [`masked_bits`](Self::masked_bits).
    ///
    /// This is for gates that open no words.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless the peer has sent as much as this party, or if words have to be
    /// opened as well; [`PfssError::Backend`].
    pub fn finish<Q: FssOps>(self, q: &Q, peer: &[u32]) -> Result<Step, PfssError> {
        self.finish_with(q, peer, &[])
    }

    /// The next step, given the peer's masked bits and words.
    ///
    /// They are the peer's [`masked_bits`](Self::masked_bits) and
    /// [`masked_words`](Self::masked_words).
    ///
    /// # Errors
    /// [`PfssError::Length`] if the peer's bits or words differ in number from this party's;
    /// [`PfssError::Backend`].
    pub fn finish_with<Q: FssOps>(self, q: &Q, bits: &[u32], words: &[u64]) -> Result<Step, PfssError> {
        let opened = self.opened(bits, words)?;
        self.finish_opened(q, &opened)
    }

    /// The result of a gate of a [`DeviceStep`], given the peer's masked bits and words.
    ///
    /// It is in `room`, secret memory, if that has its length.
    ///
    /// # Errors
    /// As [`finish_with`](Self::finish_with).
    pub(crate) fn finish_on_device<'q, Q: FssOps>(
        self,
        q: &'q Q,
        (bits, words): (&[u32], &[u64]),
        room: Option<StagedSecret<'q, Q, u64>>,
    ) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
        let opened = self.opened(bits, words)?;
        let Remaining::SecondStep(second) = self.remaining else { unreachable!("a gate in one part") };
        let [sums] = second.sums()[..] else { unreachable!("words alone, from one list of sums") };
        sums.run_on_device(q, second.bundle(), second.x(&opened), &opened, room)
    }

    /// The opened values, from both parties' masked bits and words.
    fn opened(&self, bits: &[u32], words: &[u64]) -> Result<OpenedValues, PfssError> {
        let (ring, mine) = &self.words;
        check_len("words of masked bits", self.masked.len(), bits.len())?;
        check_len("masked words", mine.len(), words.len())?;
        Ok(OpenedValues::join((self.party, self.count), [&self.masked, bits], (*ring, [mine, words])))
    }

    /// Masks `bits` with the dealer's bits from the first on.
    ///
    /// The result is `sums` over the bundle's words and the public words `x` or, without `x`, the
    /// words that are opened.
    pub(in crate::gates) fn summed(
        bundle: KeyBundle,
        bits: &BitShares,
        first_mask: usize,
        x: Option<Vec<u64>>,
        sums: Arc<BundleSums>,
    ) -> Self {
        let masked = Self::mask(&bundle, bits, first_mask);
        let (party, count) = (bits.party(), bits.count());
        Self::masked(party, count, masked, Summed { bundle: bundle.walked(), x, sums })
    }

    /// `bits` under the dealer's bits, rows from `first_mask` on.
    fn mask(bundle: &KeyBundle, bits: &BitShares, first_mask: usize) -> Vec<u32> {
        let per_row = bits.count().div_ceil(32);
        let mut masked = Vec::with_capacity(bits.words().len());
        for (row, words) in bits.words().chunks(per_row.max(1)).enumerate() {
            for (word, (&bit, &mask)) in words.iter().zip(bundle.bit_row(first_mask + row)).enumerate() {
                masked.push(bit ^ (mask & live(bits.count(), word)));
            }
        }
        masked
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("party", &self.party).field("count", &self.count).finish_non_exhaustive()
    }
}
