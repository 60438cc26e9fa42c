//! Forks, recordings, registered memory, counts and marks of time of a queue.
//!
//! Ops on the host finish before they return, so there is nothing to overlap or record, and a mark
//! is the moment at which it is made. Any memory of the host is registered.

use core::convert::Infallible;
use std::time::Instant;

use backend_api::{BackendError, BufferMut, BufferRef, Counted, Element, Fork, Record, Register, Submissions, Timed};

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

impl Register for CpuQueue {
    type Registered<T: Element> = Vec<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<Vec<T>, BackendError> {
        Ok(elements)
    }

    fn write_registered<T: Element>(&self, host: &Vec<T>, first: usize, dst: &mut [T]) -> Result<(), BackendError> {
        let range = first..first.saturating_add(dst.len());
        dst.copy_from_slice(BufferRef::slice(host.as_slice(), range)?);
        Ok(())
    }

    fn read_registered<T: Element>(&self, src: &[T], host: &mut Vec<T>, first: usize) -> Result<(), BackendError> {
        let range = first..first.saturating_add(src.len());
        BufferMut::slice(host.as_mut_slice(), range)?.copy_from_slice(src);
        Ok(())
    }
}

impl Counted for CpuQueue {
    fn submissions(&self) -> Submissions {
        Submissions::default()
    }
}

/// A reading of the host's monotonic clock, which all queues on the host share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuMark(Instant);

impl Timed for CpuQueue {
    type Mark = CpuMark;

    fn mark(&self) -> Result<CpuMark, BackendError> {
        Ok(CpuMark(Instant::now()))
    }

    fn elapsed_ns(&self, from: &CpuMark, to: &CpuMark) -> Result<i64, BackendError> {
        let ns = |from: Instant, to: Instant| i64::try_from(to.duration_since(from).as_nanos()).unwrap_or(i64::MAX);
        Ok(if from <= to { ns(from.0, to.0) } else { -ns(to.0, from.0) })
    }
}
