use core_types::params::gemm::GemmParams;

use crate::{BackendError, Mut, Queue, Real, Ref};

/// Matrix products.
pub trait GemmOps: Queue {
    /// Runs the batch of products that `p` describes, with f32 sums and one rounding to `T`.
    ///
    /// The caller has checked that every element lies inside its view ([`MatrixStrides::span`]) and that elements of C do
    /// not overlap. The order of each sum depends on the shape alone.
    ///
    /// [`MatrixStrides::span`]: core_types::params::gemm::MatrixStrides::span
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] or [`BackendError::BudgetExceeded`] for scratch memory, [`BackendError::Length`] if a
    /// view is too short after all.
    fn gemm<T: Real>(
        &self,
        p: &GemmParams,
        a: Ref<'_, Self, T>,
        b: Ref<'_, Self, T>,
        bias: Option<Ref<'_, Self, T>>,
        c: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;
}
