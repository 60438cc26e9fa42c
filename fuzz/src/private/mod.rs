//! Readers of keys, models, descriptors and messages of two parties.

use core::fmt::Display;

pub mod descriptor;
pub mod handshake;
pub mod key_bundle;
pub mod key_folder;
pub mod matrix_triple;
pub mod model_file;
mod script;
pub mod session;

/// Checks that an error, which may quote a file, is one short line.
fn check_error(error: &impl Display) {
    let text = error.to_string();
    assert!(text.len() < 4096 && !text.contains(char::is_control), "{text:?}");
}
