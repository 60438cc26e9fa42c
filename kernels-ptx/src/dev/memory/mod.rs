//! Global and shared memory, and copies between them.

pub mod cp_async;
pub mod gmem;
pub mod smem;
