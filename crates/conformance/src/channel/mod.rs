//! Specifications of the `channel` op set.
//!
//! The oracle is the transcript written down once more, on bytes and crate `blake2`.

mod draw;
mod grind;
mod mix;
mod model;

use backend_api::ops::channel::ChannelOps;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: ChannelOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![mix::digests(), mix::felts(), mix::words(), draw::challenges(), draw::queries(), grind::grind()]
}
