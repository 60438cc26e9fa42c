//! Handles: host values with a version and a cached device copy.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{BackendError, Buffer, Queue};
use nn_ops::NnError;
use runtime::{AnyBuf, AnyQueue};

use crate::counters::Counts;

/// Host values that a device copies once per version.
///
/// Made by [`BackendDispatcher::upload`](crate::BackendDispatcher::upload). On the CPU ops use the
/// values in place. A device copies them at their first use and again after
/// [`update`](crate::BackendDispatcher::update). The copy is freed with the handle.
pub struct Handle {
    values: Vec<f32>,
    version: u64,
    copy: Mutex<Option<DeviceCopy>>,
}

/// The values of one version on one device.
struct DeviceCopy {
    version: u64,
    generation: u64,
    buffer: Arc<AnyBuf<f32>>,
}

impl Handle {
    pub(crate) fn new(values: &[f32]) -> Self {
        Self { values: values.to_vec(), version: 0, copy: Mutex::new(None) }
    }

    /// The current values.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The number of updates so far.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn update(&mut self, values: &[f32]) -> Result<(), NnError> {
        if values.len() != self.values.len() {
            let (expected, got) = (self.values.len(), values.len());
            return Err(NnError::Length { op: "update", tensor: "values", expected, got });
        }
        self.values.copy_from_slice(values);
        self.version += 1;
        Ok(())
    }

    /// The values on the device of `q`, copied unless this version is there.
    pub(crate) fn on_device(
        &self,
        q: &AnyQueue,
        generation: u64,
        counts: &Counts,
    ) -> Result<Arc<AnyBuf<f32>>, BackendError> {
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = copy.as_mut().filter(|held| held.generation == generation) {
            if held.version != self.version {
                // In place, unless a saved result still holds the older version.
                match Arc::get_mut(&mut held.buffer) {
                    Some(buffer) => q.write(&self.values, buffer.view_mut())?,
                    None => held.buffer = Arc::new(q.upload(&self.values)?),
                }
                held.version = self.version;
                counts.copies.increment();
            }
            return Ok(held.buffer.clone());
        }
        let buffer = Arc::new(q.upload(&self.values)?);
        counts.copies.increment();
        *copy = Some(DeviceCopy { version: self.version, generation, buffer: buffer.clone() });
        Ok(buffer)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("len", &self.values.len())
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// An operand of an op: a slice of the host, or a handle.
///
/// A device copies slices in every call, and handles once per version.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A slice.
    Slice(&'a [f32]),
    /// A handle.
    Handle(&'a Handle),
}

impl<'a> Operand<'a> {
    /// The values on the host.
    pub(crate) fn values(self) -> &'a [f32] {
        match self {
            Self::Slice(values) => values,
            Self::Handle(handle) => handle.values(),
        }
    }

    /// Number of values.
    pub(crate) fn len(self) -> usize {
        self.values().len()
    }
}

impl<'a> From<&'a [f32]> for Operand<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::Slice(values)
    }
}

impl<'a, const LEN: usize> From<&'a [f32; LEN]> for Operand<'a> {
    fn from(values: &'a [f32; LEN]) -> Self {
        Self::Slice(values)
    }
}

impl<'a> From<&'a Vec<f32>> for Operand<'a> {
    fn from(values: &'a Vec<f32>) -> Self {
        Self::Slice(values)
    }
}

impl<'a> From<&'a Handle> for Operand<'a> {
    fn from(handle: &'a Handle) -> Self {
        Self::Handle(handle)
    }
}
