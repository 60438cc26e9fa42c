//! Forked queues and recordings: ops on the host finish before they return, so there is nothing to overlap or record.

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

    fn record(
        &self,
        _body: impl FnOnce(&Self) -> Result<(), BackendError>,
    ) -> Result<Option<Infallible>, BackendError> {
        Ok(None)
    }

    fn replay(&self, graph: &Infallible) -> Result<(), BackendError> {
        match *graph {}
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{Queue, Replays};

    use super::*;
    use crate::{CpuBuf, CpuConfig};

    #[test]
    fn what_cannot_be_recorded_runs_eagerly_and_is_counted() {
        let q = CpuQueue::open(CpuConfig::default()).unwrap();
        let mut replays: Replays<CpuQueue, u32, CpuBuf<u32>> = Replays::new(2);
        for (turn, key) in [7, 7, 7, 8, 9, 7].into_iter().enumerate() {
            let host = [key, turn as u32];
            let buf = replays
                .run(
                    &q,
                    &key,
                    |q| q.zeros(2),
                    |_, _| Ok(()),
                    |q, buf| q.write(&host, backend_api::Buffer::view_mut(buf)),
                )
                .unwrap();
            assert_eq!(q.download(buf).unwrap(), host);
        }
        let counts = replays.counts();
        assert_eq!((counts.eager, counts.fallbacks, counts.recorded, counts.evicted), (4, 2, 0, 2));
    }
}
