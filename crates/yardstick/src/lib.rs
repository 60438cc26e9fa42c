//! What speed lines are measured against: how fast the processor can multiply and add, and a product of matrices by a
//! library. Nothing here is Trefoil's own vector code, so that no line is measured against itself.

mod peak;
mod product;

pub use peak::fma_peak;
pub use product::plain_gemm;
