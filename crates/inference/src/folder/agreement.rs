//! The agreement of both parties before a run on weights that are opened once.
//!
//! Each sends its state, which is public: the digest of its opened weights, and the next run that
//! it has not used. The later run is used by both: a run that only one of them used is skipped.

use pfss::{Channel, ChannelError, Traffic};

use super::manifest::hex;
use crate::InferenceError;

/// Bytes of the message: a digest, the number of a run, and whether weights were opened.
const BYTES: usize = 32 + 4 + 1;

/// The bytes and rounds of each party for the agreement.
pub const AGREEMENT: Traffic = Traffic { sent_bytes: BYTES as u64, received_bytes: BYTES as u64, rounds: 1 };

/// A party's state before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartyState {
    /// The digest of the opened weights, if they were opened.
    pub(super) opened: Option<[u8; 32]>,
    /// The next unused run, from 1.
    pub(super) next: u32,
}

impl PartyState {
    /// Exchanges states, and returns the run that both parties use.
    ///
    /// # Errors
    /// [`InferenceError::OpenedDiffer`] if the parties have not opened the same weights,
    /// [`InferenceError::PeerRun`] if the peer's next run is none of `runs`, and
    /// [`InferenceError::Pfss`] if the channel fails.
    pub(super) fn agree(self, channel: &mut dyn Channel, runs: u32) -> Result<u32, InferenceError> {
        let message = channel.exchange(&self.to_bytes())?;
        let message: [u8; BYTES] = message
            .try_into()
            .map_err(|message: Vec<u8>| ChannelError::Length { expected: BYTES, got: message.len() as u64 })?;
        let peer = Self::from_bytes(message);
        if peer.opened != self.opened {
            let [expected, got] = [self, peer].map(Self::opened_name);
            return Err(InferenceError::OpenedDiffer { expected, got });
        }
        if !(1..=runs).contains(&peer.next) {
            return Err(InferenceError::PeerRun { runs, got: peer.next });
        }
        Ok(self.next.max(peer.next))
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..32].copy_from_slice(&self.opened.unwrap_or_default());
        bytes[32..36].copy_from_slice(&self.next.to_le_bytes());
        bytes[36] = u8::from(self.opened.is_some());
        bytes
    }

    fn from_bytes([digest @ .., a, b, c, d, is_opened]: [u8; BYTES]) -> Self {
        Self { opened: (is_opened != 0).then_some(digest), next: u32::from_le_bytes([a, b, c, d]) }
    }

    fn opened_name(self) -> String {
        self.opened.map_or_else(|| "none".to_owned(), |digest| hex(&digest))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pfss::memory_pair;

    use super::*;

    /// What both parties return for their states.
    fn agree(states: [PartyState; 2]) -> [Result<u32, InferenceError>; 2] {
        let (mut to_one, mut to_zero) = memory_pair(Duration::from_mins(1));
        test_process::scope(|scope| {
            let one = scope.spawn(|| states[1].agree(&mut to_zero, 3));
            [states[0].agree(&mut to_one, 3), one.join().unwrap()]
        })
    }

    #[test]
    fn the_later_run_is_used_and_other_weights_and_runs_are_refused() {
        let state = |opened: Option<u8>, next| PartyState { opened: opened.map(|byte| [byte; 32]), next };
        for opened in [None, Some(0), Some(9)] {
            for (zero, one) in [(1, 1), (1, 3), (3, 2)] {
                let agreed = agree([state(opened, zero), state(opened, one)]).map(Result::unwrap);
                assert_eq!(agreed, [zero.max(one); 2]);
            }
        }
        for (zero, one) in [(None, Some(0)), (Some(1), None), (Some(1), Some(2))] {
            let [mine, theirs] = agree([state(zero, 1), state(one, 1)]).map(Result::unwrap_err);
            for (error, [expected, got]) in [(mine, [zero, one]), (theirs, [one, zero])] {
                let name =
                    |opened: Option<u8>| opened.map_or("none".to_owned(), |byte| format!("{byte:02x}").repeat(32));
                let InferenceError::OpenedDiffer { expected: said, got: received } = error else { panic!("{error}") };
                assert_eq!([said, received], [name(expected), name(got)]);
            }
        }
        for got in [0, 4, u32::MAX] {
            let [zero, one] = agree([state(None, 1), state(None, got)]);
            assert!(matches!(zero, Err(InferenceError::PeerRun { runs: 3, got: found }) if found == got), "{zero:?}");
            // The other side has a run out of range itself: the agreed run is never below its own.
            assert!(matches!(one, Ok(agreed) if agreed >= 1), "{one:?}");
        }
    }
}
