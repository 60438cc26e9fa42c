//! Forked queues and recordings.
//!
//! Ops on the host finish before they return, so there is nothing to overlap or record.

use core::convert::Infallible;

use backend_api::{BackendError, Fork, Record};

use crate::CpuQueue;

impl Fork for CpuQueue {
    fn fork(&self) -> Result<Self, BackendError> {
        Ok(self.clone())
    }

    fn join(&self, _branch: &Self) -> Result<(), BackendError> {
        Ok(())
    }
}

impl Record for CpuQueue {
    type Graph = Infallible;

    fn record<E: From<BackendError>>(
        &self,
        _body: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<Option<Infallible>, E> {
        Ok(None)
    }

    fn replay(&self, graph: &Infallible) -> Result<(), BackendError> {
        match *graph {}
    }
}
