use core::time::Duration;
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
};

use super::{Channel, ChannelError};
use crate::Party;

const MAGIC: [u8; 8] = *b"pfss-tcp";
const VERSION: u16 = 1;
/// Magic, version, party number, one zero byte, protocol digest.
const HELLO_BYTES: usize = 8 + 2 + 1 + 1 + 32;
/// Both parties write at most this much before they read as much, so that kernel buffers never fill on both sides.
const CHUNK_BYTES: usize = 32 << 10;

/// How to hold a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Digest of what both sides agreed to compute; a peer with another one is refused.
    pub protocol: [u8; 32],
    /// Longest wait for the peer in one read.
    pub read_timeout: Duration,
    /// Longest wait in one write.
    pub write_timeout: Duration,
    /// Longest message in bytes, in both directions; below 2^32.
    pub max_message_bytes: usize,
}

impl TcpOptions {
    /// Timeouts of 30 seconds and messages of up to 1 GiB.
    #[must_use]
    pub const fn new(protocol: [u8; 32]) -> Self {
        Self {
            protocol,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            max_message_bytes: 1 << 30,
        }
    }
}

/// A [`Channel`] over TCP: a handshake, then frames of a 32-bit little-endian length and the message.
#[derive(Debug)]
pub struct TcpChannel {
    party: Party,
    stream: TcpStream,
    max_message_bytes: usize,
}

impl TcpChannel {
    /// Connects to a waiting peer.
    ///
    /// # Errors
    /// [`ChannelError::Io`] or [`ChannelError::Timeout`] if no address answers, and as [`new`](Self::new).
    pub fn connect(party: Party, peer: impl ToSocketAddrs, options: &TcpOptions) -> Result<Self, ChannelError> {
        let doing = "connecting";
        let mut last = ChannelError::Io { doing, reason: "no address".into() };
        for address in peer.to_socket_addrs().map_err(|e| classify(&e, doing))? {
            match TcpStream::connect_timeout(&address, options.write_timeout) {
                Ok(stream) => return Self::new(party, stream, options),
                Err(e) => last = classify(&e, doing),
            }
        }
        Err(last)
    }

    /// Accepts one connection. The wait for a peer has no limit; the handshake has the configured ones.
    ///
    /// # Errors
    /// [`ChannelError::Io`] if accepting fails, and as [`new`](Self::new).
    pub fn accept(party: Party, listener: &TcpListener, options: &TcpOptions) -> Result<Self, ChannelError> {
        let (stream, _) = listener.accept().map_err(|e| classify(&e, "accepting"))?;
        Self::new(party, stream, options)
    }

    /// Shakes hands on an open connection: magic, version, party numbers and protocol digest must fit.
    ///
    /// # Errors
    /// [`ChannelError::Magic`], [`ChannelError::Version`], [`ChannelError::PeerParty`] or [`ChannelError::Protocol`]
    /// for a peer that does not fit; else as [`Channel::send`].
    pub fn new(party: Party, stream: TcpStream, options: &TcpOptions) -> Result<Self, ChannelError> {
        let set = |result: io::Result<()>| result.map_err(|e| classify(&e, "configuring the socket"));
        set(stream.set_read_timeout(Some(options.read_timeout)))?;
        set(stream.set_write_timeout(Some(options.write_timeout)))?;
        set(stream.set_nodelay(true))?;
        let max_message_bytes = options.max_message_bytes.min(u32::MAX as usize);
        let mut channel = Self { party, stream, max_message_bytes };
        channel.shake_hands(&options.protocol)?;
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
        self.stream.write_all(bytes).map_err(|e| classify(&e, doing))
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

impl Channel for TcpChannel {
    fn party(&self) -> Party {
        self.party
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        let length = self.frame_length(message.len())?;
        self.write(&length, "sending")?;
        self.write(message, "sending")
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

fn classify(error: &io::Error, doing: &'static str) -> ChannelError {
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
