//! Messages of a session: the honest party ends with shares or a typed error.
//!
//! This holds whatever a peer sends at any point. The first byte of an input chooses the party and
//! how the rest becomes the peer's bytes; see [`Honest::changed`].

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    sync::LazyLock,
    thread,
};

use cpu_backend::CpuQueue;
use pfss::{
    BoolShares, ChannelError, Dealer, Gate, KeyBundle, MatrixShape, MatrixTriple, Party, PfssError, Predicate, Ring,
    Session, Shares, StreamChannel, Task,
    batch::{BatchConfig, Job, SuperBatch},
    suf::{BoolExpr, CoeffMode, Piece, Pred, SufDesc, SufModes, SufProgram, SufSpec},
};

use super::script::Script;
use crate::queue::QUEUE;

const PROTOCOL: [u8; 32] = [7; 32];
/// Longer messages are rejected before anything is allocated.
const MAX_MESSAGE_BYTES: usize = 1 << 16;
/// Bytes of a handshake; the reader ignores the reserved byte in it.
const HELLO_BYTES: usize = 44;
const RESERVED_AT: usize = 11;
/// Bytes before the body of a message: its length and the digest of the step.
const LENGTH_BYTES: usize = 4;
const DIGEST_BYTES: usize = 16;
/// Elements of each step.
const COUNT: usize = 3;
/// The ring of matrices and of revealed words.
const RING: Ring = Ring::new(64).expect("a ring of 64 bits");
const SHAPE: MatrixShape = MatrixShape { batch: 1, rows: 1, inner: COUNT, cols: 1 };

/// Checks one input.
pub fn check_input(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else { return };
    let party = Party::BOTH[usize::from(mode & 1)];
    let honest = &HONEST[party.index()];
    let (bytes, fault) = match mode & 2 {
        0 => honest.changed(rest),
        _ => (rest.to_vec(), honest.fault_in(rest)),
    };
    let outcome = run(&QUEUE, Script { rest: &bytes }, party);
    match (fault, outcome) {
        (PeerFault::None, outcome) => assert_eq!(outcome.as_ref(), Ok(&honest.shares), "an honest peer"),
        (PeerFault::Value, Ok(shares)) => assert_eq!(shares.len(), honest.shares.len(), "shares of other values"),
        (PeerFault::Value, Err(error)) => assert_eq!(error, ChannelError::Padding.into(), "values of the right length"),
        (PeerFault::Frame, Ok(_)) => panic!("a changed frame is accepted"),
        (PeerFault::Frame, Err(error)) => assert!(matches!(error, PfssError::Channel(_)), "{error}"),
    }
}

/// A party's run with an honest peer.
struct Honest {
    /// Everything that the peer sends.
    peer: Vec<u8>,
    /// Where the peer's masked values are; all other bytes are determined by public facts.
    is_value: Vec<bool>,
    shares: Vec<u64>,
}

/// How a peer's bytes differ from an honest peer's.
#[derive(Clone, Copy, PartialEq)]
enum PeerFault {
    None,
    /// In masked values alone, which may be anything.
    Value,
    /// In a handshake, a length, a digest, or in the number of bytes.
    Frame,
}

static HONEST: LazyLock<[Honest; 2]> = LazyLock::new(|| {
    let (zero, one) = UnixStream::pair().expect("a pair of sockets");
    let mut streams = [zero, one].map(|stream| RecordedStream { stream, read: Vec::new() });
    let [zero, one] = &mut streams;
    let shares = thread::scope(|scope| {
        let first = scope.spawn(|| run(&QUEUE, zero, Party::Zero));
        let second = run(&QUEUE, one, Party::One);
        [first.join().expect("party 0 ends"), second].map(|shares| shares.expect("an honest session"))
    });
    let mut shares = shares.into_iter();
    streams.map(|RecordedStream { read, .. }| Honest {
        is_value: values(&read),
        peer: read,
        shares: shares.next().expect("shares of both parties"),
    })
});

/// Marks the bodies of the frames in a peer's bytes.
fn values(bytes: &[u8]) -> Vec<bool> {
    let mut marks = vec![false; bytes.len()];
    let mut at = HELLO_BYTES;
    while let Some(length) = bytes.get(at..at + LENGTH_BYTES) {
        let end = at + LENGTH_BYTES + length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        marks[at + LENGTH_BYTES + DIGEST_BYTES..end].fill(true);
        at = end;
    }
    marks
}

impl Honest {
    /// The honest bytes, XORed with `input` after its first two bytes.
    ///
    /// These two bytes are the number of bytes to cut off the end.
    fn changed(&self, input: &[u8]) -> (Vec<u8>, PeerFault) {
        let (cut, mask) = input.split_at(input.len().min(2));
        let cut = cut.iter().rev().fold(0, |cut, &byte| cut << 8 | usize::from(byte));
        let mut bytes = self.peer.clone();
        bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        bytes.truncate(bytes.len().saturating_sub(cut));
        let fault = self.fault_in(&bytes);
        (bytes, fault)
    }

    /// How `bytes` differ. Those after the end are never read.
    fn fault_in(&self, bytes: &[u8]) -> PeerFault {
        if bytes.len() < self.peer.len() {
            return PeerFault::Frame;
        }
        let changed = |values: bool| {
            let bytes = self.peer.iter().zip(bytes).zip(&self.is_value).enumerate();
            bytes.filter(|(at, _)| *at != RESERVED_AT).any(|(_, ((a, b), value))| *value == values && a != b)
        };
        match (changed(false), changed(true)) {
            (true, _) => PeerFault::Frame,
            (false, true) => PeerFault::Value,
            (false, false) => PeerFault::None,
        }
    }
}

/// Runs a session with every kind of message.
///
/// They are masked words, masked bits, several rounds of a descriptor, a matrix product, a
/// super-batch, and values revealed to either party.
fn run<S: Read + Write>(q: &CpuQueue, stream: S, party: Party) -> Result<Vec<u64>, PfssError> {
    let mut session = Session::new(StreamChannel::over(party, stream, &PROTOCOL, MAX_MESSAGE_BYTES)?);
    let outcome = steps(q, &mut session, PartyKeys::deal(q, party));
    if outcome.is_err() {
        let closed = session.reveal(q, RING, Party::Zero, &[]);
        assert_eq!(closed, Err(PfssError::Closed), "a session goes on after a failure");
    }
    outcome
}

fn steps<S: Read + Write>(
    q: &CpuQueue,
    session: &mut Session<StreamChannel<S>>,
    PartyKeys { relu, bits, suf, product, batch, triple }: PartyKeys,
) -> Result<Vec<u64>, PfssError> {
    let x = [5, u64::MAX - 2, 77];
    let mut out = session.relu(q, relu, &x)?;
    for (task, keys) in [(Task::PredicateBits(&[Predicate::NonNegative]), bits), (Task::Suf, suf)] {
        let Shares { words, bools } = session.run(q, task, keys, &x)?;
        out.extend(words);
        match bools {
            BoolShares::Additive(words) => out.extend(words),
            BoolShares::Xor(bits) => out.extend(bits.words().iter().map(|&word| u64::from(word))),
        }
    }
    out.extend(session.product(q, product, [&x, &x])?);
    out.extend(session.matmul(q, triple, [&x, &x])?);
    let [first, second] = batch;
    let masked = session.open_masked(q, vec![(first, &x), (second, &x)])?;
    let mut batch = SuperBatch::new(q, None, BatchConfig::default())?;
    let mut jobs = Vec::new();
    for ((keys, x_hat), task) in masked.into_iter().zip([Task::Ars, Task::Abs]) {
        jobs.push(batch.enqueue(Job::new(task, keys, x_hat))?);
    }
    batch.flush()?;
    session.finalize(&mut batch)?;
    for job in jobs {
        out.extend(&batch.shares(job)?.words);
    }
    for to in Party::BOTH {
        out.extend(session.reveal(q, RING, to, &x)?.into_iter().flatten());
    }
    Ok(out)
}

/// One party's keys.
struct PartyKeys {
    relu: KeyBundle,
    bits: KeyBundle,
    suf: KeyBundle,
    product: KeyBundle,
    batch: [KeyBundle; 2],
    triple: MatrixTriple,
}

impl PartyKeys {
    /// Deals the same keys every time; an insecure dealer's keys may be used again.
    fn deal(q: &CpuQueue, party: Party) -> Self {
        let mut dealer = Dealer::insecure_from_seed(7);
        let mut deal = |gate: Result<Gate, PfssError>| {
            let both = dealer.deal(q, &gate.expect("a gate"), COUNT).expect("keys");
            let [zero, one] = both;
            if party == Party::Zero { zero } else { one }
        };
        let (relu, bits) = (deal(Gate::relu(16)), deal(Gate::sign_predicates(9)));
        let (suf, product) = (deal(Ok(clipped_line())), deal(Gate::product(64)));
        let batch = [deal(Gate::ars(12, 3)), deal(Gate::relu(7))];
        let [zero, one] = dealer.deal_matrix(q, RING, SHAPE).expect("a triple");
        Self { relu, bits, suf, product, batch, triple: if party == Party::Zero { zero } else { one } }
    }
}

/// A descriptor that takes several rounds.
///
/// It is a line on 4 bits, clipped, and a conjunction of shares.
fn clipped_line() -> Gate {
    let piece = |start, c1| Piece { start, polys: vec![vec![3, c1]], bools: vec![BoolExpr::Var(0) & BoolExpr::Var(1)] };
    let spec = SufSpec {
        n: 4,
        degree: 1,
        words: vec!["y".into()],
        bools: vec!["b".into()],
        preds: vec![Pred::Msb, Pred::LtLow { f: 2, gamma: 1 }],
        pieces: vec![piece(0, 1), piece(8, 0)],
    };
    let modes = SufModes { coeffs: CoeffMode::MaskedSelect, ..SufModes::default() };
    Gate::suf(SufProgram::new(SufDesc::new(spec).expect("a descriptor"), modes).expect("a program"))
}

/// A stream that records the bytes read from it.
struct RecordedStream {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Read for RecordedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

impl Write for RecordedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
