//! TLS handshakes: only the pinned peer gets through.
//!
//! Whatever a stranger sends, the other side rejects or waits. The first byte of an input chooses
//! the side under test, the peer and how the rest becomes the peer's bytes; see [`Peer`].

use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    rc::Rc,
    sync::LazyLock,
};

use inference::{
    Limits,
    tls::{
        Endpoint, Fingerprint, Identity, TlsError,
        fuzzing::{Acceptor, client, connect},
    },
};
use pfss::Party;

use super::script::Script;

/// Steps of a handshake; four are enough where nothing is changed.
const MAX_STEPS: usize = 16;

/// The two parties and a stranger, who has both certificates and neither key.
static IDENTITIES: LazyLock<[Identity; 3]> =
    LazyLock::new(|| [0; 3].map(|_| Identity::generate().expect("an identity")));

/// Checks one input.
pub fn check_input(data: &[u8]) {
    let Some((&mode, input)) = data.split_first() else { return };
    let peer = match mode & 6 {
        0 | 2 => Peer::Bytes,
        4 => Peer::Pinned,
        _ => Peer::Stranger,
    };
    let outcome = if mode & 1 == 0 { accept(peer, input) } else { reach(peer, input) };
    match (peer, outcome) {
        (Peer::Pinned, outcome) if input.iter().all(|&byte| byte == 0) => {
            assert!(matches!(outcome, Ok(true)), "the pinned peer is rejected: {outcome:?}");
        }
        (Peer::Pinned, Ok(_)) => {}
        (Peer::Bytes | Peer::Stranger, Ok(through)) => assert!(!through, "a stranger gets through"),
        (_, Err(error)) => assert!(error.is_of_peer(), "blamed on this side: {error}"),
    }
}

/// Where the bytes of the other side come from.
#[derive(Clone, Copy)]
enum Peer {
    /// The input, in pieces of up to 64 bytes.
    Bytes,
    /// The pinned peer, whose bytes are XORed with the input.
    Pinned,
    /// A peer with another certificate, likewise.
    Stranger,
}

/// One side of a connection; the stranger takes the place of its party.
fn endpoint(party: Party, peer: Peer) -> Endpoint<'static> {
    let identities = &*IDENTITIES;
    let own = if matches!(peer, Peer::Stranger) { &identities[2] } else { &identities[party.index()] };
    let other: Fingerprint = identities[party.peer().index()].fingerprint();
    Endpoint { party, identity: own, peer: other, protocol: [9; 32], limits: Limits::default() }
}

/// Whether the accepting side finds its peer to be the pinned one.
fn accept(peer: Peer, input: &[u8]) -> Result<bool, TlsError> {
    let wire = Wire::default();
    let mut acceptor = Acceptor::new(&endpoint(Party::One, Peer::Pinned), wire.clone())?;
    if let Peer::Bytes = peer {
        for piece in input.chunks(64) {
            wire.arrive(piece);
            if acceptor.step()? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let mut other = client(&endpoint(Party::Zero, peer))?;
    let mut mask = input.iter();
    // The first message inside, by which the accepting side takes a peer for ready.
    other.writer().write_all(b"hello").expect("a buffer");
    for _ in 0..MAX_STEPS {
        let mut bytes = Vec::new();
        while other.wants_write() {
            other.write_tls(&mut bytes).expect("a buffer");
        }
        wire.arrive(&changed(bytes, &mut mask));
        if acceptor.step()? {
            return Ok(true);
        }
        let answer = wire.answers();
        let read = other.read_tls(&mut &answer[..]).expect("a slice");
        // A client that rejects the server reports it in its next message.
        if other.process_new_packets().is_err() && read == 0 {
            break;
        }
    }
    Ok(false)
}

/// Whether the connecting side finds its peer to be the pinned one.
fn reach(peer: Peer, input: &[u8]) -> Result<bool, TlsError> {
    let own = endpoint(Party::Zero, Peer::Pinned);
    if let Peer::Bytes = peer {
        return connect(&own, Script { rest: input }).map(|_| true);
    }
    let wire = Wire::default();
    let acceptor = Acceptor::new(&endpoint(Party::One, peer), wire.clone())?;
    connect(&own, Server { acceptor, wire, mask: input.iter(), answers: VecDeque::new(), steps: 0 }).map(|_| true)
}

/// Bytes XORed with a mask, which is zeros once it has ended.
fn changed<'a>(mut bytes: Vec<u8>, mask: &mut impl Iterator<Item = &'a u8>) -> Vec<u8> {
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    bytes
}

/// The bytes on their way to an accepting side, and its answers.
#[derive(Clone, Default)]
struct Wire(Rc<RefCell<[VecDeque<u8>; 2]>>);

impl Wire {
    fn arrive(&self, bytes: &[u8]) {
        self.0.borrow_mut()[0].extend(bytes);
    }

    /// The answers so far.
    fn answers(&self) -> Vec<u8> {
        self.0.borrow_mut()[1].drain(..).collect()
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.borrow_mut()[0].read(buffer)? {
            0 => Err(ErrorKind::WouldBlock.into()),
            read => Ok(read),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut()[1].write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server that answers when its client reads.
struct Server<'a> {
    acceptor: Acceptor<Wire>,
    wire: Wire,
    mask: std::slice::Iter<'a, u8>,
    answers: VecDeque<u8>,
    steps: usize,
}

impl Read for Server<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.answers.is_empty() && self.steps < MAX_STEPS {
            self.steps += 1;
            // The reason to reject a client is among the answers.
            let _ = self.acceptor.step();
            self.answers.extend(changed(self.wire.answers(), &mut self.mask));
        }
        self.answers.read(buffer)
    }
}

impl Write for Server<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.arrive(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
