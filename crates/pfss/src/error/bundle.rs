//! Why bytes are not a bundle.

use thiserror::Error;

use super::SufError;
use crate::{GateKind, hex::hex};

/// Why bytes are not a key bundle.
///
/// Checked in the order: header, lengths, section table, digest, contents.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BundleError {
    /// Fewer bytes than a header.
    #[error("expected a header of {expected} bytes, got {got} bytes")]
    Truncated {
        /// Size of the header.
        expected: usize,
        /// Bytes supplied.
        got: usize,
    },
    /// The magic bytes do not identify a key bundle.
    #[error("not a file of keys: it begins with `{}`, expected `{}`", got.escape_ascii(), expected.escape_ascii())]
    Magic {
        /// `PFK1`, or the magic of another kind of keys.
        expected: [u8; 4],
        /// The first four bytes.
        got: [u8; 4],
    },
    /// The format version is not supported by this reader.
    #[error("expected format version {expected}, got {got}")]
    Version {
        /// The version of this reader.
        expected: u16,
        /// The version in the header.
        got: u16,
    },
    /// The kind byte names no gate.
    #[error("expected a gate kind of 1 to {}, got {got}", GateKind::ALL.len())]
    Kind {
        /// The kind in the header.
        got: u8,
    },
    /// The party byte names no party.
    #[error("expected party 0 or 1, got {got}")]
    Party {
        /// The party in the header.
        got: u8,
    },
    /// Parameters that no gate of this kind has.
    #[error("gate parameters are not valid: {reason}")]
    Gate {
        /// The reason given by the gate's own check.
        reason: String,
    },
    /// The program that the bundle carries is not one.
    #[error("the program of the bundle is invalid")]
    Program(#[source] SufError),
    /// A header field has another value than the rest of the header implies.
    #[error("expected {expected} in header field `{field}`, got {got}")]
    Field {
        /// The field.
        field: &'static str,
        /// The value implied.
        expected: u64,
        /// The value found.
        got: u64,
    },
    /// The count makes the bundle larger than the address space.
    #[error("{count} elements overflow the bundle length")]
    Overflow {
        /// The count in the header.
        count: u64,
    },
    /// The bundle is not as long as gate and count imply.
    #[error("expected a bundle of {expected} bytes, got {got}")]
    Length {
        /// Bytes implied by the header.
        expected: usize,
        /// Bytes supplied.
        got: usize,
    },
    /// An entry of the section table differs from the one that gate and count imply.
    #[error("expected {expected} for `{field}` of section {index}, got {got}")]
    Section {
        /// Position in the table.
        index: usize,
        /// The field of the entry.
        field: &'static str,
        /// The value implied.
        expected: u64,
        /// The value found.
        got: u64,
    },
    /// A byte between sections is not zero.
    #[error("expected zero in the gap at byte {offset}, got {got:#04x}")]
    Gap {
        /// Position in the bundle.
        offset: usize,
        /// The byte found.
        got: u8,
    },
    /// The digest of the gate parameters or of the contents is wrong.
    #[error("{what} digest: expected {}, got {}", hex(expected), hex(got))]
    Digest {
        /// `gate` or `content`.
        what: &'static str,
        /// The digest computed from the bytes.
        expected: [u8; 32],
        /// The digest in the header.
        got: [u8; 32],
    },
    /// A tree root has one of its two reserved bits set.
    #[error("expected two zero low bits in root {index}")]
    Root {
        /// The element.
        index: usize,
    },
    /// A share is not below `2^n`.
    #[error("expected a share below 2^{bits} at word {index} of row {row}")]
    Share {
        /// Width of the ring.
        bits: u32,
        /// Row of the words section.
        row: usize,
        /// The element.
        index: usize,
    },
}
