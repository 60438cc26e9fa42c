//! The op sets, each op as one or a few launches.
//!
//! The method of an op chooses kernel and grid, gives each parameter of the kernel its argument by
//! name, and names in its `SAFETY` comment the check that verified the lengths of the views. Ops
//! that share a launch call a private function:
//!
//! ```text
//! fn cmp_gen(&self, op: CmpGen<'_, Self>, _: CmpGenShape) -> Result<(), BackendError> {
//!     let launch = keys_made(self.kernel("fss_cmp_gen")?, op.params.count);
//!     let launch = launch.value("params", op.params).input("alphas", op.alphas);
//!     let launch = launch.input("roots", op.roots).output("corrections", &op.corrections);
//!     let launch = launch.output("leaves", &op.leaves);
//!     // SAFETY: `CmpGen::check` verified all lengths.
//!     unsafe { launch.launch() }
//! }
//! ```

mod air;
mod channel;
mod circle;
mod correction;
mod deep;
mod factor;
mod family;
mod fri;
mod fss;
mod linalg;
mod merkle;
mod optim;
mod recurrent;
mod share;
mod tensor;
mod trials;

pub use trials::{launch_canary, launch_programs, launch_sample};
