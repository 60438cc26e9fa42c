//! Messages between the two parties, and the interface of a party's connection.

mod memory;
mod stream;
mod tcp;

use thiserror::Error;

pub use memory::{MemoryChannel, memory_pair};
pub use stream::StreamChannel;
pub use tcp::{TcpChannel, TcpOptions};

use crate::{Party, hex::hex};

/// A reliable, ordered connection from one party to the other that carries framed messages.
///
/// Messages are public values (masked inputs and masked bits), but a channel does not authenticate
/// or encrypt them: if the parties do not share a host, run it over a network that does.
pub trait Channel {
    /// The party at this end.
    fn party(&self) -> Party;

    /// Sends one message.
    ///
    /// # Errors
    /// [`ChannelError::Lost`], [`ChannelError::Timeout`], [`ChannelError::TooLong`] or
    /// [`ChannelError::Io`].
    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError>;

    /// Receives one message of exactly `len` bytes. Nothing beyond `len` bytes is ever allocated.
    ///
    /// # Errors
    /// [`ChannelError::Length`] if the peer announces another length, else as [`send`](Self::send).
    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError>;

    /// Sends `message` and receives the peer's message of the same length.
    ///
    /// Both parties call this at the same step; neither may wait for the other to receive first.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        self.send(message)?;
        self.recv(message.len())
    }

    /// Called with words that have just become public.
    ///
    /// Both parties have sent their parts of these words. The default does nothing. A check for
    /// secret-dependent timing overrides it to learn which words are public.
    fn opened_words(&self, _words: &[u64]) {}

    /// [`opened_words`](Self::opened_words) for bits.
    fn opened_bits(&self, _bits: &[u32]) {}
}

macro_rules! channel_behind {
    ($($pointer:ty),*) => {$(
        impl<C: Channel + ?Sized> Channel for $pointer {
            fn party(&self) -> Party {
                (**self).party()
            }

            fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
                (**self).send(message)
            }

            fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
                (**self).recv(len)
            }

            fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
                (**self).exchange(message)
            }

            fn opened_words(&self, words: &[u64]) {
                (**self).opened_words(words);
            }

            fn opened_bits(&self, bits: &[u32]) {
                (**self).opened_bits(bits);
            }
        }
    )*};
}

channel_behind!(&mut C, Box<C>);

/// Why the two parties cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer closed the connection.
    #[error("peer lost while {doing}")]
    Lost {
        /// What this party was doing.
        doing: &'static str,
    },
    /// Nothing moved for the configured time.
    #[error("timed out while {doing}")]
    Timeout {
        /// What this party was doing.
        doing: &'static str,
    },
    /// The peer announced a message of another length.
    #[error("expected a message of {expected} bytes, peer announced {got}")]
    Length {
        /// Length that this step has.
        expected: usize,
        /// Length announced.
        got: u64,
    },
    /// A message is longer than the configured limit.
    #[error("expected a message of at most {max} bytes, got {got}")]
    TooLong {
        /// The limit.
        max: usize,
        /// Length of the message.
        got: usize,
    },
    /// The peer does not speak this protocol.
    #[error("expected protocol magic {}, got {}", hex(expected), hex(got))]
    Magic {
        /// The magic that a peer must send first.
        expected: [u8; 8],
        /// The magic received.
        got: [u8; 8],
    },
    /// The peer speaks another version of the protocol.
    #[error("expected protocol version {expected}, got {got}")]
    Version {
        /// This side's version.
        expected: u16,
        /// The peer's version.
        got: u16,
    },
    /// The peer claims a party number that it cannot have: this party's own, or none.
    #[error("expected the peer to be party {}, it claims {got}", expected.number())]
    PeerParty {
        /// The party that the peer must be.
        expected: Party,
        /// The number it claims.
        got: u8,
    },
    /// The peers were set up for different computations.
    #[error("expected protocol digest {}, peer has {}", hex(expected), hex(got))]
    Protocol {
        /// This side's digest.
        expected: [u8; 32],
        /// The peer's digest.
        got: [u8; 32],
    },
    /// The peer is at another step: another gate, another batch, other keys or another order.
    #[error("step {round}: expected step digest {}, peer has {}", hex(expected), hex(got))]
    Step {
        /// Messages exchanged before this one.
        round: u64,
        /// This side's digest of everything public so far.
        expected: [u8; 16],
        /// The peer's.
        got: [u8; 16],
    },
    /// A message has bits set beyond its last element.
    #[error("message has bits set past its last element")]
    Padding,
    /// The operating system reported another failure.
    #[error("{doing} failed: {reason}")]
    Io {
        /// What this party was doing.
        doing: &'static str,
        /// The system's reason.
        reason: String,
    },
}

/// Checks the length of a message.
pub(crate) fn check_message(expected: usize, got: usize) -> Result<(), ChannelError> {
    if expected == got { Ok(()) } else { Err(ChannelError::Length { expected, got: got as u64 }) }
}
