//! Every Trefoil op on the host processor.
//!
//! [`CpuQueue`] runs ops immediately, on the calling thread or, above a certain size, on a
//! dedicated rayon pool. SIMD paths are chosen once, at construction, from the processor's features
//! ([`Simd`]); results do not depend on the number of threads.
//!
//! ```
//! use backend_api::{Buffer, Queue, ops::tensor::{Fill, TensorOps}};
//! use cpu_backend::{CpuConfig, CpuQueue};
//!
//! let q = CpuQueue::open(CpuConfig::default())?;
//! let mut y = q.zeros::<f32>(3)?;
//! q.fill(Fill { value: 2.5, len: 3, y: y.view_mut() })?;
//! assert_eq!(q.download(&y)?, [2.5; 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod air;
mod blake2s;
mod blocks;
mod buf;
mod capabilities;
mod channel;
mod checked;
mod circle;
mod columns;
mod correction;
mod deep;
mod factor;
mod fri;
mod fss;
mod linalg;
mod merkle;
mod optim;
mod panels;
mod par;
mod queue;
mod recurrent;
mod share;
mod simd;
mod tensor;

pub use buf::CpuBuf;
pub use capabilities::CpuMark;
pub use queue::{CpuConfig, CpuError, CpuQueue};
pub use simd::{AesPath, Simd, SimdLevel};
