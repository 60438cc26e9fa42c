//! Registered host memory of a queue that is chosen at run time.

use core::ops::{Deref, DerefMut};

use backend_api::{BackendError, BufferMut as _, BufferRef as _, Element, Register};
#[cfg(feature = "cuda")]
use cuda_backend::CudaRegistered;

use super::{
    AnyMut, AnyQueue, AnyRef,
    dispatch::{inside, moved},
    span::traced,
};

/// Elements on the host that were shown to the device of an [`AnyQueue`].
#[non_exhaustive]
pub enum AnyRegistered<T: Element> {
    /// The device is the host.
    Cpu(Vec<T>),
    /// A GPU, or the simulated one.
    #[cfg(feature = "cuda")]
    Cuda(CudaRegistered<T>),
}

impl<T: Element> Deref for AnyRegistered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        inside!(self, AnyRegistered(host) => host)
    }
}

impl<T: Element> DerefMut for AnyRegistered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        inside!(self, AnyRegistered(host) => host)
    }
}

impl<T: Element> From<AnyRegistered<T>> for Vec<T> {
    fn from(host: AnyRegistered<T>) -> Self {
        match host {
            AnyRegistered::Cpu(host) => host,
            #[cfg(feature = "cuda")]
            AnyRegistered::Cuda(host) => host.into(),
        }
    }
}

impl<T: Element> core::fmt::Debug for AnyRegistered<T> {
    /// Length only: the elements may be secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AnyRegistered").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Register for AnyQueue {
    type Registered<T: Element> = AnyRegistered<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<AnyRegistered<T>, BackendError> {
        traced!(
            self,
            "register",
            [bytes = size_of_val(&*elements)],
            inside!(self, AnyQueue(queue) => queue.register(elements), wrap AnyRegistered)
        )
    }

    fn write_registered<T: Element>(
        &self,
        host: &AnyRegistered<T>,
        first: usize,
        dst: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        moved!(
            "write_registered",
            dst.len() * size_of::<T>(),
            [self => AnyQueue(queue), host => AnyRegistered(host), dst => AnyMut(dst)],
            queue.write_registered(host, first, dst)
        )
    }

    fn read_registered<T: Element>(
        &self,
        src: AnyRef<'_, T>,
        host: &mut AnyRegistered<T>,
        first: usize,
    ) -> Result<(), BackendError> {
        moved!(
            "read_registered",
            src.len() * size_of::<T>(),
            [self => AnyQueue(queue), src => AnyRef(src), host => AnyRegistered(host)],
            queue.read_registered(src, host, first)
        )
    }
}
