//! Openings of many gates in one message a round.

use backend_api::ops::fss::FssOps;
use core_types::Ring;

use super::super_batch::SuperBatch;
use crate::{Channel, ChannelError, KeyBundle, MaskedKeys, PfssError, Session, bundle::Header, protocol::wire};

/// Words to open under the masks of a bundle.
#[derive(Debug)]
pub(super) struct Opening {
    header: Header,
    mine: Vec<u64>,
}

impl Opening {
    /// The masked inputs of a gate.
    pub(super) fn of((mine, keys): (Vec<u64>, MaskedKeys)) -> (Self, MaskedKeys) {
        (Self { header: keys.0.header.clone(), mine }, keys)
    }

    pub(super) fn words(&self) -> usize {
        self.mine.len()
    }

    fn ring(&self) -> Ring {
        self.header.gate.ring()
    }
}

impl<C: Channel> Session<C> {
    /// Opens `x + r` for every bundle and its shares of inputs, in one round.
    ///
    /// Returns the keys and masked inputs for [`Job`](super::Job)s. The bundles are spent from here
    /// on.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ReusedBundle`] or [`PfssError::Length`] before
    /// anything is sent; [`PfssError::Channel`] and [`PfssError::Backend`] close the session.
    pub fn open_masked<Q: FssOps>(
        &mut self,
        q: &Q,
        inputs: Vec<(KeyBundle, &[u64])>,
    ) -> Result<Vec<(MaskedKeys, Vec<u64>)>, PfssError> {
        let (bundles, x): (Vec<KeyBundle>, Vec<&[u64]>) = inputs.into_iter().unzip();
        let lens: Vec<usize> = x.iter().map(|x| x.len()).collect();
        self.open_masked_by(q, bundles, &lens, |keys| {
            Ok(keys.iter().zip(x).map(|(keys, x)| keys.add_masks(x)).collect())
        })
    }

    /// [`open_masked`](Self::open_masked) of inputs that `mask` masks with all keys.
    ///
    /// `lens` has the number of inputs of each bundle.
    pub(crate) fn open_masked_by<Q: FssOps>(
        &mut self,
        q: &Q,
        bundles: Vec<KeyBundle>,
        lens: &[usize],
        mask: impl FnOnce(&[MaskedKeys]) -> Result<Vec<Vec<u64>>, PfssError>,
    ) -> Result<Vec<(MaskedKeys, Vec<u64>)>, PfssError> {
        self.check_open()?;
        for (bundle, &inputs) in bundles.iter().zip(lens) {
            self.admit(&bundle.header)?;
            bundle.check_mask(inputs)?;
        }
        let keys = bundles.into_iter().map(KeyBundle::with_open_inputs).collect::<Result<Vec<_>, _>>()?;
        let masked = self.closing(|_| mask(&keys))?;
        let of = |(keys, mine): (&MaskedKeys, Vec<u64>)| Opening { header: keys.0.header.clone(), mine };
        let openings: Vec<Opening> = keys.iter().zip(masked).map(of).collect();
        let opened = self.open_round(q, &openings, &mut [])?;
        Ok(keys.into_iter().zip(opened).collect())
    }

    /// Opens everything that a flushed batch asks for, one message a round, until it is final.
    ///
    /// # Errors
    /// [`PfssError::Batch`] unless the batch is flushed; [`PfssError::Channel`] and
    /// [`PfssError::Backend`] close the session and poison the batch.
    pub fn finalize<Q: FssOps>(&mut self, batch: &mut SuperBatch<'_, Q>) -> Result<(), PfssError> {
        let q = batch.queue();
        while batch.begin_round()? {
            if let Err(error) = self.open_round(&*q, &[], &mut [batch]) {
                batch.poison();
                return Err(error);
            }
        }
        Ok(())
    }

    /// One message for all of `openings` and the next round of each batch.
    ///
    /// Returns the opened words of each opening.
    pub(super) fn open_round<'a, Q: FssOps>(
        &mut self,
        q: &Q,
        openings: &[Opening],
        batches: &mut [&mut SuperBatch<'a, Q>],
    ) -> Result<Vec<Vec<u64>>, PfssError> {
        self.check_open()?;
        openings.iter().try_for_each(|opening| self.admit(&opening.header))?;
        self.closing(|session| {
            let (mut mine, mut rounds) = (Vec::new(), Vec::new());
            for opening in openings {
                session.record(&opening.header, &[]);
                mine.extend(wire::words_to_bytes(q, opening.ring(), &opening.mine)?);
            }
            for batch in batches.iter_mut() {
                session.record_digest(&batch.digest(), batch.jobs());
                let (begun, start) = (batch.begin_round()?, mine.len());
                batch.messages().for_each(|part| mine.extend_from_slice(part));
                rounds.push(begun.then_some(mine.len() - start));
            }
            let theirs = session.exchange(&mine)?;
            let mut rest = &theirs[..];
            let mut take = |len| {
                let (part, left) = split(rest, len)?;
                rest = left;
                Ok::<_, ChannelError>(part)
            };
            let mut opened = Vec::with_capacity(openings.len());
            for opening in openings {
                let (ring, mine) = (opening.ring(), &opening.mine);
                let bytes = take(wire::byte_len(mine.len(), ring))?;
                let theirs = wire::words_from_bytes(q, ring, bytes, mine.len())?;
                let words: Vec<u64> = mine.iter().zip(&theirs).map(|(&a, &b)| ring.add(a, b)).collect();
                session.opened(&[], &words);
                opened.push(words);
            }
            for (batch, len) in batches.iter_mut().zip(rounds) {
                if let Some(len) = len {
                    batch.masked(|bits, words| session.opened(bits, words));
                    batch.absorb(take(len)?)?;
                }
            }
            Ok(opened)
        })
    }
}

/// Finalizes the batches of both parties in this process.
///
/// [`Session::finalize`] does the same for one party. `watch` is called with words and bits that
/// become public, as in [`run_lockstep_watched`](crate::run_lockstep_watched).
///
/// # Errors
/// [`PfssError::Batch`] unless both are flushed, [`PfssError::Channel`] if they were given
/// different jobs.
pub fn finalize_lockstep<Q: FssOps>(
    [zero, one]: [&mut SuperBatch<'_, Q>; 2],
    mut watch: impl FnMut(&[u32], &[u64]),
) -> Result<(), PfssError> {
    let [expected, got] = [zero.digest(), one.digest()].map(|digest| core::array::from_fn(|i| digest[i]));
    if expected != got {
        return Err(ChannelError::Step { round: 0, expected, got }.into());
    }
    loop {
        zero.masked(&mut watch);
        one.masked(&mut watch);
        // equal jobs end in the same round
        let (Some(from_zero), Some(from_one)) = (zero.round()?, one.round()?) else { return Ok(()) };
        zero.absorb(&from_one)?;
        one.absorb(&from_zero)?;
    }
}

/// The first `len` bytes of a message, and what follows.
fn split(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), ChannelError> {
    bytes.split_at_checked(len).ok_or(ChannelError::Length { expected: len, got: bytes.len() as u64 })
}
