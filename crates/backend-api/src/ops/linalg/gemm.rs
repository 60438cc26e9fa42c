use core_types::params::gemm::GemmParams;

use crate::{BackendError, Mut, Queue, Real, Ref};

/// Matrix products.
pub trait GemmOps: Queue {
    /// Runs the batch of products that `p` describes, with f32 sums and one rounding to `T`.
    ///
    /// The order of each sum depends on the shape alone.
    ///
    /// # Errors
    /// What [`check_gemm`] refuses, before anything is written, and [`BackendError::OutOfMemory`] or
    /// [`BackendError::BudgetExceeded`] for scratch memory.
    ///
    /// [`check_gemm`]: super::check_gemm
    fn gemm<T: Real>(
        &self,
        p: &GemmParams,
        a: Ref<'_, Self, T>,
        b: Ref<'_, Self, T>,
        bias: Option<Ref<'_, Self, T>>,
        c: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;
}
