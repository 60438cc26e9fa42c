//! Memory: where it comes from, who may use it when, and how it is copied.

mod arena;
mod block;
mod exchange;
mod host_copy;
mod peer;
mod pinned;
mod pool;
mod registered;
mod transfer;
mod uses;

pub(crate) use block::{BlockRegion, DeviceBlock};
pub(crate) use exchange::{Leg, exchange};
pub(crate) use peer::{Courier, copy_between, copy_through_host, copy_within};
pub use pinned::PinnedCounts;
pub(crate) use pinned::{Content, PinnedPiece, PinnedPool};
pub(crate) use pool::{DevicePool, GRANULE_BYTES};
pub use registered::CudaRegistered;
pub(crate) use transfer::{copy, download, fill_zero, upload};
pub(crate) use uses::{BlockAccess, Uses};
