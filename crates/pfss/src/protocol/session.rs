//! One party of a computation: gates over a channel, under one transcript.

use std::sync::Arc;

use backend_api::ops::fss::FssOps;
use core_types::Ring;
use zeroize::Zeroizing;

use super::wire;
use crate::{
    AutoTrunc, Channel, ChannelError, Gate, Interval, KeyBundle, MaskedKeys, Party, Pending, PfssError, Shares,
    SignedRange, Step, Task,
    bundle::Header,
    channel::check_message,
    error::check_len,
    gates::{plan::TaskPlan, plans::AllPlans},
};

/// Bytes of the step digest at the start of every message.
const DIGEST_BYTES: usize = 16;
/// Kinds of transcript records: the first byte of a record.
///
/// The bytes after it determine where the record ends, so no two sequences of records have the same
/// bytes.
const KEYS: u8 = 1;
const DIGEST: u8 = 2;
const MESSAGE: u8 = 3;

/// The peer's part of a gate's opening: bits and words.
pub(crate) type PeerOpening = (Vec<u32>, Vec<u64>);

/// What one party has moved over its channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of messages sent, with step digests but without the channel's framing.
    pub sent_bytes: u64,
    /// Bytes of messages received.
    pub received_bytes: u64,
    /// Exchanges; each is one network latency.
    pub rounds: u64,
}

/// One party of a two-party computation: runs gates on additive shares over a [`Channel`].
///
/// Both parties call the same methods in the same order, each with its own shares and its own
/// bundles. Every message carries a digest of all public facts so far (gates, counts, predicates,
/// layouts, bundle nonces), so parties out of step get [`ChannelError::Step`] instead of wrong
/// results.
///
/// Inputs are additive shares modulo `2^n` of the gate's ring; bits above are ignored. Outputs are
/// shares again: of the results themselves, which need not be opened, or of results under masks if
/// a gate has [masked outputs](Gate::with_masked_outputs).
#[derive(Debug)]
pub struct Session<C> {
    channel: C,
    transcript: blake3::Hasher,
    traffic: Traffic,
    plans: AllPlans,
    closed: bool,
}

impl<C: Channel> Session<C> {
    /// A session over an open channel.
    pub fn new(channel: C) -> Self {
        let mut transcript = blake3::Hasher::new();
        transcript.update(b"pfss session v3");
        Self { channel, transcript, traffic: Traffic::default(), plans: AllPlans::default(), closed: false }
    }

    /// The party at this end.
    pub fn party(&self) -> Party {
        self.channel.party()
    }

    /// Bytes and rounds so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Shares of the result of `task`.
    ///
    /// The first round opens the masked inputs. Most tasks then open one masked bit per output in a
    /// second one.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`], [`PfssError::ReusedBundle`], [`PfssError::Kind`] or
    /// [`PfssError::Length`] for a bundle that does not fit, and the errors of the [`Task`], before
    /// anything is sent. [`PfssError::Channel`] and [`PfssError::Backend`] close the session: later
    /// calls report [`PfssError::Closed`].
    pub fn run<Q: FssOps>(&mut self, q: &Q, task: Task<'_>, bundle: KeyBundle, x: &[u64]) -> Result<Shares, PfssError> {
        let (plan, keys, x_hat) = self.open_inputs(q, task, bundle, x.len(), |keys| Ok(keys.add_masks(x)))?;
        self.evaluate(q, &plan, keys, x_hat)
    }

    /// [`run`](Self::run) on shares in `ring`, with keys of that ring alone.
    ///
    /// A task has no ring, so [`run`](Self::run) takes inputs to be shared in the ring of the keys.
    /// Shares of a ring of fewer bits give both parties wrong results without an error. Of shares
    /// of a ring of more bits, the low bits count.
    ///
    /// # Errors
    /// [`PfssError::KeyRing`] for keys of another ring, before anything is sent or spent, and as
    /// [`run`](Self::run).
    pub fn run_in<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &[u64],
    ) -> Result<Shares, PfssError> {
        bundle.gate().check_ring(ring)?;
        self.run(q, task, bundle, x)
    }

    /// [`run`](Self::run) on masked inputs that are already open.
    ///
    /// The round that opens them is left out.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn eval<Q: FssOps>(
        &mut self,
        q: &Q,
        task: Task<'_>,
        keys: MaskedKeys,
        x_hat: &[u64],
    ) -> Result<Shares, PfssError> {
        let plan = self.record_open(task, &keys, x_hat.len())?;
        self.evaluate(q, &plan, keys, x_hat.to_vec())
    }

    /// [`eval`](Self::eval) on masked inputs of `ring`, with keys of that ring alone.
    ///
    /// # Errors
    /// As [`run_in`](Self::run_in).
    pub fn eval_in<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        task: Task<'_>,
        keys: MaskedKeys,
        x_hat: &[u64],
    ) -> Result<Shares, PfssError> {
        keys.gate().check_ring(ring)?;
        self.eval(q, task, keys, x_hat)
    }

    /// Shares of `max(x, 0)`, `x` read as signed. Two rounds.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn relu<Q: FssOps>(&mut self, q: &Q, bundle: KeyBundle, x: &[u64]) -> Result<Vec<u64>, PfssError> {
        Ok(self.run(q, Task::Relu, bundle, x)?.words)
    }

    /// Shares of `floor(x / 2^f)` for signed `x`, by the gate that `shift` chose.
    ///
    /// One or two rounds, by its gate; the identity takes no rounds and no bundle.
    ///
    /// # Errors
    /// [`PfssError::Length`] if there is a bundle for the identity, or none for any other shift,
    /// [`PfssError::Program`] for keys of another gate, and as [`relu`](Self::relu).
    pub fn shift<Q: FssOps>(
        &mut self,
        q: &Q,
        shift: &AutoTrunc,
        bundle: Option<KeyBundle>,
        x: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        match shift.keyed(bundle)? {
            Some((task, bundle)) => Ok(self.run(q, task, bundle, x)?.words),
            None => Ok(x.to_vec()),
        }
    }

    /// Shares of `max(a, b)` for signed `a` and `b` in the given ranges. Two rounds.
    ///
    /// They are `b + max(a - b, 0)`. The keys are for [`Gate::relu`](crate::Gate::relu), or for
    /// [`Gate::relu_within`](crate::Gate::relu_within) the bits that hold every difference.
    ///
    /// # Errors
    /// [`PfssError::Range`] if a difference `a - b` may wrap around or has more bits than the keys,
    /// [`PfssError::Length`] if `a` and `b` differ in length, and as [`relu`](Self::relu).
    pub fn max<Q: FssOps>(
        &mut self,
        q: &Q,
        ranges: [SignedRange; 2],
        bundle: KeyBundle,
        [a, b]: [&[u64]; 2],
    ) -> Result<Vec<u64>, PfssError> {
        let differences = ranges[0].checked_sub(ranges[1])?;
        differences.fits(bundle.gate().n())?;
        check_len("elements", a.len(), b.len())?;
        let ring = bundle.gate().ring();
        let difference: Vec<u64> = a.iter().zip(b).map(|(&a, &b)| ring.sub(a, b)).collect();
        let positive = self.run(q, Task::ReluWithin(differences), bundle, &difference)?.words;
        Ok(positive.iter().zip(b).map(|(&positive, &b)| ring.add(positive, b)).collect())
    }

    /// Shares of [`Task::IntervalPowers`], and the opened `x + r`. One round.
    ///
    /// # Errors
    /// [`PfssError::Constant`] or [`PfssError::EmptyInterval`] for intervals outside the ring, and
    /// as [`run`](Self::run).
    pub fn interval_powers<Q: FssOps>(
        &mut self,
        q: &Q,
        intervals: &[Interval],
        bundle: KeyBundle,
        x: &[u64],
    ) -> Result<(Vec<u64>, Vec<u64>), PfssError> {
        let task = Task::IntervalPowers(intervals);
        let (plan, keys, x_hat) = self.open_inputs(q, task, bundle, x.len(), |keys| Ok(keys.add_masks(x)))?;
        let shares = self.evaluate(q, &plan, keys, x_hat.clone())?;
        Ok((shares.words, x_hat))
    }

    /// Shares of `x y`. One round.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn product<Q: FssOps>(&mut self, q: &Q, bundle: KeyBundle, [x, y]: [&[u64]; 2]) -> Result<Vec<u64>, PfssError> {
        bundle.check_factors([x.len(), y.len()])?;
        let factors = Zeroizing::new([x, y].concat());
        Ok(self.run(q, Task::Product, bundle, &factors)?.words)
    }

    /// Opens `y + r_out`, from this party's shares of the outputs of `gate`. One round.
    ///
    /// The opened words are the masked inputs of keys that the dealer made for the gate's
    /// [wires](crate::Wire).
    ///
    /// # Errors
    /// [`PfssError::BareOutputs`] for a gate without [masked outputs](Gate::with_masked_outputs),
    /// before anything is sent; [`PfssError::Channel`] and [`PfssError::Backend`] close the
    /// session.
    pub fn open_outputs<Q: FssOps>(&mut self, q: &Q, gate: &Gate, shares: &[u64]) -> Result<Vec<u64>, PfssError> {
        self.check_open()?;
        if !gate.masks_outputs() {
            return Err(PfssError::BareOutputs);
        }
        self.closing(|session| {
            session.record_digest(&gate.digest(), shares.len());
            session.open_words(q, gate.out_ring(), shares)
        })
    }

    /// Opens `x + r` for keys that fit the task: one round of `n` bits per input and party.
    ///
    /// `mask` returns this party's share of each of the `inputs`, plus its share of the mask. The
    /// bundle is spent before that, whatever happens later.
    pub(crate) fn open_inputs<Q: FssOps>(
        &mut self,
        q: &Q,
        task: Task<'_>,
        bundle: KeyBundle,
        inputs: usize,
        mask: impl FnOnce(&MaskedKeys) -> Result<Vec<u64>, PfssError>,
    ) -> Result<(Arc<TaskPlan>, MaskedKeys, Vec<u64>), PfssError> {
        task.check_keys(&bundle, inputs)?;
        let facts = task.facts();
        let plan = self.plans.of(bundle.gate(), task, &facts)?;
        self.admit(&bundle.header)?;
        bundle.check_mask(inputs)?;
        let keys = bundle.with_open_inputs()?;
        let x_hat = self.closing(|session| {
            session.record(&keys.0.header, &facts);
            let mine = mask(&keys)?;
            session.open_words(q, keys.gate().ring(), &mine)
        })?;
        Ok((plan, keys, x_hat))
    }

    /// Records keys whose masked inputs are already open, and plans their task.
    pub(crate) fn record_open(
        &mut self,
        task: Task<'_>,
        keys: &MaskedKeys,
        inputs: usize,
    ) -> Result<Arc<TaskPlan>, PfssError> {
        task.check_keys(&keys.0, inputs)?;
        let facts = task.facts();
        let plan = self.plans.of(keys.gate(), task, &facts)?;
        self.admit(&keys.0.header)?;
        self.record(&keys.0.header, &facts);
        Ok(plan)
    }

    /// Walks the key trees, and opens words and bits, round by round.
    fn evaluate<Q: FssOps>(
        &mut self,
        q: &Q,
        plan: &TaskPlan,
        keys: MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<Shares, PfssError> {
        self.closing(|session| {
            let mut step = plan.eval(q, keys, x_hat)?;
            loop {
                step = match step {
                    Step::Open(pending) => session.open(q, pending)?,
                    Step::Done(shares) => return Ok(shares),
                }
            }
        })
    }

    /// The gate's next step, after one round.
    fn open<Q: FssOps>(&mut self, q: &Q, pending: Pending) -> Result<Step, PfssError> {
        let (bits, words) = self.exchange_opening(q, &pending)?;
        pending.finish_with(q, &bits, &words)
    }

    /// Exchanges masked bits and words: one round. Returns the peer's.
    pub(crate) fn exchange_opening<Q: FssOps>(&mut self, q: &Q, pending: &Pending) -> Result<PeerOpening, PfssError> {
        let theirs = self.exchange(&wire::opening_to_bytes(q, pending)?)?;
        self.opened(pending.masked_bits(), pending.masked_words());
        wire::opening_from_bytes(q, pending, &theirs)
    }

    /// Exchanges the openings of several gates in one message: one round.
    ///
    /// Returns the peer's bits and words of each gate.
    pub(crate) fn exchange_openings<Q: FssOps>(
        &mut self,
        q: &Q,
        pending: &[Pending],
    ) -> Result<Vec<PeerOpening>, PfssError> {
        let to_bytes = |pending| wire::opening_to_bytes(q, pending);
        let parts = pending.iter().map(to_bytes).collect::<Result<Vec<_>, _>>()?;
        let mine = parts.concat();
        let theirs = self.exchange(&mine)?;
        check_message(mine.len(), theirs.len())?;
        pending.iter().for_each(|pending| self.opened(pending.masked_bits(), pending.masked_words()));
        let (mut openings, mut rest) = (Vec::with_capacity(pending.len()), &theirs[..]);
        for (pending, part) in pending.iter().zip(&parts) {
            let (theirs, others) = rest.split_at(part.len()); // of the same total length
            rest = others;
            openings.push(wire::opening_from_bytes(q, pending, theirs)?);
        }
        Ok(openings)
    }

    /// Reports newly public values to the channel, once both parties have sent their parts.
    pub(crate) fn opened(&self, bits: &[u32], words: &[u64]) {
        self.channel.opened_bits(bits);
        self.channel.opened_words(words);
    }

    /// Refuses once an earlier step has failed.
    pub(crate) fn check_open(&self) -> Result<(), PfssError> {
        if self.closed { Err(PfssError::Closed) } else { Ok(()) }
    }

    /// Checks that keys are this party's, and that the session can go on.
    pub(crate) fn admit(&self, keys: &Header) -> Result<(), PfssError> {
        self.check_open()?;
        keys.check_party(self.party())
    }

    /// Runs steps of the protocol; a failure among them closes the session.
    pub(crate) fn closing<T>(&mut self, steps: impl FnOnce(&mut Self) -> Result<T, PfssError>) -> Result<T, PfssError> {
        let result = steps(self);
        self.closed = result.is_err();
        result
    }

    /// Adds what both parties must agree on to the transcript.
    pub(crate) fn record(&mut self, bundle: &Header, facts: &[u64]) {
        self.transcript.update(&[KEYS]);
        bundle.record(facts, &mut self.transcript);
    }

    /// Opens additively shared words: one round.
    pub(crate) fn open_words<Q: FssOps>(&mut self, q: &Q, ring: Ring, mine: &[u64]) -> Result<Vec<u64>, PfssError> {
        let theirs = self.exchange(&wire::words_to_bytes(q, ring, mine)?)?;
        let theirs = wire::words_from_bytes(q, ring, &theirs, mine.len())?;
        let opened: Vec<u64> = mine.iter().zip(&theirs).map(|(&a, &b)| ring.add(a, b)).collect();
        self.opened(&[], &opened);
        Ok(opened)
    }

    /// Adds a digest of public facts, and the count of their subjects, to the transcript.
    ///
    /// The count is the number of elements or jobs that the facts are about.
    pub(crate) fn record_digest(&mut self, digest: &[u8; 32], count: usize) {
        self.transcript.update(&[DIGEST]);
        self.transcript.update(digest);
        self.transcript.update(&(count as u64).to_le_bytes());
    }

    /// Gives additively shared words to one party: one round.
    pub(crate) fn give_words<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        to: Party,
        mine: &[u64],
    ) -> Result<Option<Vec<u64>>, PfssError> {
        let body = wire::words_to_bytes(q, ring, mine)?;
        let digest = self.step_digest(body.len());
        if to != self.party() {
            self.channel.send(&[&digest[..], &body].concat())?;
            let answer = self.channel.recv(DIGEST_BYTES)?;
            self.count(DIGEST_BYTES + body.len(), answer.len());
            self.check_step(digest, &answer)?;
            return Ok(None);
        }
        let message = self.channel.recv(DIGEST_BYTES + body.len())?;
        self.count(DIGEST_BYTES, message.len());
        let (theirs, body) = message.split_at(DIGEST_BYTES.min(message.len()));
        self.check_step(digest, theirs)?;
        self.channel.send(&digest)?;
        let theirs = wire::words_from_bytes(q, ring, body, mine.len())?;
        Ok(Some(mine.iter().zip(&theirs).map(|(&a, &b)| ring.add(a, b)).collect()))
    }

    /// Exchanges one message of public length and compares step digests.
    pub(crate) fn exchange(&mut self, body: &[u8]) -> Result<Vec<u8>, PfssError> {
        let digest = self.step_digest(body.len());
        let message = [&digest[..], body].concat();
        let mut theirs = self.channel.exchange(&message)?;
        self.count(message.len(), theirs.len());
        let body = theirs.split_off(DIGEST_BYTES.min(theirs.len()));
        self.check_step(digest, &theirs)?;
        Ok(body)
    }

    /// The digest of all public facts up to a message with a body of `len` bytes.
    fn step_digest(&mut self, len: usize) -> [u8; DIGEST_BYTES] {
        self.transcript.update(&[MESSAGE]);
        self.transcript.update(&self.traffic.rounds.to_le_bytes());
        self.transcript.update(&(len as u64).to_le_bytes());
        let digest = *self.transcript.finalize().as_bytes();
        core::array::from_fn(|i| digest[i])
    }

    /// Counts one round.
    fn count(&mut self, sent: usize, received: usize) {
        self.traffic.sent_bytes += sent as u64;
        self.traffic.received_bytes += received as u64;
        self.traffic.rounds += 1;
    }

    /// Compares the peer's digest of the round just counted.
    fn check_step(&self, expected: [u8; DIGEST_BYTES], theirs: &[u8]) -> Result<(), ChannelError> {
        if theirs == expected {
            return Ok(());
        }
        let got = core::array::from_fn(|i| theirs.get(i).copied().unwrap_or(0));
        Err(ChannelError::Step { round: self.traffic.rounds - 1, expected, got })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::memory_pair;

    #[test]
    fn different_records_give_different_transcripts() {
        type Record = fn(&mut Session<crate::MemoryChannel>, &Header);
        fn nonce(header: &Header, facts: u64) -> [u8; 32] {
            // What follows a gate's digest in the record of its keys.
            let parts = [&header.nonce[..], &(header.count as u64).to_le_bytes(), &facts.to_le_bytes()].concat();
            core::array::from_fn(|at| parts[at])
        }
        let records: [Record; 8] = [
            |_, _| (),
            |session, header| session.record(header, &[]),
            |session, header| session.record(header, &[1]),
            |session, header| session.record_digest(&header.gate.digest(), header.count),
            |session, header| session.record_digest(&header.gate.digest(), header.count + 1),
            |session, header| {
                session.record_digest(&header.gate.digest(), 0);
                session.record_digest(&nonce(header, 0), 0);
            },
            |session, header| {
                session.record_digest(&nonce(header, 0), 0);
                session.record_digest(&header.gate.digest(), 0);
            },
            |session, header| {
                session.step_digest(header.count);
            },
        ];
        let header =
            Header { gate: Gate::relu(64).unwrap(), party: Party::Zero, count: 7, nonce: [9; 16], open_inputs: false };
        let transcripts = records.map(|record| {
            let mut session = Session::new(memory_pair(Duration::from_secs(1)).0);
            record(&mut session, &header);
            session.step_digest(0)
        });
        for (at, transcript) in transcripts.iter().enumerate() {
            assert!(!transcripts[..at].contains(transcript), "record {at}");
        }
    }
}
