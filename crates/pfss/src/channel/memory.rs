//! A channel between two threads of one process.

use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use super::{Channel, ChannelError, check_message};
use crate::Party;

/// One end of an in-process connection.
#[derive(Debug)]
pub struct MemoryChannel {
    party: Party,
    timeout: Duration,
    to_peer: Sender<Vec<u8>>,
    from_peer: Receiver<Vec<u8>>,
}

/// Both ends of an in-process connection, party 0 first, for two parties on two threads.
///
/// A receiver waits at most `timeout`.
#[must_use]
pub fn memory_pair(timeout: Duration) -> (MemoryChannel, MemoryChannel) {
    let (to_one, from_zero) = channel();
    let (to_zero, from_one) = channel();
    (
        MemoryChannel { party: Party::Zero, timeout, to_peer: to_one, from_peer: from_one },
        MemoryChannel { party: Party::One, timeout, to_peer: to_zero, from_peer: from_zero },
    )
}

impl Channel for MemoryChannel {
    fn party(&self) -> Party {
        self.party
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.to_peer.send(message.to_vec()).map_err(|_| ChannelError::Lost { doing: "sending" })
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        let doing = "receiving";
        let message = self.from_peer.recv_timeout(self.timeout).map_err(|e| match e {
            RecvTimeoutError::Timeout => ChannelError::Timeout { doing },
            RecvTimeoutError::Disconnected => ChannelError::Lost { doing },
        })?;
        check_message(len, message.len())?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order_and_faults_are_told_apart() {
        let (mut zero, mut one) = memory_pair(Duration::from_millis(10));
        zero.send(b"first").unwrap();
        zero.send(b"second").unwrap();
        assert_eq!(one.recv(5).unwrap(), b"first");
        assert_eq!(one.recv(5), Err(ChannelError::Length { expected: 5, got: 6 }));
        assert_eq!(one.recv(5), Err(ChannelError::Timeout { doing: "receiving" }));
        drop(zero);
        assert_eq!(one.recv(5), Err(ChannelError::Lost { doing: "receiving" }));
        assert_eq!(one.send(b"late"), Err(ChannelError::Lost { doing: "sending" }));
    }
}
