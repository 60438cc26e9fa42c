//! Registered memory: the device is the host, so any memory will do.

use backend_api::{BackendError, BufferMut, BufferRef, Element, Register};

use crate::CpuQueue;

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
