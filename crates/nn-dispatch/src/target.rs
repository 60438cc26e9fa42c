//! A device with its tag, and operands and results where its ops read and write them.

use std::sync::Arc;

use backend_api::{BackendError, Buffer, BufferMut, Queue};
use nn_ops::{Layout, NnError, TensorMut, TensorRef};
use runtime::{AnyBuf, AnyMut, AnyQueue, AnyRef};

use crate::{
    counters::Counts,
    handle::Operand,
    saved::{Saved, SavedBuf, SavedPass},
    tag::Tag,
};

/// An opened device.
pub(crate) struct OpenDevice {
    pub(crate) queue: AnyQueue,
    pub(crate) tag: Tag,
}

impl OpenDevice {
    /// An operand where ops read it: in place on the CPU, copied to any other device.
    pub(crate) fn stage<'a>(&self, operand: Operand<'a>, counts: &Counts) -> Result<Staged<'a>, BackendError> {
        if let Some(view) = self.queue.host_view(operand.values()) {
            return Ok(Staged::InPlace(view));
        }
        Ok(Staged::Copied(match operand {
            Operand::Slice(values) => Arc::new(self.queue.upload(values)?),
            Operand::Handle(handle) => handle.on_device(&self.queue, self.tag.generation, counts)?,
        }))
    }

    /// An operand of a backward pass: the copy that the forward pass kept, or the operand itself.
    ///
    /// A copy counts only if the forward pass ran here (`is_own`).
    pub(crate) fn recall<'a>(
        &self,
        kept: &SavedBuf,
        is_own: bool,
        operand: Operand<'a>,
        counts: &Counts,
    ) -> Result<Staged<'a>, BackendError> {
        match kept {
            Some(buffer) if is_own => Ok(Staged::Copied(buffer.clone())),
            _ => self.stage(operand, counts),
        }
    }

    /// Room for a result that an op writes in full.
    pub(crate) fn room<'a>(&self, host: &'a mut [f32]) -> Result<Room<'a>, BackendError> {
        Ok(match self.queue.host_view_mut(host) {
            Ok(view) => Room::InPlace(view),
            Err(host) => Room::Copied { buffer: self.queue.alloc(host.len())?, host },
        })
    }

    /// Room for a result that an op reads and writes.
    pub(crate) fn filled_room<'a>(&self, host: &'a mut [f32]) -> Result<Room<'a>, BackendError> {
        Ok(match self.queue.host_view_mut(host) {
            Ok(view) => Room::InPlace(view),
            Err(host) => Room::Copied { buffer: self.queue.upload(host)?, host },
        })
    }

    /// The saved result of a forward pass on this device.
    pub(crate) fn saved(&self, pass: SavedPass) -> Saved {
        Saved { tag: self.tag, queue: self.queue.clone(), pass }
    }

    /// A buffer of a saved result on this device, transferred unless it is here.
    pub(crate) fn transferred(
        &self,
        saved: &Saved,
        buffer: &Arc<AnyBuf<f32>>,
        is_own: bool,
    ) -> Result<Arc<AnyBuf<f32>>, BackendError> {
        if is_own {
            return Ok(buffer.clone());
        }
        Ok(Arc::new(self.queue.upload(&saved.queue.download(buffer)?)?))
    }
}

/// An operand that ops of a device can read.
pub(crate) enum Staged<'a> {
    /// The host's memory.
    InPlace(AnyRef<'a, f32>),
    /// A copy on the device.
    Copied(Arc<AnyBuf<f32>>),
}

impl Staged<'_> {
    pub(crate) fn view(&self) -> AnyRef<'_, f32> {
        match self {
            Self::InPlace(view) => *view,
            Self::Copied(buffer) => buffer.view(),
        }
    }

    pub(crate) fn at(&self, layout: Layout) -> Result<TensorRef<'_, AnyQueue, f32>, NnError> {
        TensorRef::new(self.view(), layout)
    }

    /// The copy on the device, for the backward pass.
    pub(crate) fn kept(&self) -> SavedBuf {
        match self {
            Self::InPlace(_) => None,
            Self::Copied(buffer) => Some(buffer.clone()),
        }
    }
}

/// A result that ops of a device can write.
pub(crate) enum Room<'a> {
    /// The host's memory.
    InPlace(AnyMut<'a, f32>),
    /// Memory of the device, and the slice that receives it.
    Copied { buffer: AnyBuf<f32>, host: &'a mut [f32] },
}

impl Room<'_> {
    pub(crate) fn view(&mut self) -> AnyMut<'_, f32> {
        match self {
            Self::InPlace(view) => view.reborrow(),
            Self::Copied { buffer, .. } => buffer.view_mut(),
        }
    }

    pub(crate) fn at(&mut self, layout: Layout) -> Result<TensorMut<'_, AnyQueue, f32>, NnError> {
        TensorMut::new(self.view(), layout)
    }

    /// Waits for the result and copies it to the host; returns the copy that stays on the device.
    pub(crate) fn deliver(self, target: &OpenDevice) -> Result<SavedBuf, BackendError> {
        match self {
            Self::InPlace(_) => Ok(None),
            Self::Copied { buffer, host } => {
                host.copy_from_slice(&target.queue.download(&buffer)?);
                Ok(Some(Arc::new(buffer)))
            }
        }
    }
}

/// Waits for several results and copies them to the host.
///
/// If the device fails, no slice of the host has changed.
pub(crate) fn deliver_all<'a>(
    target: &OpenDevice,
    rooms: impl IntoIterator<Item = Room<'a>>,
) -> Result<(), BackendError> {
    let mut arrived = Vec::new();
    for room in rooms {
        if let Room::Copied { buffer, host } = room {
            arrived.push((target.queue.download(&buffer)?, host));
        }
    }
    arrived.into_iter().for_each(|(values, host)| host.copy_from_slice(&values));
    Ok(())
}
