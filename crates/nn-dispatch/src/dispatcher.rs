//! The dispatcher: the device in use, its status, and the way of an op to a device.

use core::fmt;
use std::sync::OnceLock;

use backend_api::{BackendError, Queue};
use runtime::{AnyQueue, BackendStatus, Choice, Domain, Settings, open_with};

use crate::{
    counters::{Counters, Counts},
    error::{DispatchError, Result},
    handle::Handle,
    plans::Plans,
    saved::Saved,
    selection::Selection,
    tag::Tag,
    target::OpenDevice,
};

/// Runs the ops of [`TensorOpsAPI`](crate::TensorOpsAPI) on one device.
///
/// The device is opened once. If it is a `gpu` that cannot be opened, the CPU takes its place and
/// [`status`](Self::status) has the reason. Calls wait for their results.
///
/// Threads may share a dispatcher, its handles and saved results. Only [`reopen`](Self::reopen)
/// takes it alone.
pub struct BackendDispatcher {
    selection: Selection,
    backend: BackendStatus,
    main: OpenDevice,
    /// Why ops fail: the device was lost and has not been opened again.
    ///
    /// Its queue has been dropped then, and the CPU's is in its place.
    lost: Option<DispatchError>,
    /// The CPU, opened for the first op that falls back.
    host: OnceLock<OpenDevice>,
    pub(crate) counts: Counts,
    pub(crate) plans: Plans,
}

/// The device in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The requested and the active backend, and why they differ if they do.
    pub backend: BackendStatus,
    /// Name of the device, for reports.
    pub device: String,
    /// The tag of forward passes on the device.
    pub tag: Tag,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.backend, self.device)
    }
}

impl BackendDispatcher {
    /// A dispatcher on the device that the environment selects; see [`Selection::from_env`].
    ///
    /// # Errors
    /// [`DispatchError::Open`] if a variable cannot be used, or the device cannot be opened and
    /// nothing may take its place.
    pub fn from_env() -> Result<Self> {
        Self::with(Selection::from_env()?)
    }

    /// A dispatcher on the selected device.
    ///
    /// # Errors
    /// [`DispatchError::Open`] if the device cannot be opened and nothing may take its place.
    pub fn with(selection: Selection) -> Result<Self> {
        let (main, backend) = open(&selection.settings)?;
        let (counts, plans) = (Counts::default(), Plans::default());
        Ok(Self { selection, backend, main, lost: None, host: OnceLock::new(), counts, plans })
    }

    /// Opens the selected device again, for example after it was lost.
    ///
    /// Its generation is a new one: saved results from before are refused, and handles are copied
    /// again.
    ///
    /// A lost device opens again only when nothing holds its memory: drop saved results, handles
    /// and Adam states that were used on it before. A GPU may stay lost for the whole process.
    ///
    /// # Errors
    /// As [`with`](Self::with); the dispatcher is unchanged then. If the device was lost, ops fail
    /// with [`DeviceLost`](BackendError::DeviceLost) until it is opened again.
    pub fn reopen(&mut self) -> Result<()> {
        if let Err(error @ BackendError::DeviceLost { .. }) = self.main.queue.finish() {
            self.main.queue = self.host()?.queue.clone();
            self.lost = Some(error.into());
        }
        (self.main, self.backend) = open(&self.selection.settings)?;
        (self.host, self.lost) = (OnceLock::new(), None);
        Ok(())
    }

    /// The device in use and, if it is not the requested one, the reason.
    #[must_use]
    pub fn status(&self) -> Status {
        let device = self.main.queue.caps().device.clone();
        Status { backend: self.backend.clone(), device, tag: self.main.tag }
    }

    /// The counts since the dispatcher was made.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counts.snapshot()
    }

    /// The queue of the device, for ops that are not in [`TensorOpsAPI`](crate::TensorOpsAPI).
    ///
    /// Its budget counts the bytes of all device copies. It is the CPU's queue after a lost device
    /// could not be opened again.
    #[must_use]
    pub fn queue(&self) -> &AnyQueue {
        &self.main.queue
    }

    /// A handle of host values. A device copies them at their first use.
    #[must_use]
    pub fn upload(&self, values: &[f32]) -> Handle {
        Handle::new(values)
    }

    /// Replaces the values of a handle and raises its version.
    ///
    /// # Errors
    /// [`DispatchError::Op`] with [`NnError::Length`](nn_ops::NnError::Length) for another number
    /// of values; the handle is unchanged then.
    pub fn update(&self, handle: &mut Handle, values: &[f32]) -> Result<()> {
        Ok(handle.update(values)?)
    }

    /// Runs an op on the device, or on the CPU if the device cannot run it and the CPU may.
    pub(crate) fn run<R>(&self, op: impl FnMut(&OpenDevice) -> Result<R>) -> Result<R> {
        self.run_with(None, op)
    }

    /// [`run`](Self::run) for an op that reads state with the tag `held`.
    ///
    /// State of an op that fell back stays on the CPU.
    pub(crate) fn run_with<R>(&self, held: Option<Tag>, mut op: impl FnMut(&OpenDevice) -> Result<R>) -> Result<R> {
        self.counts.dispatches.increment();
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        let host = match self.host.get().filter(|host| held == Some(host.tag)) {
            Some(host) => host,
            None => match op(&self.main) {
                Err(error) if self.falls_back(&error) => self.host()?,
                outcome => return outcome,
            },
        };
        let result = op(host)?;
        self.counts.fallbacks.increment();
        Ok(result)
    }

    /// Runs a backward pass where `saved` is accepted.
    ///
    /// `pass` receives the device and whether the forward pass ran there too.
    pub(crate) fn run_backward<R>(
        &self,
        op: &'static str,
        saved: &Saved,
        mut pass: impl FnMut(&OpenDevice, bool) -> Result<R>,
    ) -> Result<R> {
        self.run_with(Some(saved.tag), |target| {
            let is_own = self.admit(op, saved.tag, target)?;
            let result = pass(target, is_own)?;
            if !is_own {
                self.counts.mixed.increment();
            }
            Ok(result)
        })
    }

    /// Returns whether `forward` is the tag of `target`, and refuses another one unless allowed.
    pub(crate) fn admit(&self, op: &'static str, forward: Tag, target: &OpenDevice) -> Result<bool> {
        if forward == target.tag {
            return Ok(true);
        }
        if !self.selection.allow_mixed {
            return Err(DispatchError::Mixed { op, forward, backward: target.tag });
        }
        Ok(false)
    }

    fn falls_back(&self, error: &DispatchError) -> bool {
        self.selection.per_op_fallback && self.main.tag.device != Choice::Cpu && error.is_shortage()
    }

    /// The CPU for ops that fall back, without the limit on the device's memory.
    fn host(&self) -> Result<&OpenDevice> {
        if let Some(host) = self.host.get() {
            return Ok(host);
        }
        let settings = Settings {
            nn_backend: Some(Choice::Cpu),
            mem_limit_bytes: None,
            threads: self.selection.settings.threads,
            simd: self.selection.settings.simd,
            ..Settings::default()
        };
        let (host, _) = open(&settings)?;
        Ok(self.host.get_or_init(|| host))
    }
}

fn open(settings: &Settings) -> Result<(OpenDevice, BackendStatus)> {
    let (queue, backend) = open_with(settings, Some(Domain::Nn), None)?;
    Ok((OpenDevice { queue, tag: Tag::new(backend.active) }, backend))
}

impl fmt::Debug for BackendDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendDispatcher")
            .field("selection", &self.selection)
            .field("status", &self.status())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::DType;
    use runtime::CudaLibrary;

    use super::*;

    /// A GPU that is not found, whatever the machine has.
    fn absent_gpu() -> Selection {
        let mut selection = Selection::new(Choice::Gpu);
        selection.settings.cuda_library = CudaLibrary::None;
        selection
    }

    #[test]
    fn an_absent_gpu_becomes_the_cpu_with_the_reason_in_the_status() {
        let dispatcher = BackendDispatcher::with(absent_gpu()).unwrap();
        let status = dispatcher.status();
        assert_eq!((status.backend.requested, status.backend.active), (Choice::Gpu, Choice::Cpu));
        assert_eq!(status.tag.device, Choice::Cpu);
        let reason = status.backend.fallback.clone().unwrap().to_string();
        assert!(status.to_string().contains(&reason) && status.to_string().contains(&status.device), "{status}");
        // The device is chosen once: that is no fallback of an op.
        assert_eq!(dispatcher.counters(), Counters::default());
    }

    #[test]
    fn a_strict_selection_refuses_the_cpu_in_the_place_of_a_gpu() {
        let mut selection = absent_gpu();
        selection.settings.nn_strict = true;
        assert!(matches!(BackendDispatcher::with(selection), Err(DispatchError::Open(_))));
    }

    #[test]
    fn results_of_another_precision_are_refused_by_name() {
        let dispatcher = BackendDispatcher::with(Selection::default()).unwrap();
        let backward = dispatcher.main.tag;
        let forward = Tag { precision: DType::F16, ..backward };
        assert_eq!(dispatcher.admit("relu_backward", backward, &dispatcher.main), Ok(true));
        let refused = dispatcher.admit("relu_backward", forward, &dispatcher.main).unwrap_err();
        assert_eq!(refused, DispatchError::Mixed { op: "relu_backward", forward, backward });
        assert!(refused.to_string().contains("f16") && refused.to_string().contains("f32"), "{refused}");
    }

    #[test]
    fn each_opening_is_a_generation() {
        let mut first = BackendDispatcher::with(Selection::default()).unwrap();
        let second = BackendDispatcher::with(Selection::default()).unwrap();
        let before = first.status().tag;
        first.reopen().unwrap();
        let generations = [before, second.status().tag, first.status().tag].map(|tag| tag.generation);
        assert!(generations[0] < generations[1] && generations[1] < generations[2], "{generations:?}");
    }
}
