//! The queue that targets share, since opening one starts a thread.

use std::{num::NonZeroUsize, sync::LazyLock};

use backend_api::Budget;
use cpu_backend::{CpuConfig, CpuQueue};

/// One thread, with room for what an input's size may need and no more.
pub(crate) static QUEUE: LazyLock<CpuQueue> = LazyLock::new(|| {
    let config = CpuConfig { threads: NonZeroUsize::new(1), budget: Budget::new(1 << 26), ..CpuConfig::default() };
    CpuQueue::open(config).expect("a queue")
});
