//! The tag of a saved result.

use core::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use backend_api::DType;
use runtime::Choice;

/// Generations that the process has used.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// The device, its generation and the precision of a forward pass.
///
/// A backward pass accepts only saved results with its own tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The device.
    pub device: Choice,
    /// The number of the opening of the device, counted over all dispatchers of the process.
    pub generation: u64,
    /// The type of the elements.
    pub precision: DType,
}

impl Tag {
    /// The tag of a device that has just been opened.
    pub(crate) fn new(device: Choice) -> Self {
        Self { device, generation: GENERATIONS.fetch_add(1, Ordering::Relaxed) + 1, precision: DType::F32 }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, generation, precision } = self;
        write!(f, "{device} (generation {generation}, {precision})")
    }
}
