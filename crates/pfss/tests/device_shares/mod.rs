//! Shares that stay in device memory: the words, messages and errors of gates on shares in host memory.

mod arranged;
mod functions;
mod gates;
mod matrices;
mod refused;
mod wiping;

use std::{fmt::Debug, time::Duration};

use pfss::{MemoryChannel, PfssError, Session, memory_pair};

/// Where each party has its shares.
#[derive(Clone, Copy, Debug)]
enum Form {
    Host,
    Device,
}

const FORMS: [[Form; 2]; 3] = [[Form::Device, Form::Device], [Form::Device, Form::Host], [Form::Host, Form::Device]];

/// Party 0's session, and the channel of the other party, which must not be dropped before a message.
fn session() -> (Session<MemoryChannel>, MemoryChannel) {
    let (zero, one) = memory_pair(Duration::from_secs(20));
    (Session::new(zero), one)
}

/// Checks that nothing has spent the keys of `run`, which reads them from bytes: they serve once.
///
/// Without a peer, the first run fails after it has spent them.
fn expect_unspent<T: Debug>(nonce: [u8; 16], mut run: impl FnMut(&mut Session<MemoryChannel>) -> Result<T, PfssError>) {
    let (mut lost, peer) = session();
    drop(peer);
    assert!(matches!(run(&mut lost), Err(PfssError::Channel(_))));
    let (mut other, _peer) = session();
    assert_eq!(run(&mut other).unwrap_err(), PfssError::ReusedBundle { nonce });
}
