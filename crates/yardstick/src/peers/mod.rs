//! What ops are measured against.
//!
//! None of it is Trefoil's vector code, so that no line is measured against itself.

mod peak;
mod product;
mod stwo;
mod torch;

pub(crate) use self::{peak::fma_peak, product::plain_gemm, stwo::stwo_times, torch::pytorch};
