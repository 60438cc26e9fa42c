//! Speed lines of the `linalg` op set.

use super::Contest;

/// Every contest of the op set, by name, built when it is its turn.
#[must_use]
pub fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    Vec::new()
}
