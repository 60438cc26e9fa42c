//! A channel over any byte stream: each message is preceded by its length.

use std::io::{self, ErrorKind, Read, Write};

use super::{Channel, ChannelError};
use crate::Party;

const MAGIC: [u8; 8] = *b"pfss-tcp";
const VERSION: u16 = 1;
/// Magic, version, party number, one zero byte, protocol digest.
const HELLO_BYTES: usize = 8 + 2 + 1 + 1 + 32;
/// Most bytes that both parties write before they read the same number.
///
/// The buffers underneath never fill on both sides.
const CHUNK_BYTES: usize = 32 << 10;

/// A [`Channel`] over any two-way stream of bytes.
///
/// It performs a handshake, then sends frames of a 32-bit little-endian length and the message. The
/// stream's timeouts apply.
#[derive(Debug)]
pub struct StreamChannel<S> {
    party: Party,
    stream: S,
    max_message_bytes: usize,
}

impl<S: Read + Write> StreamChannel<S> {
    /// Performs the handshake on an open stream.
    ///
    /// Magic, version, party numbers and protocol digest must match. `protocol` is a digest of the
    /// computation agreed by both sides. Messages are at most `max_message_bytes` long, below 2^32.
    ///
    /// # Errors
    /// [`ChannelError::Magic`], [`ChannelError::Version`], [`ChannelError::PeerParty`] or
    /// [`ChannelError::Protocol`] for a peer that does not fit; else as [`Channel::send`].
    pub fn over(party: Party, stream: S, protocol: &[u8; 32], max_message_bytes: usize) -> Result<Self, ChannelError> {
        let mut channel = Self { party, stream, max_message_bytes: max_message_bytes.min(u32::MAX as usize) };
        channel.shake_hands(protocol)?;
        Ok(channel)
    }

    fn shake_hands(&mut self, protocol: &[u8; 32]) -> Result<(), ChannelError> {
        let doing = "shaking hands";
        let mut hello = Vec::with_capacity(HELLO_BYTES);
        hello.extend_from_slice(&MAGIC);
        hello.extend_from_slice(&VERSION.to_le_bytes());
        hello.extend_from_slice(&[self.party.number(), 0]);
        hello.extend_from_slice(protocol);
        self.write(&hello, doing)?;
        let mut theirs = [0; HELLO_BYTES];
        self.read(&mut theirs, doing)?;

        let magic = core::array::from_fn(|i| theirs[i]);
        if magic != MAGIC {
            return Err(ChannelError::Magic { expected: MAGIC, got: magic });
        }
        let version = u16::from_le_bytes([theirs[8], theirs[9]]);
        if version != VERSION {
            return Err(ChannelError::Version { expected: VERSION, got: version });
        }
        if theirs[10] != self.party.peer().number() {
            return Err(ChannelError::PeerParty { expected: self.party.peer(), got: theirs[10] });
        }
        let digest = core::array::from_fn(|i| theirs[12 + i]);
        if digest != *protocol {
            return Err(ChannelError::Protocol { expected: *protocol, got: digest });
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], doing: &'static str) -> Result<(), ChannelError> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(|e| classify(&e, doing))
    }

    fn read(&mut self, bytes: &mut [u8], doing: &'static str) -> Result<(), ChannelError> {
        self.stream.read_exact(bytes).map_err(|e| classify(&e, doing))
    }

    fn frame_length(&self, len: usize) -> Result<[u8; 4], ChannelError> {
        // the limit is at most u32::MAX, so the cast keeps the value
        if len > self.max_message_bytes {
            return Err(ChannelError::TooLong { max: self.max_message_bytes, got: len });
        }
        Ok((len as u32).to_le_bytes())
    }

    fn read_length(&mut self, expected: usize) -> Result<(), ChannelError> {
        let mut announced = [0; 4];
        self.read(&mut announced, "receiving")?;
        let got = u64::from(u32::from_le_bytes(announced));
        if got == expected as u64 { Ok(()) } else { Err(ChannelError::Length { expected, got }) }
    }
}

impl<S: Read + Write> Channel for StreamChannel<S> {
    fn party(&self) -> Party {
        self.party
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        let length = self.frame_length(message.len())?;
        self.write(&[&length[..], message].concat(), "sending")
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.frame_length(len)?;
        self.read_length(len)?;
        let mut message = vec![0; len];
        self.read(&mut message, "receiving")?;
        Ok(message)
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        // The length travels with the first chunk: one latency per exchange of a short message.
        let (head, tail) = message.split_at(message.len().min(CHUNK_BYTES));
        let mut first = self.frame_length(message.len())?.to_vec();
        first.extend_from_slice(head);
        self.write(&first, "sending")?;
        self.read_length(message.len())?;
        let mut theirs = vec![0; message.len()];
        let (their_head, their_tail) = theirs.split_at_mut(head.len());
        self.read(their_head, "receiving")?;
        for (out, back) in tail.chunks(CHUNK_BYTES).zip(their_tail.chunks_mut(CHUNK_BYTES)) {
            self.write(out, "sending")?;
            self.read(back, "receiving")?;
        }
        Ok(theirs)
    }
}

pub(super) fn classify(error: &io::Error, doing: &'static str) -> ChannelError {
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected
        | ErrorKind::WriteZero => ChannelError::Lost { doing },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ChannelError::Timeout { doing },
        _ => ChannelError::Io { doing, reason: error.to_string() },
    }
}
