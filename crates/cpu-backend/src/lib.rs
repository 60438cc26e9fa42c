//! Every Trefoil op on the host processor.
//!
//! [`CpuQueue`] runs ops at once on the calling thread or, above a grain, on a rayon pool of its own. SIMD paths are
//! chosen once, at construction, from what the processor has ([`Simd`]); results do not depend on the number of threads.

mod buf;
mod circle;
mod fma_peak;
mod fss;
mod linalg;
mod par;
mod queue;
mod simd;

pub use buf::CpuBuf;
pub use fma_peak::fma_peak;
pub use queue::{CpuConfig, CpuError, CpuQueue};
pub use simd::{AesPath, Simd, SimdLevel};
