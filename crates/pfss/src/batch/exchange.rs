//! Openings of many gates in one message a round.

use backend_api::ops::fss::FssOps;

use super::SuperBatch;
use crate::{Channel, ChannelError, KeyBundle, PfssError, Session, wire};

impl<C: Channel> Session<C> {
    /// Opens `x + r` for every bundle and its shares of inputs, in one round: the masked inputs for
    /// [`Job`](super::Job)s. The bundles count as used from here on.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ReusedBundle`] or [`PfssError::Length`] before anything is sent;
    /// [`PfssError::Channel`] and [`PfssError::Backend`] close the session.
    pub fn open_masked<Q: FssOps>(
        &mut self,
        q: &Q,
        inputs: &[(&KeyBundle, &[u64])],
    ) -> Result<Vec<Vec<u64>>, PfssError> {
        for &(bundle, x) in inputs {
            self.admit_input(bundle, x)?;
        }
        self.closing(|session| {
            let mut mine = Vec::new();
            for &(bundle, x) in inputs {
                session.record(bundle, &[]);
                mine.extend(wire::words_to_bytes(q, bundle.gate().ring(), &bundle.mask_inputs(x))?);
            }
            let theirs = session.exchange(&mine)?;
            let mut rest = &theirs[..];
            let mut opened = Vec::with_capacity(inputs.len());
            for &(bundle, x) in inputs {
                let (ring, mine) = (bundle.gate().ring(), bundle.mask_inputs(x));
                let (bytes, behind) = split(rest, wire::byte_len(x.len(), ring))?;
                let theirs = wire::words_from_bytes(q, ring, bytes, x.len())?;
                opened.push(mine.iter().zip(&theirs).map(|(&a, &b)| ring.add(a, b)).collect());
                rest = behind;
            }
            Ok(opened)
        })
    }

    /// Opens everything that a flushed batch asks for, round by round, each in one message, until it is final.
    ///
    /// # Errors
    /// [`PfssError::Batch`] unless the batch is flushed; [`PfssError::Channel`] and [`PfssError::Backend`] close the
    /// session and poison the batch.
    pub fn finalize<Q: FssOps>(&mut self, batch: &mut SuperBatch<'_, Q>) -> Result<(), PfssError> {
        self.check_open()?;
        let opened = self.closing(|session| {
            session.record_digest(&batch.digest());
            while let Some(mine) = batch.round()? {
                let theirs = session.exchange(&mine)?;
                batch.absorb(&theirs)?;
            }
            Ok(())
        });
        if opened.is_err() {
            batch.poison();
        }
        opened
    }

    /// Whether `bundle` masks inputs `x`, for the first time.
    pub(super) fn admit_input(&mut self, bundle: &KeyBundle, x: &[u64]) -> Result<(), PfssError> {
        if bundle.count() != x.len() {
            return Err(PfssError::Length { what: "elements", expected: bundle.count(), got: x.len() });
        }
        self.admit(bundle)
    }
}

/// Finalizes the batches of both parties in this process, as [`Session::finalize`] does for one.
///
/// # Errors
/// [`PfssError::Batch`] unless both are flushed, [`PfssError::Channel`] if they were given different jobs.
pub fn finalize_lockstep<Q: FssOps>([zero, one]: [&mut SuperBatch<'_, Q>; 2]) -> Result<(), PfssError> {
    loop {
        let (from_zero, from_one) = (zero.round()?, one.round()?);
        if from_zero.is_none() && from_one.is_none() {
            return Ok(());
        }
        zero.absorb(&from_one.unwrap_or_default())?;
        one.absorb(&from_zero.unwrap_or_default())?;
    }
}

/// The first `len` bytes of a message, and what follows.
pub(super) fn split(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), ChannelError> {
    bytes.split_at_checked(len).ok_or(ChannelError::Length { expected: len, got: bytes.len() as u64 })
}
