//! A channel over TCP with timeouts.

use core::time::Duration;
use std::{
    io,
    net::{TcpListener, TcpStream, ToSocketAddrs},
};

use super::{
    ChannelError,
    stream::{StreamChannel, classify},
};
use crate::Party;

/// Settings of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Digest of what both sides agreed to compute; a peer with a different one is refused.
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

/// A [`StreamChannel`] over TCP: neither encrypted nor authenticated.
pub type TcpChannel = StreamChannel<TcpStream>;

impl TcpChannel {
    /// Connects to a waiting peer.
    ///
    /// # Errors
    /// [`ChannelError::Io`] or [`ChannelError::Timeout`] if no address answers, and as
    /// [`new`](Self::new).
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

    /// Accepts one connection.
    ///
    /// The wait for a peer has no limit; the handshake has the configured ones.
    ///
    /// # Errors
    /// [`ChannelError::Io`] if accepting fails, and as [`new`](Self::new).
    pub fn accept(party: Party, listener: &TcpListener, options: &TcpOptions) -> Result<Self, ChannelError> {
        let (stream, _) = listener.accept().map_err(|e| classify(&e, "accepting"))?;
        Self::new(party, stream, options)
    }

    /// Performs the handshake on an open connection.
    ///
    /// Magic, version, party numbers and protocol digest must match.
    ///
    /// # Errors
    /// [`ChannelError::Magic`], [`ChannelError::Version`], [`ChannelError::PeerParty`] or
    /// [`ChannelError::Protocol`] for a peer that does not fit; else as
    /// [`Channel::send`](crate::Channel::send).
    pub fn new(party: Party, stream: TcpStream, options: &TcpOptions) -> Result<Self, ChannelError> {
        let set = |result: io::Result<()>| result.map_err(|e| classify(&e, "configuring the socket"));
        set(stream.set_read_timeout(Some(options.read_timeout)))?;
        set(stream.set_write_timeout(Some(options.write_timeout)))?;
        set(stream.set_nodelay(true))?;
        Self::over(party, stream, &options.protocol, options.max_message_bytes)
    }
}
