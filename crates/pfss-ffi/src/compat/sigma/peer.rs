//! The caller's connection to the other party, and what went over it.

use core::ffi::{c_int, c_void};

use pfss::{Channel, ChannelError, Party, Traffic};

use crate::{memory::array, status::CallFailure};

/// Sends `sent_len` bytes at `sent` and receives `received_len` at `received`; 0 on success.
pub type Exchange = unsafe extern "C" fn(
    ctx: *mut c_void,
    sent: *const u8,
    sent_len: usize,
    received: *mut u8,
    received_len: usize,
) -> c_int;

/// The other party, as a function of the caller's that exchanges bytes with it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SigmaPeer {
    /// Handed to `exchange`, and not used otherwise.
    pub ctx: *mut c_void,
    /// Sends bytes to the other party and receives bytes from it.
    ///
    /// Both parties call it at the same step, and neither waits to be sent to first. It returns 0
    /// on success; any other number ends the evaluation. It throws no exception.
    pub exchange: Option<Exchange>,
}

/// What evaluations have moved between the parties; a call adds to it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigmaStats {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Exchanges.
    pub rounds: u64,
}

impl SigmaStats {
    /// The sum with the traffic of a session.
    pub(super) const fn plus(self, traffic: Traffic) -> Self {
        Self {
            sent_bytes: self.sent_bytes.wrapping_add(traffic.sent_bytes),
            received_bytes: self.received_bytes.wrapping_add(traffic.received_bytes),
            rounds: self.rounds.wrapping_add(traffic.rounds),
        }
    }
}

/// A channel by the caller's function.
pub(super) struct PeerChannel {
    party: Party,
    ctx: *mut c_void,
    exchange: Exchange,
}

impl PeerChannel {
    /// The channel of `party` by the function that `peer` points at.
    ///
    /// # Safety
    /// As said at the top of the crate; unless refused, the function may be called with its `ctx`
    /// until the channel is dropped.
    pub(super) unsafe fn new(party: Party, peer: *const SigmaPeer) -> Result<Self, CallFailure> {
        // SAFETY: the caller's promise.
        let SigmaPeer { ctx, exchange } = unsafe { array("peer", peer, 1) }?[0];
        let exchange = exchange.ok_or_else(|| CallFailure::argument("exchange of the peer is a null pointer"))?;
        Ok(Self { party, ctx, exchange })
    }

    /// One call of the caller's function.
    fn call(&self, out: &[u8], len: usize) -> Result<Vec<u8>, ChannelError> {
        let mut theirs = vec![0; len];
        // SAFETY: two arrays with their lengths, and a function that may be called by the promise made in `new`.
        let code = unsafe { (self.exchange)(self.ctx, out.as_ptr(), out.len(), theirs.as_mut_ptr(), len) };
        match code {
            0 => Ok(theirs),
            _ => Err(ChannelError::Io { doing: "exchanging", reason: format!("the peer's function returned {code}") }),
        }
    }
}

impl Channel for PeerChannel {
    fn party(&self) -> Party {
        self.party
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.call(message, 0).map(drop)
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.call(&[], len)
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        self.call(message, message.len())
    }
}
