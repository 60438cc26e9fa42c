//! Why something is not a descriptor, or not a program for one.

use thiserror::Error;

/// Why a descriptor or a program is refused. Nothing is repaired.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SufError {
    /// The ring has no such width.
    #[error("expected a ring of 1 to 64 bits, got {got}")]
    RingWidth {
        /// The requested width.
        got: u32,
    },
    /// The inputs are declared to have more bits than the ring, or none.
    #[error("expected inputs of 1 to {max} bits, got {got}")]
    Bits {
        /// The ring width.
        max: u32,
        /// The bits that hold the inputs.
        got: u32,
    },
    /// More of something than a descriptor may hold.
    #[error("expected at most {max} {what}, got {got}")]
    Cap {
        /// Name of the counted items.
        what: &'static str,
        /// The cap.
        max: usize,
        /// The number found.
        got: usize,
    },
    /// There is no piece, so no input has a value.
    #[error("expected at least one piece")]
    NoPieces,
    /// The first piece does not start at zero.
    #[error("expected the first piece to start at 0, got {got:#x}")]
    FirstStart {
        /// The start found.
        got: u64,
    },
    /// The pieces are not in strictly increasing order.
    #[error("expected piece {piece} to start above {previous:#x}, got {got:#x}")]
    StartOrder {
        /// Position of the piece.
        piece: usize,
        /// Start of the piece before it.
        previous: u64,
        /// The start found.
        got: u64,
    },
    /// A constant is not a representative of its ring.
    #[error("{what} {got:#x} of {of} {index} is outside a ring of {bits} bits")]
    Constant {
        /// Which constant.
        what: &'static str,
        /// `piece` or `predicate`.
        of: &'static str,
        /// Position of the piece or predicate.
        index: usize,
        /// Width of the ring.
        bits: u32,
        /// The constant.
        got: u64,
    },
    /// A predicate looks at more low bits than there are, or at none.
    #[error("expected 1 to {max} low bits for predicate {pred}, got {got}")]
    LowBits {
        /// Position of the predicate.
        pred: usize,
        /// The ring width.
        max: u32,
        /// The requested number of low bits.
        got: u32,
    },
    /// A piece does not have one polynomial per output word, or not one formula per output bit.
    #[error("expected {expected} {what} in piece {piece}, got {got}")]
    Outputs {
        /// `polynomials` or `formulas`.
        what: &'static str,
        /// Position of the piece.
        piece: usize,
        /// One per port.
        expected: usize,
        /// The number found.
        got: usize,
    },
    /// A polynomial is of higher degree than the descriptor declares.
    #[error("expected at most {max} coefficients for word {word} of piece {piece}, got {got}")]
    Degree {
        /// Position of the piece.
        piece: usize,
        /// Position of the output word.
        word: usize,
        /// The declared degree plus one.
        max: usize,
        /// The number of coefficients.
        got: usize,
    },
    /// A formula names a predicate that does not exist.
    #[error("expected a predicate below {preds} in bit {bit} of piece {piece}, got {got}")]
    Variable {
        /// Position of the piece.
        piece: usize,
        /// Position of the output bit.
        bit: usize,
        /// Number of predicates.
        preds: usize,
        /// The index named.
        got: usize,
    },
    /// A port's name is invalid.
    ///
    /// It is empty, too long, taken, or has characters other than `a-z`, `0-9` and `_`.
    #[error("port {index} has a name that is {reason}: {got:?}")]
    Port {
        /// Position among the words, then the bits.
        index: usize,
        /// The defect of the name.
        reason: &'static str,
        /// The name.
        got: String,
    },
    /// The bytes of a descriptor end too early.
    #[error("expected {expected} more bytes of {what}, got {got}")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes it needs.
        expected: usize,
        /// Bytes left.
        got: usize,
    },
    /// The bytes of a descriptor go on past its end.
    #[error("expected the end of the descriptor, got {got} more bytes")]
    Trailing {
        /// Bytes left.
        got: usize,
    },
    /// A tag in the bytes of a descriptor has no meaning.
    #[error("expected a {what}, got tag {got}")]
    Tag {
        /// Name of the selected alternatives.
        what: &'static str,
        /// The tag.
        got: u64,
    },
}
