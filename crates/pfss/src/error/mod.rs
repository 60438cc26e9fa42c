//! Errors of gates, dealers and sessions.

mod batch;
mod bundle;
mod suf;

use backend_api::BackendError;
use thiserror::Error;

pub use batch::{BatchError, Class, Limit, State};
pub use bundle::BundleError;
pub use suf::SufError;

use crate::{ChannelError, GateKind, Party, RangeError, hex::hex};

/// Any failure of a gate, a dealer or a session.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PfssError {
    /// The ring width is not usable by the gate.
    #[error("expected a ring of {min} to {max} bits for {kind}, got {got}")]
    RingWidth {
        /// The gate.
        kind: GateKind,
        /// Smallest width.
        min: u32,
        /// Largest width.
        max: u32,
        /// The requested width.
        got: u32,
    },
    /// The shift is not usable by the gate.
    #[error("expected a shift of 1 to {max} bits for {kind}, got {got}")]
    Shift {
        /// The gate.
        kind: GateKind,
        /// Largest shift for this ring width.
        max: u32,
        /// The requested shift.
        got: u32,
    },
    /// The degree or the number of masked bits is above the cap.
    #[error("expected at most {max} for {what} of {kind}, got {got}")]
    Cap {
        /// The gate.
        kind: GateKind,
        /// The capped parameter.
        what: &'static str,
        /// The cap.
        max: u32,
        /// The requested value.
        got: u32,
    },
    /// A constant of a predicate, interval or table is outside its ring.
    #[error("constant {got:#x} of item {index} is outside a ring of {bits} bits")]
    Constant {
        /// Position in the list.
        index: usize,
        /// Width of the ring of the constant.
        bits: u32,
        /// The constant.
        got: u64,
    },
    /// A predicate needs keys of another kind.
    #[error("predicate {index} needs keys for {expected}, got {got}")]
    PredicateKind {
        /// Position in the list.
        index: usize,
        /// Kind of key the predicate needs.
        expected: GateKind,
        /// Kind of the bundle.
        got: GateKind,
    },
    /// An interval is empty.
    #[error("interval {index} is empty: {start:#x}..{end:#x}")]
    EmptyInterval {
        /// Position in the list.
        index: usize,
        /// First element.
        start: u64,
        /// One past the last element.
        end: u64,
    },
    /// Host slices that must have the same length do not.
    #[error("expected {expected} {what}, got {got}")]
    Length {
        /// Name of the counted items.
        what: &'static str,
        /// Elements expected.
        expected: usize,
        /// Elements supplied.
        got: usize,
    },
    /// The bundle holds keys of another gate.
    #[error("expected keys for {expected}, got {got}")]
    Kind {
        /// The requested gate.
        expected: GateKind,
        /// The gate of the bundle.
        got: GateKind,
    },
    /// The certificate proves a range for another ring.
    #[error("expected a certificate for {expected} bits, got one for {got}")]
    CertWidth {
        /// Ring width of the bundle.
        expected: u32,
        /// Ring width of the certificate.
        got: u32,
    },
    /// The keys are for inputs of another ring than the caller's.
    #[error("expected keys for inputs of {expected} bits, got keys for {got} bits")]
    KeyRing {
        /// Ring width of the caller's inputs.
        expected: u32,
        /// Ring width of the keys' inputs.
        got: u32,
    },
    /// Keys or shares belong to the other party.
    #[error("expected keys or shares of {expected}, got {got}'s")]
    WrongParty {
        /// The party of the session, or of the first operand.
        expected: Party,
        /// The party of the keys or shares.
        got: Party,
    },
    /// The bundles of the two parties are not from one deal.
    #[error("expected bundles of one deal, nonces are {} and {}", hex(expected), hex(got))]
    NonceMismatch {
        /// Nonce of party 0's bundle.
        expected: [u8; 16],
        /// Nonce of party 1's bundle.
        got: [u8; 16],
    },
    /// A bundle with this nonce was used before in this process.
    ///
    /// Its masks are spent: a second use would reveal differences of secrets.
    #[error("bundle reused: nonce {}", hex(nonce))]
    ReusedBundle {
        /// The nonce of the bundle.
        nonce: [u8; 16],
    },
    /// The triple is for weights under another key than the opened ones.
    #[error("expected weights opened with key {}, got weights opened with key {}", hex(expected), hex(got))]
    OtherWeights {
        /// Nonce of the key that the triple is for.
        expected: [u8; 16],
        /// Nonce of the key that the weights were opened with.
        got: [u8; 16],
    },
    /// The inputs of these keys come already opened from an earlier gate's masked outputs.
    ///
    /// Masking shares of them again would reveal differences of secrets.
    #[error("expected keys with dedicated input masks, got keys for the opened outputs of an earlier gate")]
    OpenInputs,
    /// A wire's words are of another ring than the inputs of the gate that should take them.
    #[error("expected a wire of {expected} bits, got one of {got}")]
    WireRing {
        /// Ring width of the gate's inputs.
        expected: u32,
        /// Ring width of the wire.
        got: u32,
    },
    /// The gate has no output words to mask.
    #[error("expected a gate with output words to mask, got {got}")]
    NoOutputWords {
        /// The gate.
        got: GateKind,
    },
    /// The gate does not mask its outputs, so opening them would reveal them.
    #[error("expected keys of a gate with masked outputs, got unmasked output shares, which must not be opened")]
    BareOutputs,
    /// A gate masks its outputs, but another gate was to take them as shares of results.
    #[error("expected unmasked result shares from the previous gate, got masked outputs")]
    MaskedOutputs,
    /// Shares of one ring were to be added to shares of another.
    #[error("expected shares in a ring of {expected} bits, got shares in a ring of {got} bits")]
    ShareRing {
        /// Ring width of the first operand.
        expected: u32,
        /// Ring width of the second operand.
        got: u32,
    },
    /// Shares were to be read in a ring of more bits than theirs.
    #[error("expected a ring of at most {most} bits for these shares, got a ring of {got} bits")]
    WiderRing {
        /// Ring width of the shares.
        most: u32,
        /// Width of the requested ring.
        got: u32,
    },
    /// An order of axes leaves one out, or lists one twice.
    #[error("expected an order that lists each of {axes} axes once, got {got:?}")]
    AxisOrder {
        /// Number of axes.
        axes: usize,
        /// The order.
        got: Vec<usize>,
    },
    /// A place in a list is past the last share.
    #[error("place {got} of item {index} is outside {len} shares")]
    Place {
        /// Position in the list.
        index: usize,
        /// Number of shares.
        len: usize,
        /// The place.
        got: u32,
    },
    /// Shares are in the memory of two devices, or of one device that was opened twice.
    #[error("expected shares of one opened device, got shares of two")]
    OtherDevice,
    /// The results of a task are formed in host memory.
    #[error("expected a task whose results are words summed on a device, got {got}; run it on shares in host memory")]
    NotOnDevice {
        /// The results.
        got: &'static str,
    },
    /// An earlier step failed halfway, so the two parties may no longer agree on what comes next.
    #[error("session is closed after an earlier failure")]
    Closed,
    /// The operating system gave no randomness.
    #[error("operating system randomness failed: {reason}")]
    Entropy {
        /// The system's reason.
        reason: String,
    },
    /// The keys are for another gate, descriptor or modes than the function or the shift.
    #[error("expected keys for the function's own program, got keys for another program")]
    Program,
    /// A descriptor or program is refused.
    #[error(transparent)]
    Suf(#[from] SufError),
    /// A range does not meet a gate's requirements.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A key bundle is malformed.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The peer or the connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A super-batch refuses, or has stopped.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The device failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Checks a number of elements, or a length of host slices.
pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<(), PfssError> {
    if expected == got { Ok(()) } else { Err(PfssError::Length { what, expected, got }) }
}
