//! Concurrent handshakes with unauthenticated peers, and the limit on their number.

use std::{net::TcpStream, sync::Arc, time::Instant};

use rustls::ServerConfig;

use super::{
    Endpoint, TlsError,
    endpoint::{self, Refusals},
    pending::{PendingConnection, lost},
};
use crate::Limits;

/// Most handshakes at once.
const MOST: usize = 512;

/// Handshakes that go on at once, in the order of their beginning.
pub(super) struct Crowd {
    pending: Vec<PendingConnection>,
    config: Arc<ServerConfig>,
    refusals: Refusals,
    limits: Limits,
}

impl Crowd {
    /// Handshakes with the peers of `endpoints`, within `limits`.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if an endpoint's identity cannot be used.
    pub(super) fn of(endpoints: &[Endpoint<'_>], limits: Limits) -> Result<Self, TlsError> {
        let (config, refusals) = endpoint::server(endpoints)?;
        Ok(Self { pending: Vec::new(), config, refusals, limits })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Drops unfinished handshakes.
    pub(super) fn drop_unproven(&mut self) {
        self.pending.retain(PendingConnection::is_proven);
    }

    /// Takes in a connection. [`step`](Self::step) has to follow before too many more come.
    ///
    /// # Errors
    /// As [`PendingConnection::new`].
    pub(super) fn admit(&mut self, stream: TcpStream) -> Result<(), TlsError> {
        self.pending.push(PendingConnection::new(stream, Arc::clone(&self.config))?);
        Ok(())
    }

    /// Advances every handshake without waiting, and returns the first proven peer.
    ///
    /// Failed handshakes are dropped, then any excess.
    pub(super) fn step(&mut self, refused: &mut dyn FnMut(TlsError)) -> Option<PendingConnection> {
        let now = Instant::now();
        self.pending.retain_mut(|pending| match pending.step(now, &self.limits) {
            Ok(()) => true,
            Err(error) => {
                refused(self.refusals.explain(error));
                false
            }
        });
        let ready = self.pending.iter().position(PendingConnection::is_ready).map(|ready| self.pending.remove(ready));
        self.give_way(self.pending.len().saturating_sub(MOST), refused);
        ready
    }

    /// Drops a quarter of the handshakes, so that there are files for others.
    ///
    /// `false` if there are none.
    pub(super) fn thin_out(&mut self, refused: &mut dyn FnMut(TlsError)) -> bool {
        let some = !self.is_empty();
        self.give_way(self.pending.len().div_ceil(4), refused);
        some
    }

    /// Drops `count` handshakes.
    ///
    /// Each is the oldest of the handshakes with a whole ClientHello or of those without, whichever
    /// are more, and of those without if both are equal in number. Neither a crowd of silent
    /// strangers nor one of half-done handshakes can leave a peer no time.
    fn give_way(&mut self, count: usize, refused: &mut dyn FnMut(TlsError)) {
        for _ in 0..count {
            let greeted = self.pending.iter().filter(|pending| pending.is_greeted()).count();
            let of_greeted = 2 * greeted > self.pending.len();
            let oldest = self.pending.iter().position(|pending| pending.is_greeted() == of_greeted);
            let Some(oldest) = oldest else { return };
            self.pending.remove(oldest);
            refused(lost("closed to make room: too many simultaneous handshakes"));
        }
    }
}
