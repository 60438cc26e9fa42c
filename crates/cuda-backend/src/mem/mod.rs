//! Memory: where it comes from, and who may use it when.

mod arena;
mod block;
mod pinned;
mod pool;
mod uses;

pub(crate) use block::{BlockRegion, DeviceBlock};
pub use pinned::PinnedCounts;
pub(crate) use pinned::{Content, InFlight, PinnedPiece, PinnedPool};
pub(crate) use pool::{DevicePool, GRANULE_BYTES};
pub(crate) use uses::{BlockAccess, Uses};
