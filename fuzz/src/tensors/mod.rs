//! Readers of files of tensors.

pub mod checkpoint;
pub mod npy;
pub mod safetensors;
