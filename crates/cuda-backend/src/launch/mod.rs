//! Kernel launches: the one call site, and one wrapper for each kernel that states what makes the launch sound.
//!
//! A wrapper takes the queue, the parameter record and the views, and says in its `SAFETY` comment which lengths the op
//! has checked:
//!
//! ```text
//! pub(crate) fn pack(queue: &CudaQueue, p: &PackParams, elements: CudaRef<'_, u64>, words: &CudaMut<'_, u64>)
//!     -> Result<(), BackendError>
//! {
//!     let launch = queue.kernel("fss_pack")?.cover(words.len()).value(p).input(elements).output(words);
//!     // SAFETY: the op has checked that `elements` are `p.count` and `words` as many as they fill.
//!     unsafe { launch.launch() }
//! }
//! ```

mod builder;
pub(crate) mod circle;
pub(crate) mod fss;
pub(crate) mod linalg;
pub(crate) mod share;
mod trials;

pub use builder::Launch;
pub(crate) use builder::replay;
pub use trials::{launch_canary, launch_programs};
