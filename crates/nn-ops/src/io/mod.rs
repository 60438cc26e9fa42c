//! Readers and writers of common tensor files, on byte slices.
//!
//! The caller owns the files, may map them, and replaces them as a whole
//! (`tempfile::NamedTempFile::persist` does).
//!
//! Readers are total: malformed or hostile bytes give a typed error, never a panic, and nothing is
//! allocated beyond a small multiple of the input's length.

pub(crate) mod checkpoint;
mod npy;
mod npy_error;
mod npy_header;
mod npy_number;
pub(crate) mod weights;

pub use checkpoint::Checkpoint;
pub use npy::{NpyArray, NpyElement, read_npy, write_npy};
pub use npy_error::NpyError;
pub use npy_number::FromNpy;
pub use weights::{
    SavedTensors, Tensor, Tensors, TextByKey, WeightsError, read_safetensors, write_safetensors, write_safetensors_as,
};
