//! Specifications of the `channel` op set.
//!
//! The oracle is the transcript written down once more, on bytes and crate `blake2`.

mod draw;
mod grind;
mod mix;
pub(crate) mod model;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![mix::digests(), mix::felts(), mix::words(), draw::challenges(), draw::queries(), grind::grind()]
}
