use core::time::Duration;
use std::{
    io::{self, Error, ErrorKind, Read, Write},
    net::TcpStream,
    time::Instant,
};

use crate::Limits;

/// Longest TLS handshake: whoever has not proven to be the peer does not keep the peer out for longer.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A TCP stream on which neither silence nor a trickle of bytes lasts beyond the limits.
#[derive(Debug)]
pub(super) struct Bounded {
    stream: TcpStream,
    limits: Limits,
    end: Instant,
}

impl Bounded {
    /// A stream whose peer has to prove itself first.
    pub(super) fn new(stream: TcpStream, limits: &Limits) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, limits: *limits, end: Instant::now() + limits.session.min(HANDSHAKE) })
    }

    /// The peer has proven itself: from now on the limit of the session holds.
    pub(super) fn begin_session(&mut self) {
        self.end = Instant::now() + self.limits.session;
    }

    /// The longest wait from now on.
    fn patience(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::TimedOut, "the session's time is over"));
        }
        Ok(Some(self.limits.idle.min(left)))
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.patience()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Bounded {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.patience()?)?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
