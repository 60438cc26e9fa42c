//! Marks: driver events that record their time.

use core::fmt;
use std::sync::Arc;

use backend_api::{BackendError, Timed};

use crate::{CudaQueue, DeviceCtx, ffi::CudaEvent};

/// A point in the work of a [`CudaQueue`].
///
/// Its time has the resolution of the driver, half a microsecond or so.
pub struct CudaMark {
    device: Arc<DeviceCtx>,
    /// There until the mark is dropped.
    event: Option<CudaEvent>,
}

impl CudaMark {
    fn event<'a>(&'a self, q: &CudaQueue) -> Result<&'a CudaEvent, BackendError> {
        let own = self.event.as_ref().filter(|_| Arc::ptr_eq(&self.device, q.device()));
        own.ok_or(BackendError::MixedBackend { op: "elapsed_ns" })
    }
}

impl Timed for CudaQueue {
    type Mark = CudaMark;

    fn mark(&self) -> Result<CudaMark, BackendError> {
        self.track().permit_waiting("mark")?;
        let event = self.device().timing_events().record(self.track().stream())?;
        Ok(CudaMark { device: Arc::clone(self.device()), event: Some(event) })
    }

    fn elapsed_ns(&self, from: &CudaMark, to: &CudaMark) -> Result<i64, BackendError> {
        let (from, to) = (from.event(self)?, to.event(self)?);
        self.track().permit_waiting("elapsed_ns")?;
        from.wait()?;
        to.wait()?;
        Ok((f64::from(to.milliseconds_since(from)?) * 1e6).round() as i64)
    }
}

impl Drop for CudaMark {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.device.timing_events().give_back(event);
        }
    }
}

impl fmt::Debug for CudaMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaMark").field("device", &self.device).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{Fork, Queue, Record};

    use super::*;
    use crate::{CudaConfig, KernelSource};

    fn open(device: u32) -> CudaQueue {
        let kernels = KernelSource::Texts(Vec::new());
        CudaQueue::open(CudaConfig { kernels, device, ..CudaConfig::default() }).unwrap()
    }

    /// The simulated driver fills 100 bytes in a nanosecond, after one microsecond.
    #[test]
    fn marks_have_the_time_of_the_work_between_them() {
        for schedule in ["eager", "lazy", "random;seed=2"] {
            let simulation = cuda_sim::driver::simulate(&format!("schedule={schedule}")).unwrap();
            let q = open(0);
            let branch = q.fork().unwrap();
            let from = q.mark().unwrap();
            let _filled = q.zeros::<u8>(1_000_000).unwrap();
            let to = q.mark().unwrap();
            branch.join(&q).unwrap();
            let after = branch.mark().unwrap();
            let elapsed = q.elapsed_ns(&from, &to).unwrap();
            assert!(elapsed >= 11_000, "{elapsed}");
            assert_eq!(branch.elapsed_ns(&to, &from).unwrap(), -elapsed);
            assert_eq!(branch.elapsed_ns(&to, &to).unwrap(), 0);
            assert!(branch.elapsed_ns(&to, &after).unwrap() >= 0);
            drop((from, to, after, _filled, branch, q));
            assert_eq!(simulation.reports(), []);
        }
    }

    #[test]
    fn marks_of_another_device_are_refused() {
        let _session = cuda_sim::driver::simulate("devices=2").unwrap();
        let (q, other) = (open(0), open(1));
        let (own, foreign) = (q.mark().unwrap(), other.mark().unwrap());
        for (from, to) in [(&own, &foreign), (&foreign, &own)] {
            assert_eq!(q.elapsed_ns(from, to), Err(BackendError::MixedBackend { op: "elapsed_ns" }));
        }
    }

    #[test]
    fn recordings_have_no_marks() {
        let _session = cuda_sim::driver::simulate("").unwrap();
        let q = open(0);
        let mut refused = None;
        let graph = q.record::<BackendError>(|q| {
            refused = q.mark().err();
            Ok(())
        });
        assert!(graph.unwrap().is_none());
        assert!(matches!(refused, Some(BackendError::Unsupported { op: "mark", .. })));
    }
}
