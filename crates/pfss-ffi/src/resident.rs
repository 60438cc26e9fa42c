//! Shares in device memory that keep their queue.

use std::sync::Arc;

use pfss::DeviceShares;
use runtime::AnyQueue;

/// Lists of shares in the device memory of one queue, which lives as long.
pub(crate) struct ResidentShares<const N: usize> {
    /// They borrow the queue, and are wiped and dropped before it.
    shares: [DeviceShares<'static, AnyQueue>; N],
    queue: Arc<AnyQueue>,
}

impl<const N: usize> ResidentShares<N> {
    /// The shares that `make` returns, in the memory of `queue`.
    pub(crate) fn new<E>(
        queue: &Arc<AnyQueue>,
        make: impl for<'q> FnOnce(&'q AnyQueue) -> Result<[DeviceShares<'q, AnyQueue>; N], E>,
    ) -> Result<Self, E> {
        // SAFETY: the `Arc` that is cloned below keeps the queue in its place until the shares are dropped, since fields are
        // dropped in their order. Only the shares get this lifetime: `make` takes a reference of any lifetime, so it keeps
        // none, and the methods of this type lend the shares for as long as they borrow it.
        let borrowed: &'static AnyQueue = unsafe { &*Arc::as_ptr(queue) };
        Ok(Self { shares: make(borrowed)?, queue: Arc::clone(queue) })
    }

    /// The shares that `compute` returns from these, which are then wiped.
    pub(crate) fn map<const M: usize, E>(
        self,
        compute: impl for<'q> FnOnce(&[DeviceShares<'q, AnyQueue>; N]) -> Result<[DeviceShares<'q, AnyQueue>; M], E>,
    ) -> Result<ResidentShares<M>, E> {
        // Shares of any lifetime, computed from these, borrow the same queue.
        Ok(ResidentShares { shares: compute(&self.shares)?, queue: Arc::clone(&self.queue) })
    }

    /// The shares.
    pub(crate) fn shares(&self) -> &[DeviceShares<'_, AnyQueue>; N] {
        &self.shares
    }
}
