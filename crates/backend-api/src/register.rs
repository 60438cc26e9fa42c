//! Host memory that a device reaches without a detour.

use core::ops::DerefMut;

use crate::{BackendError, Element, Mut, Queue, Ref};

/// A queue whose device can copy to and from host memory that it was shown, without a detour.
///
/// [`write`](Queue::write) and [`read`](Queue::read) take any host memory, which a device reaches
/// only through memory of the backend: the host copies every byte once more. Showing memory to the
/// device takes time for each page, so it is meant for memory that is copied more than once, or for
/// when the host has better things to do than copy.
///
/// Registered memory counts toward no budget, and whoever registers a secret wipes it.
pub trait Register: Queue {
    /// Elements on the host that the device was shown.
    ///
    /// They convert back into the vector they came from.
    type Registered<T: Element>: DerefMut<Target = [T]> + Into<Vec<T>> + Send + Sync;

    /// Shows `elements` to the device.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if the host cannot pin that much memory, and errors that the
    /// device reports.
    fn register<T: Element>(&self, elements: Vec<T>) -> Result<Self::Registered<T>, BackendError>;

    /// Copies `dst.len()` elements from element `first` of `host` on, and waits for the copy.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if `host` has fewer elements; nothing is copied then.
    /// [`BackendError::MixedBackend`] for memory that another device was shown.
    fn write_registered<T: Element>(
        &self,
        host: &Self::Registered<T>,
        first: usize,
        dst: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// Waits, and copies a view to the elements of `host` from `first` on.
    ///
    /// Every bit pattern is checked.
    ///
    /// # Errors
    /// As [`write_registered`](Self::write_registered). [`BackendError::Corrupt`] if an element is
    /// not a valid value of `T`; the elements are zeros then. If the device is lost, all of `host`
    /// may be zeros.
    fn read_registered<T: Element>(
        &self,
        src: Ref<'_, Self, T>,
        host: &mut Self::Registered<T>,
        first: usize,
    ) -> Result<(), BackendError>;
}
