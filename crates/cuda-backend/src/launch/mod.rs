//! Kernel launches: the single call site, and one wrapper for each kernel.
//!
//! A wrapper states why its launch is sound.
//!
//! A wrapper takes the queue and the op, gives each parameter of the kernel its argument by name,
//! and names in its `SAFETY` comment the check that verified the lengths of the views:
//!
//! ```text
//! pub(crate) fn cmp_gen(queue: &CudaQueue, op: &CmpGen<'_, CudaQueue>) -> Result<(), BackendError> {
//!     let launch = keys_made(queue.kernel("fss_cmp_gen")?, op.params.count).value("params", op.params);
//!     let launch = launch.input("alphas", op.alphas).input("roots", op.roots);
//!     let launch = launch.output("corrections", &op.corrections).output("leaves", &op.leaves);
//!     // SAFETY: `CmpGen::check` verified the lengths of all views.
//!     unsafe { launch.launch() }
//! }
//! ```

mod builder;
pub(crate) mod fss;
pub(crate) mod linalg;
pub(crate) mod nn;
pub(crate) mod share;
pub(crate) mod stark;
mod trials;

pub use builder::Launch;
pub(crate) use builder::replay;
pub use trials::{launch_canary, launch_programs};
