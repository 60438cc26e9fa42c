//! The state of SUF's bridge: a dealer's seed, a buffer of keys, and keys read from it.

use core::ffi::c_void;
use std::{collections::VecDeque, sync::Arc};

use pfss::{
    Channel, DealerSeed, Party, PfssError, Session, Traffic, Wire,
    functions::{WiredBundles, WiredGates},
};
use runtime::AnyQueue;

use super::{buffer::KeyBuffer, record::Record, request::Request};
use crate::{
    arrays::{Arrays, check_calls},
    status::CallFailure,
};

/// The keys and the state of both halves of the bridge: making keys, and evaluating them.
///
/// One half may stay unused: a dealer makes keys only, a party evaluates only.
pub struct SigmaContext {
    queue: Arc<AnyQueue>,
    arrays: Arrays,
    seed: DealerSeed,
    /// The keys made since the last reset: the number of the next deal.
    deals: u64,
    buffer: Option<KeyBuffer>,
    /// Keys that were read and not evaluated, the oldest first.
    waiting: VecDeque<Record>,
    /// The gates of the functions so far.
    gates: Vec<(Request, Arc<WiredGates>)>,
}

/// The keys of one call, with all that evaluating them needs.
pub(super) struct NextKeys {
    queue: Arc<AnyQueue>,
    gates: Arc<WiredGates>,
    bundles: WiredBundles,
}

impl SigmaContext {
    /// A context without a buffer, whose stream is the legacy default stream.
    pub(super) fn new(queue: Arc<AnyQueue>, seed: DealerSeed) -> Result<Self, CallFailure> {
        let arrays = Arrays::new(&queue)?;
        Ok(Self { queue, arrays, seed, deals: 0, buffer: None, waiting: VecDeque::new(), gates: Vec::new() })
    }

    /// The way to the caller's arrays.
    pub(super) fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// Reads and writes device memory in the order of another stream from now on.
    ///
    /// # Safety
    /// `stream` is null, or a stream of the driver that lives until another is set or the context
    /// is dropped, and while a call uses it.
    pub(super) unsafe fn set_stream(&mut self, stream: *mut c_void) -> Result<(), CallFailure> {
        // SAFETY: the caller's promise; clones are held by calls alone.
        self.arrays = unsafe { Arrays::on_stream(&self.queue, stream) }?;
        Ok(())
    }

    /// Keys are made as from the start: the next deal is the first.
    pub(super) fn reset_keygen(&mut self) {
        self.deals = 0;
    }

    /// Drops and wipes keys that were read and not evaluated.
    pub(super) fn reset_eval(&mut self) {
        self.waiting.clear();
    }

    /// Wipes all keys, in the buffer too, and forgets the buffer.
    pub(super) fn clear(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.wipe();
        }
        self.buffer = None;
        self.reset_eval();
        self.reset_keygen();
        self.gates.clear();
    }

    /// Takes another buffer; keys in the one before stay there.
    pub(super) fn set_buffer(&mut self, buffer: KeyBuffer) {
        self.buffer = Some(buffer);
    }

    /// First address and length of the buffer, if there is one.
    pub(super) fn span(&self) -> Option<(usize, usize)> {
        self.buffer.as_ref().map(KeyBuffer::span)
    }

    /// Makes `party`'s keys for inputs under `masks`.
    ///
    /// `deliver` gets the masks of the outputs. If it fails, no keys are written.
    pub(super) fn keygen(
        &mut self,
        party: Party,
        request: Request,
        masks: &[u64],
        deliver: impl FnOnce(&[u64]) -> Result<(), CallFailure>,
    ) -> Result<(), CallFailure> {
        let gates = self.gates_of(request)?;
        let buffer = self.buffer.as_mut().ok_or_else(no_buffer)?;
        let input = Wire::from_masks(gates.ring(), masks);
        // Both parties' keys follow from the number of the deal, its function and its masks.
        let deal: Vec<u8> =
            [self.deals].into_iter().chain(request.to_words()).flat_map(|number| number.to_le_bytes()).collect();
        let mut dealer = self.seed.dealer(&deal, &input);
        let ([zero, one], output) = dealer.deal_wired_function(&*self.queue, &gates, &input)?;
        let bundles = match party {
            Party::Zero => zero,
            Party::One => one,
        };
        let record = Record { request, party, count: masks.len(), bundles }.into_bytes();
        buffer.append(&record, || deliver(output.masks()))?;
        self.deals += 1;
        Ok(())
    }

    /// Reads the keys at the cursor, which moves on.
    pub(super) fn consume(&mut self) -> Result<(), CallFailure> {
        let record = self.buffer.as_mut().ok_or_else(no_buffer)?.take(|_| Ok(()))?;
        self.waiting.push_back(record);
        Ok(())
    }

    /// The oldest keys that were read, for one evaluation; keys at the cursor if there are none.
    ///
    /// If they are for another call, they stay where they are.
    pub(super) fn take(&mut self, party: Party, request: Request, count: usize) -> Result<NextKeys, CallFailure> {
        let gates = self.gates_of(request)?;
        check_calls(&self.queue)?;
        let check = |next: &Record| next.check(party, request, count);
        if let Some(next) = self.waiting.front() {
            check(next)?;
        }
        let next = match self.waiting.pop_front() {
            Some(next) => next,
            None => self.buffer.as_mut().ok_or_else(no_buffer)?.take(check)?,
        };
        Ok(NextKeys { queue: Arc::clone(&self.queue), gates, bundles: next.bundles })
    }

    /// The gates of a function, made once.
    fn gates_of(&mut self, request: Request) -> Result<Arc<WiredGates>, CallFailure> {
        if let Some((_, gates)) = self.gates.iter().find(|(known, _)| *known == request) {
            return Ok(Arc::clone(gates));
        }
        let refused = |error: PfssError| CallFailure::argument(format!("{request} is refused: {error}"));
        let gates = Arc::new(request.gates().map_err(refused)?);
        self.gates.push((request, Arc::clone(&gates)));
        Ok(gates)
    }
}

impl NextKeys {
    /// The masked outputs of the masked inputs, and what went over the channel.
    pub(super) fn run<C: Channel>(self, channel: C, x_hat: &[u64]) -> Result<(Vec<u64>, Traffic), CallFailure> {
        let Self { queue, gates, bundles } = self;
        let mut session = Session::new(channel);
        let y_hat = session.wired_function(&*queue, &gates, bundles, x_hat)?;
        Ok((y_hat, session.traffic()))
    }
}

fn no_buffer() -> CallFailure {
    CallFailure::state("no buffer of keys is set")
}
