//! Why bytes are not a NumPy array of the wanted type.

use thiserror::Error;

/// Why bytes are not an `.npy` file of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file ends early.
    #[error("npy file is truncated: expected at least {expected} bytes, got {got}")]
    Truncated {
        /// Bytes that the part read so far announces.
        expected: usize,
        /// Bytes there are.
        got: usize,
    },
    /// The first six bytes are not the format's.
    #[error("not an npy file: expected the magic bytes 93 4e 55 4d 50 59")]
    Magic,
    /// A version that this reader does not know.
    #[error("expected npy version 1.0, 2.0 or 3.0, got {major}.{minor}")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header's dictionary is malformed.
    #[error("npy header at byte {offset}: expected {expected}")]
    Header {
        /// Where in the file.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// The elements are of another type.
    #[error("expected npy elements that are {expected}, got type `{got}`")]
    DType {
        /// The accepted types.
        expected: &'static str,
        /// The file's.
        got: String,
    },
    /// The wanted type does not have a value.
    #[error("npy element {index}: expected a value of {expected}, got {value}")]
    Value {
        /// Its place in the file, from 0.
        index: usize,
        /// The value.
        value: String,
        /// The wanted type.
        expected: &'static str,
    },
    /// The shape's elements cannot be counted or addressed.
    #[error("npy shape {shape:?} has more bytes than the address space")]
    ShapeOverflow {
        /// The file's shape.
        shape: Vec<usize>,
    },
    /// There are more bytes than the shape announces.
    #[error("npy file has {got} data bytes, expected {expected}")]
    TrailingBytes {
        /// Bytes that the shape announces.
        expected: usize,
        /// Bytes there are.
        got: usize,
    },
    /// Data and shape to be written do not agree.
    #[error("expected {expected} elements for the shape, got {got}")]
    Length {
        /// Product of the shape.
        expected: usize,
        /// Elements given.
        got: usize,
    },
}
