//! Shares from and to memory of the caller's, and gates whose caller exchanges messages.
//!
//! The caller passes functions that copy from and to its memory. A copy within a device needs no
//! host memory. Without a session, the caller sends masked inputs and openings itself, as with
//! [`KeyBundle::mask`], [`MaskedKeys::eval`] and [`Pending::finish_with`].

use core::fmt;

use backend_api::{BufferRef as _, Mut, Ref, ops::fss::FssOps};

use super::{
    DeviceShares,
    arithmetic::{Mask, check_count, masked},
};
use crate::{
    Gate, KeyBundle, MaskedKeys, Party, Pending, PfssError, Ring, Task, gates::shares::pending::DeviceStep,
    secret::staging::StagedSecret,
};

impl<'q, Q: FssOps> DeviceShares<'q, Q> {
    /// Shares of `party`, `len` words of `ring`, that `write` copies to device memory of `q`.
    ///
    /// `write` submits work that fills the whole view before the later work of `q`. Bits above the
    /// ring are ignored.
    ///
    /// # Errors
    /// [`PfssError::Backend`], and the errors of `write`.
    pub fn written_by<E: From<PfssError>>(
        q: &'q Q,
        party: Party,
        ring: Ring,
        len: usize,
        write: impl FnOnce(Mut<'_, Q, u64>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut words = StagedSecret::alloc(q, len).map_err(PfssError::from)?;
        write(words.view_mut())?;
        Ok(Self::new(q, party, ring, words))
    }

    /// Passes the shares, elements of the ring, to `read`.
    ///
    /// `read` submits work that is before the later work of the queue. Bits above the ring are
    /// cleared before, in a copy that is wiped afterwards.
    ///
    /// # Errors
    /// [`PfssError::Length`] for more shares than one op takes, at most `2^32 - 1`,
    /// [`PfssError::Backend`], and the errors of `read`.
    pub fn read_by<T, E: From<PfssError>>(&self, read: impl FnOnce(Ref<'_, Q, u64>) -> Result<T, E>) -> Result<T, E> {
        if self.ring.bits() == u64::BITS {
            return read(self.view());
        }
        read(self.scale(1)?.view())
    }
}

impl Task<'_> {
    /// Whether the result with keys of `gate` may stay in device memory.
    ///
    /// [`Session::run_on_device`](crate::Session::run_on_device) lists the other tasks.
    #[must_use]
    pub fn runs_on_device(&self, gate: &Gate) -> bool {
        self.check_on_device(gate).is_ok()
    }
}

impl KeyBundle {
    /// [`mask`](Self::mask) of shares in device memory, where the masked inputs stay.
    ///
    /// # Errors
    /// [`PfssError::KeyRing`] for keys of another ring than the shares', [`PfssError::WrongParty`]
    /// for shares of the other party, [`PfssError::Length`] for more shares than one op takes, at
    /// most `2^32 - 1`, and as [`mask`](Self::mask). Nothing is spent on [`PfssError::Backend`].
    pub fn mask_on_device<'q, Q: FssOps>(
        self,
        x: &DeviceShares<'q, Q>,
    ) -> Result<(DeviceShares<'q, Q>, MaskedKeys), PfssError> {
        self.check_mask(x.len())?;
        self.gate().check_ring(x.ring())?;
        if x.party() != self.party() {
            return Err(PfssError::WrongParty { expected: self.party(), got: x.party() });
        }
        check_count(x.len())?;
        let mut masked = self.masks_on(x)?;
        // Under masks that were spent before, these words would reveal a difference: they are wiped.
        let keys = self.with_open_inputs().inspect_err(|_| masked.words.set_public(false))?;
        Ok((masked, keys))
    }

    /// `x` plus the shares of the masks. A device expands many masks from their seed.
    fn masks_on<'q, Q: FssOps>(&self, x: &DeviceShares<'q, Q>) -> Result<DeviceShares<'q, Q>, PfssError> {
        let (q, rows) = (x.queue(), 0..self.gate().inputs());
        let words = rows.len() * self.padded();
        let expanded = match self.seeded_rows(q, size_of::<u64>() * words) {
            Some(seeded) => {
                let mut expanded = StagedSecret::<_, u64>::alloc(q, words)?;
                seeded.words(q, rows.clone(), 0..self.padded(), expanded.view_mut())?;
                Some(expanded)
            }
            None => None,
        };
        let masked_row = |row: usize| {
            let mask = match &expanded {
                Some(words) => Mask::Device(words.slice(row * self.padded()..(row + 1) * self.padded())?),
                None => Mask::Host(self.word_row(row)),
            };
            Ok::<_, PfssError>((x.view().slice(row * self.count()..(row + 1) * self.count())?, mask))
        };
        let words = masked(q, x.ring(), &rows.map(masked_row).collect::<Result<Vec<_>, _>>()?)?;
        Ok(DeviceShares::new(q, x.party(), x.ring(), words))
    }
}

/// The first step of a gate whose result stays in device memory.
#[derive(Debug)]
pub enum StepOnDevice<'q, Q: FssOps> {
    /// Bits or words have to be opened; [`PendingOnDevice::finish`] gives the result.
    Open(PendingOnDevice),
    /// The result.
    Done(DeviceShares<'q, Q>),
}

/// A gate whose result stays in device memory, before its only exchange.
///
/// Its messages are the same as of [`Pending`].
pub struct PendingOnDevice {
    pending: Pending,
    party: Party,
    ring: Ring,
}

impl MaskedKeys {
    /// [`eval`](Self::eval) with the result left in the device memory of `q`.
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`] unless the task [runs on a device](Task::runs_on_device), and as
    /// [`eval`](Self::eval).
    pub fn eval_on_device<'q, Q: FssOps>(
        self,
        q: &'q Q,
        task: Task<'_>,
        x_hat: &[u64],
    ) -> Result<StepOnDevice<'q, Q>, PfssError> {
        task.check_on_device(self.gate())?;
        task.check_keys(&self.0, x_hat.len())?;
        let (party, ring) = (self.party(), self.gate().out_ring());
        Ok(match task.plan(self.gate())?.eval_on_device(q, self, x_hat.to_vec(), &mut None)? {
            DeviceStep::Open(pending) => StepOnDevice::Open(PendingOnDevice { pending, party, ring }),
            DeviceStep::Done(words) => StepOnDevice::Done(DeviceShares::new(q, party, ring, words)),
        })
    }
}

impl PendingOnDevice {
    /// This party's share of the masked bits, as [`Pending::masked_bits`].
    #[must_use]
    pub fn masked_bits(&self) -> &[u32] {
        self.pending.masked_bits()
    }

    /// This party's additive shares of masked words, as [`Pending::masked_words`].
    #[must_use]
    pub fn masked_words(&self) -> &[u64] {
        self.pending.masked_words()
    }

    /// The result in the device memory of `q`, given the peer's masked bits and words.
    ///
    /// # Errors
    /// As [`Pending::finish_with`].
    pub fn finish<'q, Q: FssOps>(
        self,
        q: &'q Q,
        bits: &[u32],
        words: &[u64],
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        let Self { pending, party, ring } = self;
        Ok(DeviceShares::new(q, party, ring, pending.finish_on_device(q, (bits, words), None)?))
    }
}

impl fmt::Debug for PendingOnDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PendingOnDevice").field(&self.pending).finish()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{BackendError, Queue as _};

    use super::*;
    use crate::{BoolShares, Dealer, Interval, Predicate, Step, eval_lockstep, testing::queues};

    fn words(len: usize) -> Vec<u64> {
        (1..=len as u64).map(|e| e.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    fn ring(bits: u32) -> Ring {
        Ring::new(bits).unwrap()
    }

    #[test]
    fn copies_of_the_callers_fill_and_read_shares_of_every_ring() {
        for q in &queues() {
            for bits in [64, 37, 1] {
                let x = words(70);
                let shares = DeviceShares::written_by(q, Party::One, ring(bits), 70, |view| {
                    Ok::<_, PfssError>(q.write_secret(&x, view)?)
                });
                let shares = shares.unwrap();
                assert_eq!((shares.party(), shares.ring(), shares.len()), (Party::One, ring(bits), 70));
                let expected: Vec<u64> = x.iter().map(|&x| ring(bits).reduce(x)).collect();
                assert_eq!(
                    shares.read_by(|view| Ok::<_, PfssError>(q.read_secret(view)?)).unwrap(),
                    expected,
                    "{bits}"
                );
            }
            let lost = || PfssError::Backend(BackendError::Unsupported { op: "copy", why: "a test refuses it" });
            let written = DeviceShares::written_by(q, Party::Zero, ring(64), 3, |_| Err(lost()));
            assert_eq!(written.unwrap_err(), lost());
            let shares = DeviceShares::upload(q, Party::Zero, ring(64), &[1]).unwrap();
            assert_eq!(shares.read_by(|_| Err::<(), _>(lost())).unwrap_err(), lost());
        }
    }

    /// With few masks and many, which a device expands from party 0's seed.
    #[test]
    fn masks_added_on_a_device_are_those_added_on_the_host() {
        let queues = queues();
        for gate in [Gate::relu(64).unwrap(), Gate::truncate_reduce(37, 9).unwrap(), Gate::product(13).unwrap()] {
            for count in [1, 33, 8224] {
                let x = words(gate.inputs() * count);
                let deal = || Dealer::insecure_from_seed(8).deal(&queues[0], &gate, count).unwrap();
                for q in &queues {
                    for bundle in deal().map(KeyBundle::insecure_reusable) {
                        let party = bundle.party();
                        let shares = DeviceShares::upload(q, party, gate.ring(), &x).unwrap();
                        let (masked, keys) = bundle.mask_on_device(&shares).unwrap();
                        let (expected, _) = keys.0.mask(&x).unwrap();
                        assert_eq!(masked.read_by(|view| Ok::<_, PfssError>(q.read_secret(view)?)).unwrap(), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn refused_shares_spend_no_masks_and_masks_are_spent_once() {
        let [q, _] = &queues();
        let [bundle, _] = Dealer::from_os().unwrap().deal(q, &Gate::relu(64).unwrap(), 3).unwrap();
        let again = || KeyBundle::from_bytes(&bundle.to_bytes()).unwrap();
        let shares = |party, bits, len| DeviceShares::upload(q, party, ring(bits), &words(len)).unwrap();
        for (x, expected) in [
            (shares(Party::Zero, 64, 4), PfssError::Length { what: "elements", expected: 3, got: 4 }),
            (shares(Party::Zero, 63, 3), PfssError::KeyRing { expected: 63, got: 64 }),
            (shares(Party::One, 64, 3), PfssError::WrongParty { expected: Party::Zero, got: Party::One }),
        ] {
            assert_eq!(again().mask_on_device(&x).unwrap_err(), expected);
        }
        let x = shares(Party::Zero, 64, 3);
        assert!(again().mask_on_device(&x).is_ok());
        assert_eq!(again().mask_on_device(&x).unwrap_err(), PfssError::ReusedBundle { nonce: bundle.nonce() });
    }

    #[test]
    fn evaluations_whose_caller_exchanges_messages_give_the_words_of_the_host() {
        const TABLE: [u64; 64] = [0x12_3456_789a; 64];
        const INTERVALS: [Interval; 1] = [Interval { start: 3, end: Some(900) }];
        let (queues, count) = (queues(), 70);
        for (gate, task) in [
            (Gate::relu(64).unwrap(), Task::Relu),
            (Gate::ars(30, 7).unwrap().with_masked_outputs().unwrap(), Task::Ars),
            (Gate::lut(6, 40).unwrap(), Task::Lut(&TABLE)),
            (Gate::interval_powers(20, 2).unwrap(), Task::IntervalPowers(&INTERVALS)),
        ] {
            assert!(task.runs_on_device(&gate));
            let hatx: Vec<u64> = words(count).iter().map(|&x| gate.ring().reduce(x)).collect();
            let keys = || {
                let bundles = Dealer::insecure_from_seed(8).deal(&queues[0], &gate, count).unwrap();
                bundles.map(|bundle| bundle.insecure_reusable().with_open_inputs().unwrap())
            };
            let expected = eval_lockstep(&queues[0], task, keys(), &hatx).unwrap().map(|shares| shares.words);
            for q in &queues {
                let steps = keys().map(|keys| keys.eval_on_device(q, task, &hatx).unwrap());
                let messages = steps.each_ref().map(|step| match step {
                    StepOnDevice::Open(pending) => (pending.masked_bits().to_vec(), pending.masked_words().to_vec()),
                    StepOnDevice::Done(_) => (Vec::new(), Vec::new()),
                });
                let mut others = messages.iter().rev();
                let got = steps.map(|step| {
                    let (bits, words) = others.next().unwrap();
                    let result = match step {
                        StepOnDevice::Open(pending) => pending.finish(q, bits, words).unwrap(),
                        StepOnDevice::Done(words) => words,
                    };
                    assert_eq!(result.ring(), gate.out_ring());
                    result.download().unwrap()
                });
                assert_eq!(got, expected, "{task:?}");
            }
        }
    }

    #[test]
    fn tasks_with_other_results_are_refused_and_not_offered() {
        const PREDICATES: [Predicate; 1] = [Predicate::Lt { beta: 3 }];
        let [q, _] = &queues();
        let (gate, task) = (Gate::full_predicates(20).unwrap(), Task::PredicateBits(&PREDICATES));
        let [bundle, _] = Dealer::from_os().unwrap().deal(q, &gate, 3).unwrap();
        let read = || KeyBundle::from_bytes(&bundle.to_bytes()).unwrap().insecure_reusable();
        let again = || read().with_open_inputs().unwrap();
        assert!(!task.runs_on_device(&gate));
        let refused = again().eval_on_device(q, task, &[1, 2, 3]).unwrap_err();
        assert!(matches!(refused, PfssError::NotOnDevice { .. }), "{refused}");
        let Step::Done(shares) = again().eval(q, task, &[1, 2, 3]).unwrap() else { panic!("nothing to open") };
        assert!(matches!(shares.bools, BoolShares::Xor(_)));
    }
}
