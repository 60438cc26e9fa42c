//! Readers of keys, descriptors and messages of two parties.

pub mod descriptor;
pub mod handshake;
pub mod key_bundle;
pub mod key_folder;
pub mod matrix_triple;
mod script;
pub mod session;
